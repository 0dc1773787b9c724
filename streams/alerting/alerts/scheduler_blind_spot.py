"""SchedulerBlindSpot: the scheduler works with a wrong list of nodes (rules: blind-spots)."""

from collections.abc import Sequence
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name, sentence
from streams.fold.findings import BLIND_ADVICE, BLIND_VERDICTS, SchedulerBlindSpot


def step(
    settings: RuleSettings, state: Nothing, rows: Sequence[SchedulerBlindSpot], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """One alert for each verdict and node, however many pods show it; nothing for `inconclusive`."""
    changes: list[Change] = []
    for row in rows:
        seen_at = now.at if row.test == "placement" else row.ts
        if row.verdict not in BLIND_VERDICTS or now.is_old(seen_at, settings):
            continue
        node = f": {name(row.node)}" if row.node else ""
        pod = f"; pod {name(row.namespace)}/{name(row.pod)}" if row.pod else ""
        changes.append(
            Happened(
                {"verdict": row.verdict} | ({"node": row.node} if row.node else {}),
                f"Cluster {name(row.cluster)}: the scheduler {BLIND_VERDICTS[row.verdict]}{node}{pod}",
                f"{sentence(row.evidence)}{BLIND_ADVICE}. "
                "To fix it permanently, upgrade to 1.19, or 1.18.7. See leadsman query blind_spots.",
                until=seen_at,
            )
        )
    return state, changes


ALERT: Final = AlertDefinition(
    name="SchedulerBlindSpot",
    settings=RuleSettings,
    needs=(
        Need("nodes", "there is nothing to compare with: it cannot fire"),
        Need("pods", "no scheduling failure is known: it cannot fire"),
    ),
    cluster_rows=(SchedulerBlindSpot,),
    step=step,
)
