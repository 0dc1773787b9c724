"""PodsRejected: a kubelet rejects pods at admission; one alert for each reason, however many pods."""

from collections.abc import Sequence
from typing import Final

from ingest.model.records import RejectionRecord
from ingest.resources.rejections import UNSEEN_BY_SCHEDULER
from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Nothing, Now, Recovered
from streams.alerting.rejections import (
    REMOVE_OR_CORDON,
    because,
    owned_by,
    owners_of,
    plus,
    reason_of,
    workload_labels,
)
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import name
from streams.fold.findings import PodEnd
from streams.fold.titles import pods_rejected

_RUNAWAY: Final = "TopologyAdmissionRunaway"


class Settings(RuleSettings):
    pods: Count


def step(
    settings: Settings, state: Nothing, rows: Sequence[PodEnd | RejectionRecord], now: Now
) -> tuple[Nothing, Sequence[Change]]:
    """Count each pod once, even if several witnesses report it.

    Rejections for NUMA alignment are judged on the cluster's log, where a runaway workload on many nodes is one
    alert.
    """
    groups = {key: alert.group for key, alert in now.active.items()}
    changes: list[Change] = []
    for row in rows:
        if isinstance(row, PodEnd):
            if row.cause != "admission" or row.reason in UNSEEN_BY_SCHEDULER:
                continue
            labels, node, at = {"reason": reason_of(row) or "unknown"}, row.node, row.ts
        elif key_of(workload_labels(row)) in now.depended_on.get(_RUNAWAY, ()):
            changes += _recovered(row, now)
            continue
        else:
            labels, node, at = {"reason": row.reason, "node": row.target}, row.target, row.rejected_at
        if now.is_old(at, settings):
            continue
        group = plus(groups.get(key_of(labels), Group()), row)
        if group is not None:
            groups[key_of(labels)] = group
            words = _words(node, labels["reason"], group)
            changes.append(Happened(labels, *words, until=at, group=group, least_members=settings.pods))
    return state, changes


def _recovered(row: RejectionRecord, now: Now) -> list[Change]:
    """End the alert of a workload once its rejections on all nodes are part of its runaway."""
    owner = owned_by(row.namespace, row.owner_kind, row.owner_name)
    return [
        Recovered({label: alert.labels[label] for label in ("reason", "node")})
        for alert in now.active.values()
        if alert.group.breakdown.keys() == {owner}
    ]


def _words(node: str, reason: str, group: Group) -> tuple[str, str]:
    return f"Node {name(node)}: {pods_rejected(group.count, group.seconds)} because {because(reason)}", (
        f"Pods of {owners_of(group)}. A rejected pod stays Failed, and its controller creates a replacement, which "
        f"is rejected too as long as the scheduler places it here. {REMOVE_OR_CORDON}. List the "
        "rejections with the kubelet's messages: leadsman query pod_ends --param cause=admission."
    )


ALERT: Final = AlertDefinition(
    name="PodsRejected",
    settings=Settings,
    needs=(
        Need("pods or events", "there is no witness: it cannot fire"),
        Need("pods", "the creator of the pods is unknown", required=False),
    ),
    node_rows=(PodEnd,),
    cluster_rows=(RejectionRecord,),
    step=step,
    depends_on=(_RUNAWAY,),
)
