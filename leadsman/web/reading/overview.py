"""Reads the known facts about a cluster in a range, or about one of its nodes."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from leadsman.web.reading.alerts import Alert, read_alerts
from leadsman.web.reading.ask import RowDict, ask, by_node, rows
from leadsman.web.reading.evidence import Evidence, is_stale, of_node, read_last_seen
from leadsman.web.reading.margins import SOON_SECONDS
from leadsman.web.reading.nodes import UNEVEN, NodeLine, read_nodes
from leadsman.web.reading.scope import Scope, Span
from sql.database.open import Database
from streams.fold.findings import BROKEN_GC, gc_counts_for
from streams.rules.eviction.order import UNEXPLAINED
from streams.rules.pod_ends.machine import DRAINS, INTERRUPTED
from streams.rules.pod_ends.when import DRAINERS, drainer


class Since(NamedTuple):
    at: datetime
    or_earlier: bool = False
    """True if the state already held when it was first seen in the range."""


Begun: TypeAlias = Mapping[tuple[str, str], Mapping[str, Since]]
"""Start times by kind and signal or resource, for each node; those of the cluster are under an empty name.

A kind is hard or soft for a threshold that is met, near, over for more requested than allocatable, uneven, cordoned,
or late for late joiners.
"""


def read_begun(
    db: Database, scope: Scope, nodes: Iterable[NodeLine], not_ready: Iterable[RowDict], *, late: bool
) -> Begun:
    """Read since when states of nodes hold, with rows of `not_ready`, and since when nodes joined late.

    Raises DatabaseError.
    """
    nodes = list(nodes)
    near = [(node.name, margin.signal) for node in nodes for margin in node.margins if margin.met or margin.near]
    overcommitted = [(node.name, resource) for node in nodes for resource in node.overcommitted]
    subjects = {
        "near": sorted({name for name, _ in near}),
        "signals": sorted({signal for _, signal in near}),
        "over": sorted({name for name, _ in overcommitted}),
        "resources": sorted({resource for _, resource in overcommitted}),
        "uneven_nodes": [node.name for node in nodes if node.uneven],
        "cordoned": [row["node"] for row in not_ready if row["cordoned"] or drainer(row["taints"])],
    }
    drains = {"drains": list(DRAINERS), "drain_events": [*DRAINS, INTERRUPTED]}
    found: dict[tuple[str, str], dict[str, Since]] = {}
    if late or any(subjects.values()):
        for row in ask(db, "begun", scope, soon=SOON_SECONDS, uneven=UNEVEN, **drains, **subjects):
            since = Since(max(row["since"], scope.since) if row["before"] else row["since"], bool(row["before"]))
            found.setdefault((row["kind"], row["what"]), {})[row["node"]] = since
    return found


def first(begun: Begun, kind: str, whats: Iterable[str], nodes: Iterable[str]) -> Since | None:
    """Return the earliest start of some nodes and signals; None if unknown."""
    names = list(nodes)
    found = [begun.get((kind, what), {}) for what in whats]
    return earliest(each[name] for each in found for name in names if name in each)


def earliest(found: Iterable[Since | None]) -> Since | None:
    known = (since for since in found if since is not None)
    return min(known, key=lambda since: (since.at, not since.or_earlier), default=None)


class NodeTimes(NamedTuple):
    """Last times by node: of the object, of samples, of Events and of pods."""

    before: datetime | None
    """The last time up to the end of the range."""
    after: datetime | None
    """The first time after the end."""
    deleted_at: datetime | None
    """The last time up to the end at which its object was seen to be gone."""

    def within(self, scope: Scope) -> bool:
        """Tell whether the node was in the range, even if only until it was seen to be gone."""
        return any(at is not None and at >= scope.since for at in (self.before, self.deleted_at))


def read_node_times(db: Database, scope: Scope, node: str) -> NodeTimes:
    """Raises DatabaseError."""
    (row,) = ask(db, "node_seen", scope, node=node)
    return NodeTimes(**row)


LEAST_GROWTH: Final = 64 << 20
"""Bytes in an hour: a pod with less growth does not fill a node."""
GROWN_SECONDS: Final = 60
MOST_SHORT: Final = 200
"""Maximum number of nodes whose pods are read."""


class Unknown(NamedTuple):
    """Number of objects with an uncertain fact."""

    lower_bounds: int
    assumed_thresholds: tuple[str, ...]
    """Nodes whose thresholds are assumed defaults."""
    without_rank: int
    without_samples: tuple[str, ...]
    nodes_with_numa: int
    source_errors: tuple[RowDict, ...]
    dead_letters: tuple[RowDict, ...]
    withheld: int = 0
    """Texts of the range that were withheld in part (`redact: strict`)."""
    undated_lines: tuple[int, int] = (0, 0)
    """Lines of kubelets' logs in the range without a known year, and those with only an unknown zone."""


