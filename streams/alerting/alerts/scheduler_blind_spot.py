"""SchedulerBlindSpot: the scheduler works with a wrong list of nodes (rules: blind-spots)."""

from collections.abc import Iterator
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Now, each_row
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name, sentence
from streams.fold.findings import BLIND_ADVICE, BLIND_VERDICTS, SchedulerBlindSpot


def changes(settings: RuleSettings, row: SchedulerBlindSpot, now: Now) -> Iterator[Change]:
    """Raise one alert for each verdict and node, however many pods show it; none for `inconclusive`."""
    seen_at = now.at if row.test == "placement" else row.ts
    if row.verdict in BLIND_VERDICTS and not now.is_old(seen_at, settings):
        node = f": {name(row.node)}" if row.node else ""
        pod = f"; pod {name(row.namespace)}/{name(row.pod)}" if row.pod else ""
        yield Happened(
            {"verdict": row.verdict} | ({"node": row.node} if row.node else {}),
            f"Cluster {name(row.cluster)}: the scheduler {BLIND_VERDICTS[row.verdict]}{node}{pod}",
            f"{sentence(row.evidence)}{BLIND_ADVICE}. "
            "To fix it permanently, upgrade to 1.19, or 1.18.7. See leadsman query blind_spots.",
            until=seen_at,
        )


ALERT: Final = AlertDefinition(
    name="SchedulerBlindSpot",
    settings=RuleSettings,
    needs=(
        Need("nodes", "there is nothing to compare with: it cannot fire"),
        Need("pods", "no scheduling failure is known: it cannot fire"),
    ),
    cluster_rows=(SchedulerBlindSpot,),
    step=each_row(changes),
)
