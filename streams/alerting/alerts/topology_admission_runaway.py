"""TopologyAdmissionRunaway: a controller makes one pod after the other that a Topology Manager rejects."""

from collections.abc import Sequence
from typing import Final

from common.durations import in_words
from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rejections import UNSEEN_BY_SCHEDULER, because, owned_by, plus
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import PodEnd


class Settings(RuleSettings):
    rejections: Count


def step(settings: Settings, state: Nothing, rows: Sequence[PodEnd], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Each pod counts once. A pod that nothing makes anew cannot run away."""
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        if row.reason not in UNSEEN_BY_SCHEDULER or not row.owner_name or now.is_old(row.ts, settings):
            continue
        workload = f"{name(row.owner_kind)}/{name(row.owner_name)}"
        labels = {"namespace": name(row.namespace), "workload": workload}
        group = plus(groups.get(key_of(labels), Group()), row)
        if group is not None:
            groups[key_of(labels)] = group
            changes.append(
                Happened(labels, *_words(row, group), until=row.ts, group=group, wanted=settings.rejections)
            )
    return state, changes


def _words(row: PodEnd, group: Group) -> tuple[str, str]:
    who = owned_by(row.namespace, row.owner_kind, row.owner_name)
    often = f"{group.count} pods within {in_words(group.seconds)}" if group.count > 1 else "1 pod"
    return f"Node {name(row.node)}: {who} made {often} that were rejected because {because(row.reason)}", (
        "Each rejected pod stays Failed and is replaced at once; the scheduler, which does not know NUMA nodes, "
        f"places the next one here again. Scale {name(row.owner_kind)} {name(row.owner_name)} down now, then see "
        "what fits: leadsman query numa_largest_fit. Each rejection: leadsman query numa_admission_failures. "
        f"The kubelet reported: {name(row.message)}"
    )


ALERT: Final = AlertDefinition(
    name="TopologyAdmissionRunaway",
    settings=Settings,
    needs=(Need("pods", "who makes the pods is not known: it cannot fire"),),
    node_rows=(PodEnd,),
    step=step,
)