class Overview(NamedTuple):
    scope: Scope
    spans: tuple[Span, ...]
    nodes: tuple[NodeLine, ...]
    """Nodes by name."""
    alerts: tuple[Alert, ...] | None
    """None if the database has no alerts."""
    image_gc: tuple[RowDict, ...]
    cluster_skew: RowDict | None
    late_joiners: RowDict | None
    whatif: tuple[RowDict, ...]
    numa_failures: tuple[RowDict, ...]
    blind_spots: tuple[RowDict, ...]
    pending: tuple[RowDict, ...]
    """The scheduler's last message about each pod that waits for a node."""
    unknown: Unknown
    evidence: Evidence
    waiting: tuple[RowDict, ...] = ()
    """Pods that were Pending at the end, by owner and reason."""
    warnings: tuple[RowDict, ...] = ()
    """Warning Events of the range by reason, except those that a finding covers."""
    not_ready: tuple[RowDict, ...] = ()
    """Nodes that are not Ready or are cordoned at the end, longest first."""
    evicted: tuple[RowDict, ...] = ()
    """Evictions by owner, node and resource, most first."""
    killed: tuple[RowDict, ...] = ()
    """OOM kills, and rejections at admission, by owner, node and reason, most first."""
    refused: tuple[RowDict, ...] = ()
    """Messages of kubelets about pods that they rejected, by reason, node and namespace, latest first."""
    resizes: tuple[RowDict, ...] = ()
    """Resizes that are deferred or infeasible at the end."""
    terminating: tuple[RowDict, ...] = ()
    """Pods that still exist at the end, long after their deletion was requested."""
    problems: tuple[RowDict, ...] = ()
    """Conditions of nodes that show a problem at the end, other than the kubelet's own."""
    begun: Begun = MappingProxyType({})
    """Since when states at the end hold."""
    node: str = ""
    """The node of this overview; empty for the whole cluster."""
    culprits: tuple[RowDict, ...] = ()
    """The pod that grows most on each node with a shortage of memory or disk, by kind, and the age of that data
    (`ago`).
    """
    event_cordons: tuple[RowDict, ...] = ()
    """Nodes that are cordoned at the end, known only from Events."""
    contradicted: Mapping[str, str] = MappingProxyType({})
    """A node with room, by the uid of a pod that the scheduler just failed to place; only after
    `with_contradictions`.
    """


def read_spans(db: Database) -> list[Span]:
    """Read all clusters, latest first; none from an empty database, or from one without tables."""
    if not db.empty_tables and not db.has("schema_migrations"):
        return []
    return [Span(**row) for row in rows(db, "clusters", {})]


def read_overview(db: Database, scope: Scope, spans: Iterable[Span], node: str = "") -> Overview:
    """Read everything about the cluster except the lines of its story. Raises DatabaseError.

    With `node`, read the base of its items. If nothing names that node in the range, `nodes` is empty. A node that is
    gone at the end still belongs to the range.
    """
    db = db.noting_empty_tables()
    evidence = read_last_seen(db, scope)
    scope = evidence.scope
    skews = {row["node"]: row for row in ask(db, "numa_skew", scope, node=node)}
    image_gc = read_image_gc(db, scope, node)
    nodes = read_nodes(db, scope, skews, image_gc, node)
    alerts = read_alerts(db, evidence, node)
    not_ready = tuple(ask(db, "not_ready", scope, node=node, drains=list(DRAINERS)))
    late_joiners = next(iter(ask(db, "late_joiners", scope)), None)
    view = Overview(
        scope,
        tuple(spans),
        nodes,
        None if alerts is None else tuple(alerts),
        tuple(image_gc),
        skews.get(""),
        late_joiners,
        () if node else tuple(ask(db, "numa_whatif", scope)),
        tuple(ask(db, "numa_failures", scope, node=node)),
        tuple(ask(db, "blind_spots", scope, node=node)),
        () if node else tuple(ask(db, "pending", scope)),
        _unknown(db, scope, nodes, node),
        evidence,
        tuple(ask(db, "waiting", scope, node=node)),
        tuple(read_warnings(db, scope, [node] if node else []).get(node, ())),
        not_ready,
        tuple(ask(db, "evicted_by_owner", scope, node=node, unexplained=UNEXPLAINED)),
        tuple(ask(db, "killed_by_owner", scope, node=node)),
        tuple(ask(db, "refused", scope, node=node)),
        tuple(ask(db, "resizes", scope, node=node)),
        tuple(ask(db, "terminating", scope, node=node)),
        tuple(ask(db, "problems", scope, node=node)),
        read_begun(db, scope, nodes, not_ready, late=late_joiners is not None),
        culprits=tuple(_read_culprits(db, scope, nodes)),
        event_cordons=tuple(ask(db, "event_cordons", scope, node=node)),
    )
    if node and not nodes and (_names_any(view) or read_node_times(db, scope, node).within(scope)):
        nodes = read_nodes(db, scope, skews, image_gc, node, named=True)
        view = view._replace(nodes=nodes)
    return narrowed(view, nodes[0], view.warnings) if node and nodes else view


def _read_culprits(db: Database, scope: Scope, nodes: Iterable[NodeLine]) -> list[RowDict]:
    short = {
        node.name: node.sample_age if node.stale or scope.as_of else ""
        for node in nodes
        if node.pressure or any(margin.met or margin.near for margin in node.margins)
    }
    limits = {"least": LEAST_GROWTH, "least_seconds": GROWN_SECONDS}
    found = ask(db, "culprits", scope, nodes=list(short)[:MOST_SHORT], **limits) if short else []
    return [row | {"ago": short[row["node"]]} for row in found]


