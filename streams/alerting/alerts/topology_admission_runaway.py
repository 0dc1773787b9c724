"""TopologyAdmissionRunaway: a controller creates pod after pod that Topology Managers reject, on any nodes."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from common.amounts import counted
from common.durations import in_words
from ingest.model.records import RejectionRecord
from streams.alerting.active import Group
from streams.alerting.definition import AlertDefinition, Change, Gathers, Need, Now, each_row
from streams.alerting.rejections import because, fewer, owned_by, workload_labels
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name, shorten_list


class Settings(RuleSettings):
    rejections: Count


def changes(settings: Settings, row: RejectionRecord, now: Now) -> Iterator[Change]:
    """Count each pod once. A pod that nothing recreates cannot run away. The text counts the first minute."""
    if row.owner_name and not now.is_old(row.rejected_at, settings):
        pod, node = f"{row.uid} {row.target}", row.target or "unknown"
        grown = partial(Group.plus_new, member=pod, at=row.rejected_at, under=node)
        yield Gathers(workload_labels(row), grown, partial(_words, row), row.rejected_at, settings.rejections)


def _words(row: RejectionRecord, group: Group) -> tuple[str, str]:
    who = owned_by(row.namespace, row.owner_kind, row.owner_name)
    often = counted(group.count, "pod") + (f" within {in_words(group.seconds)}" if group.count > 1 else "")
    most = sorted(group.breakdown.items(), key=lambda each: (-each[1], each[0]))
    where = f"node {name(most[0][0])}" if len(most) == 1 else counted(len(most), "node")
    rejected = shorten_list((f"{name(node)} ({number})" for node, number in most), ", ")
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
    step=each_row(changes),
)
