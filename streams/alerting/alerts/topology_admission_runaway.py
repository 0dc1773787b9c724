"""TopologyAdmissionRunaway: a controller creates pod after pod that Topology Managers reject, on any nodes."""

from collections.abc import Sequence
from typing import Final

from common.amounts import counted
from common.durations import in_words
from ingest.model.records import RejectionRecord
from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now
from streams.alerting.rejections import MAX_MEMBERS, because, fewer, owned_by, workload_labels
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, pods, shortened


class Settings(RuleSettings):
    rejections: Count


def step(
    settings: Settings, state: Nothing, rows: Sequence[RejectionRecord], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """Count each pod once. A pod that nothing recreates cannot run away. The words count the first minute."""
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        labels, member = workload_labels(row), f"{row.uid} {row.target}"
        group = groups.get(key_of(labels), Group())
        if not row.owner_name or now.is_old(row.rejected_at, settings) or member in group.members:
            continue
        group = group.plus(
            member if len(group.members) < MAX_MEMBERS else "", row.rejected_at, under=row.target or "unknown"
        )
        groups[key_of(labels)] = group
        changes.append(
            Happened(
                labels, *_words(row, group), until=row.rejected_at, group=group, least_members=settings.rejections
            )
        )
    return state, changes


def _words(row: RejectionRecord, group: Group) -> tuple[str, str]:
    who = owned_by(row.namespace, row.owner_kind, row.owner_name)
    often = pods(group.count) + (f" within {in_words(group.seconds)}" if group.count > 1 else "")
    most = sorted(group.breakdown.items(), key=lambda each: (-each[1], each[0]))
    where = f"node {name(most[0][0])}" if len(most) == 1 else counted(len(most), "node")
    rejected = shortened((f"{name(node)} ({number})" for node, number in most), ", ")
    summary = f"Cluster {name(row.cluster)}: {who} made {often} that were rejected on {where}"
    return f"{summary} because {because(row.reason)}", (
        f"Rejected on {rejected}. Each rejected pod stays Failed and is replaced at once. The scheduler does not "
        f"consider NUMA nodes, and picks such a node again. {fewer(row.owner_kind, row.owner_name)} "
        "now, then see what fits: leadsman query numa_map. List the rejections: leadsman query "
        f"refused_pods. The kubelet reported: {name(row.message)}"
    )


ALERT: Final = AlertDefinition(
    name="TopologyAdmissionRunaway",
    settings=Settings,
    needs=(Need("pods", "the creator of the pods is unknown: it cannot fire"),),
    cluster_rows=(RejectionRecord,),
    step=step,
)