def with_contradictions(db: Database, view: Overview) -> Overview:
    """Add contradictions between the scheduler and the API. This is too slow for a page that is read repeatedly."""
    waiting = [uid for row in view.waiting if not row["node"] for uid in row["uids"]]
    uids = [row["uid"] for row in ask(db, "just_tried", view.scope, uids=waiting)] if waiting else []
    if not uids:
        return view
    found = ask(db, "contradicted", view.scope, uids=uids)
    return view._replace(contradicted={row["uid"]: row["fits_on"] for row in found})


def _names_any(view: Overview) -> bool:
    of_it = (
        view.alerts,
        view.numa_failures,
        view.blind_spots,
        view.waiting,
        view.warnings,
        view.evicted,
        view.killed,
    )
    return any(of_it) or bool(view.unknown.source_errors)


_OF_NODES: Final = (
    *("image_gc", "numa_failures", "blind_spots", "waiting", "not_ready", "evicted", "killed", "refused", "resizes"),
    *("terminating", "problems", "culprits", "event_cordons"),
)
"""Fields of an overview whose rows are each about one node."""


def narrowed(view: Overview, node: NodeLine, warnings: Sequence[RowDict]) -> Overview:
    """Return the part of an overview about one node, with its own warnings, because a cluster's are summed over
    nodes.
    """
    late, unknown = view.late_joiners, view.unknown
    on_it: dict[str, Any] = {
        name: tuple(row for row in getattr(view, name) if row["node"] == node.name) for name in _OF_NODES
    }
    return view._replace(
        node=node.name,
        nodes=(node,),
        alerts=None if view.alerts is None else tuple(alert for alert in view.alerts if alert.node == node.name),
        late_joiners=late if late and node.name in (*late["youngest_nodes"], *late["oldest_nodes"]) else None,
        unknown=unknown._replace(
            source_errors=tuple(row for row in unknown.source_errors if node.name in row["nodes"])
        ),
        evidence=of_node(view.evidence, node.name, node.sampled_at)._replace(
            partial_nodes=int(node.is_partial), unsaid_nodes=int(node.known and not node.ready_reported)
        ),
        warnings=tuple(warnings),
        **on_it,
    )


def read_warnings(db: Database, scope: Scope, nodes: Sequence[str]) -> Mapping[str, Sequence[RowDict]]:
    """Read warnings by reason for each of these nodes; without nodes, those of the cluster under an empty name."""
    return by_node(ask(db, "warnings", scope, nodes=nodes))


def read_dead_letters(db: Database, cluster: str = "") -> list[RowDict]:
    """Read kinds of unreadable input, of one cluster or of none."""
    return rows(db, "dead_letters", {"cluster": cluster})


def read_node(db: Database, scope: Scope, node: str) -> NodeLine | None:
    """Read one node of a cluster; None if nothing names it in the range. Raises DatabaseError."""
    skews = {row["node"]: row for row in ask(db, "numa_skew", scope, node=node)}
    found = read_nodes(db, scope, skews, read_image_gc(db, scope, node), node)
    return next(iter(found), None)


def read_image_gc(db: Database, scope: Scope, node: str = "") -> list[RowDict]:
    """Read episodes of image GC, last first; `goes_on` tells whether it still fails at the end."""
    found = ask(db, "image_gc", scope, node=node)
    recovered = {row["node"]: row["updated_at"] for row in reversed(found) if row["verdict"] == "recovered"}
    return [row | {"goes_on": _goes_on(row, scope, recovered.get(row["node"]))} for row in found]


def _goes_on(row: RowDict, scope: Scope, recovered_at: datetime | None) -> bool:
    """Tell whether a failure continues: samples without a recovery show it; without samples, it counts for a few
    runs.
    """
    if (
        row["is_gone"]
        or row["verdict"] not in BROKEN_GC
        or (recovered_at is not None and recovered_at >= row["updated_at"])
    ):
        return False
    is_news = scope.judged_at - row["last_at"] < gc_counts_for(row["verdict"], row["reason"])
    return is_news or not is_stale(row["sampled_at"], scope.of_node(row["node"]))


def _unknown(db: Database, scope: Scope, nodes: Iterable[NodeLine], node: str) -> Unknown:
    errors = tuple(ask(db, "source_errors", scope, node=node))
    if node:
        return Unknown(0, (), 0, (), 0, errors, ())
    (counted,) = ask(db, "unknown", scope)
    return Unknown(
        counted["lower_bounds"],
        tuple(node.name for node in nodes if any(margin.assumed for margin in node.margins)),
        sum(node.evicted.without_rank for node in nodes),
        tuple(node.name for node in nodes if node.known and node.sampled_at is None),
        counted["nodes_with_numa"],
        errors,
        tuple(read_dead_letters(db, scope.cluster)),
        counted["withheld"],
        counted["undated_lines"],
    )
