"""NodeNotReady: a node is not ready, or its kubelet does not report."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now, each_row
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name, sentence, timestamp
from streams.fold.findings import NodeRow
from streams.fold.titles import pods_unknown, ready_unknown, reported
from streams.rules.eviction.shortage import NO_NEW_PODS

_SILENT: Final = (
    "The API server no longer hears its kubelet: the kubelet or the machine is down, or the network between them. "
    f"{pods_unknown()} After five minutes, unless they tolerate it for longer, they are "
    "deleted and replaced elsewhere. Check the machine and the kubelet's log. Delete the Node object only if "
    "the machine is powered off for good: this deletes its pods, too."
)
_REFUSES: Final = (
    f"{NO_NEW_PODS.capitalize()}. After five minutes, unless they tolerate it for longer, its pods are deleted and "
    "replaced elsewhere. See kubectl describe node and the logs of kubelet and container runtime."
)


def changes(settings: RuleSettings, row: NodeRow, now: Now) -> Iterator[Change]:
    if row.says_ready:
        yield Ends({}) if row.ready else _not_ready(settings, row, now)


def _not_ready(settings: RuleSettings, row: NodeRow, now: Now) -> Holds:
    since = row.ready_since or row.ts
    what, text = (f"{ready_unknown('it')},", _SILENT) if row.ready is None else ("not Ready", _REFUSES)
    said = ""
    if row.ready is not None:  # kubectl's tables and Events also say NotReady for a node in state Unknown
        said = f"{reported(sentence(row.ready_message).rstrip('. '))} "
    return Holds(
        {},
        f"Node {name(row.node)}: {what} since {timestamp(since)}",
        f"{said}{text}",
        at_once=now.at - since >= timedelta(seconds=settings.for_seconds),
    )


ALERT: Final = AlertDefinition(
    name="NodeNotReady",
    settings=RuleSettings,
    needs=(Need("nodes", "no condition is known: it cannot fire"),),
    node_rows=(NodeRow,),
    step=each_row(changes),
)
