"""PodsRejected: a kubelet rejects pods at admission; one alert for each reason, however many pods."""

from collections.abc import Sequence
from typing import Final

from common.durations import in_words
from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now, Recovered
from streams.alerting.rejections import UNSEEN_BY_SCHEDULER, because, plus, reason_of, whose
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, pods
from streams.fold.findings import PodEnd

_RUNAWAY: Final = "TopologyAdmissionRunaway"


class Settings(RuleSettings):
    pods: Count


def step(settings: Settings, state: Nothing, rows: Sequence[PodEnd], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Each pod counts once, whichever witnesses report it. What became a runaway is an alert of its own."""
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        if row.cause != "admission" or now.is_old(row.ts, settings):
            continue
        labels = {"reason": reason_of(row) or "unknown"}
        if _RUNAWAY in now.heeded and row.reason in UNSEEN_BY_SCHEDULER:
            changes.append(Recovered(labels))
        elif (group := plus(groups.get(key_of(labels), Group()), row)) is not None:
            groups[key_of(labels)] = group
            words = _words(row, labels["reason"], group)
            changes.append(Happened(labels, *words, until=row.ts, group=group, wanted=settings.pods))
    return state, changes


def _words(row: PodEnd, reason: str, group: Group) -> tuple[str, str]:
    within = f" within {in_words(group.seconds)}" if group.count > 1 else ""
    return f"Node {name(row.node)}: {pods(group.count)} rejected at admission{within} because {because(reason)}", (
        f"Of {whose(group)}. A pod that is rejected stays Failed and its controller makes another one, which is "
        "rejected too as long as the scheduler places it here. Remove the cause, or cordon the node. Each rejection "
        "with the kubelet's message: leadsman query pod_ends --param cause=admission."
    )


ALERT: Final = AlertDefinition(
    name="PodsRejected",
    settings=Settings,
    needs=(
        Need("pods or events", "there is no witness: it cannot fire"),
        Need("pods", "who makes the pods is not known", required=False),
    ),
    node_rows=(PodEnd,),
    step=step,
    heeds=(_RUNAWAY,),
)
