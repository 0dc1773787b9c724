"""PodsRejected: a kubelet rejects pods at admission; one alert for each reason, however many pods."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from ingest.model.records import RejectionRecord
from ingest.resources.rejections import UNSEEN_BY_SCHEDULER
from streams.alerting.active import Group, key_of
from streams.alerting.definition import AlertDefinition, Change, Gathers, Need, Now, Recovered, each_row
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


def changes(settings: Settings, row: PodEnd | RejectionRecord, now: Now) -> Iterator[Change]:
    """Count each pod once, even if several witnesses report it.

    Rejections for NUMA alignment are judged on the cluster's log, where a runaway workload on many nodes is one
    alert.
    """
    if isinstance(row, PodEnd):
        if row.cause != "admission" or row.reason in UNSEEN_BY_SCHEDULER:
            return
        labels, node, at = {"reason": reason_of(row) or "unknown"}, row.node, row.ts
    elif key_of(workload_labels(row)) in now.depended_on.get(_RUNAWAY, ()):
        owner = owned_by(row.namespace, row.owner_kind, row.owner_name)
        for alert in now.active.values():  # pods of this workload alone belong to its runaway alert
            if alert.group.breakdown.keys() == {owner}:
                yield Recovered({label: alert.labels[label] for label in ("reason", "node")})
        return
    else:
        labels, node, at = {"reason": row.reason, "node": row.target}, row.target, row.rejected_at
    if not now.is_old(at, settings):
        yield Gathers(labels, partial(plus, row), partial(_words, node, labels["reason"]), at, settings.pods)


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
    step=each_row(changes),
    depends_on=(_RUNAWAY,),
)
