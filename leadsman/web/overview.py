"""What is known of a whole cluster in a range."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from leadsman.web.alerts import Alert, read_alerts
from leadsman.web.asked import RowDict, ask, has_table, rows
from leadsman.web.margins import Margin, margins
from leadsman.web.scope import Scope, Span, sql_time
from sql.database.open import Database

HARMLESS: Final = "benign_startup"
FRESH: Final = timedelta(minutes=10)
"""Nodes observed within this time before the last one are read together."""
MOST_SILENT: Final = 50


class Fit(NamedTuple):
    """One resource of a node, in base units; cpu in millicores."""

    capacity: int
    allocatable: int
    requested: int
    used: int | None
    pods: int


class Evicted(NamedTuple):
    """How many pods of a node, by cause."""

    pressure: int = 0
    own_limit: int = 0
    admission: int = 0
    resources: tuple[str, ...] = ()
    without_rank: int = 0


class NodeLine(NamedTuple):
    """A node at the end of the range, and what happened on it."""

    name: str
    known: bool
    """The Node object was seen; else only samples or findings name it."""
    ready: bool | None
    unschedulable: bool
    kubelet_version: str
    zone: str
    sampled_at: datetime | None
    margins: tuple[Margin, ...]
    """The nearest to its threshold first."""
    lowest_room: float | None
    """The least part of a capacity that was left above a threshold in the range; None where there was none."""
    fit: Mapping[str, Fit]
    evicted: Evicted
    pressure: tuple[str, ...]
    """Conditions at the end."""
    times_under_pressure: int
    image_gc: str
    """The last verdict in the range, or empty."""
    numa: RowDict | None
    """Its row of numa_skew."""


class Unknown(NamedTuple):
    """Of how many it is not known for sure."""

    lower_bounds: int
    assumed_thresholds: tuple[str, ...]
    """Nodes whose thresholds are the defaults."""
    without_rank: int
    without_samples: tuple[str, ...]
    nodes_with_settings: int
    nodes_with_numa: int
    source_errors: tuple[RowDict, ...]
    dead_letters: tuple[RowDict, ...]


class Overview(NamedTuple):
    scope: Scope
    spans: tuple[Span, ...]
    nodes: tuple[NodeLine, ...]
    """By name."""
    alerts: tuple[Alert, ...] | None
    """None where the database has no alerts."""
    image_gc: tuple[RowDict, ...]
    cluster_skew: RowDict | None
    late_joiners: RowDict | None
    whatif: tuple[RowDict, ...]
    numa_failures: tuple[RowDict, ...]
    blind_spots: tuple[RowDict, ...]
    pending: tuple[RowDict, ...]
    unknown: Unknown


def read_spans(db: Database) -> list[Span]:
    """Every cluster, the latest first; none in an empty database, or in one without tables."""
    if not has_table(db, "schema_migrations"):
        return []
    return [Span(**row) for row in rows(db, "clusters", {})]


def read_overview(db: Database, scope: Scope, spans: Iterable[Span]) -> Overview:
    """Everything about the cluster but the lines of its story. Raises DatabaseError."""
    skews = {row["node"]: row for row in ask(db, "numa_skew", scope, node="")}
    image_gc = read_image_gc(db, scope)
    nodes = _nodes(db, scope, skews, image_gc)
    alerts = read_alerts(db, scope)
    return Overview(
        scope,
        tuple(spans),
        nodes,
        None if alerts is None else tuple(alerts),
        tuple(image_gc),
        skews.get(""),
        next(iter(ask(db, "late_joiners", scope)), None),
        tuple(ask(db, "numa_whatif", scope)),
        tuple(ask(db, "numa_failures", scope)),
        tuple(ask(db, "blind_spots", scope)),
        tuple(ask(db, "pending", scope)),
        _unknown(db, scope, nodes),
    )


def read_dead_letters(db: Database, cluster: str = "") -> list[RowDict]:
    """Kinds of what could not be read, of a cluster and of none."""
    return rows(db, "dead_letters", {"cluster": cluster})


def read_node(db: Database, scope: Scope, node: str) -> NodeLine | None:
    """One node of a cluster; None where nothing names it in the range. Raises DatabaseError."""
    skews = {row["node"]: row for row in ask(db, "numa_skew", scope, node=node)}
    found = _nodes(db, scope, skews, read_image_gc(db, scope, node), node)
    return next(iter(found), None)


def read_image_gc(db: Database, scope: Scope, node: str = "") -> list[RowDict]:
    """Episodes of image GC, the last first."""
    return ask(db, "image_gc", scope, node=node)


def _nodes(
    db: Database, scope: Scope, skews: Mapping[str, RowDict], image_gc: Iterable[RowDict], node: str = ""
) -> tuple[NodeLine, ...]:
    states = {row["node"]: row["state"] for row in ask(db, "nodes", scope, node=node)}
    samples = {row["node"]: row["last_at"] for row in ask(db, "samples", scope, node=node)}
    fitted = {row["node"]: row["last_at"] for row in ask(db, "fit_last", scope, node=node)}
    near = margins(_at_last(db, "signals_now", scope, samples))
    fits = _fits(_at_last(db, "fit_now", scope, fitted))
    rooms = {row["node"]: row["room"] for row in ask(db, "rooms", scope, node=node)}
    evicted = {row["node"]: _evicted(row) for row in ask(db, "evictions_by_node", scope, node=node)}
    pressure = _grouped(ask(db, "pressure_now", scope, node=node))
    # The last verdict about each node; a harmless one does not end the trouble before it.
    last_words = sorted(image_gc, key=lambda row: (row["verdict"] != HARMLESS, row["last_at"]))
    verdicts = {row["node"]: row["verdict"] for row in last_words}
    names = (states.keys() | samples.keys() | near.keys() | evicted.keys() | pressure.keys() | verdicts.keys()) - {""}
    return tuple(
        _line(name, states.get(name))._replace(
            sampled_at=samples.get(name),
            margins=tuple(near.get(name, ())),
            lowest_room=rooms.get(name),
            fit=fits.get(name, {}),
            evicted=evicted.get(name, Evicted()),
            pressure=tuple(row["condition"] for row in pressure.get(name, ()) if row["under"]),
            times_under_pressure=sum(row["times"] for row in pressure.get(name, ())),
            image_gc=verdicts.get(name, ""),
            numa=skews.get(name),
        )
        for name in sorted(names)
    )


def _at_last(db: Database, question: str, scope: Scope, last: Mapping[str, datetime]) -> list[RowDict]:
    """Roll-ups of each node at its own last time: of most at once, of those that fell silent one by one."""
    if not last:
        return []
    first = max(last.values()) - FRESH
    silent = sorted((node for node, at in last.items() if at < first), key=lambda node: last[node])[-MOST_SILENT:]
    only = next(iter(last)) if len(last) == 1 else ""
    found = ask(db, question, scope, node=only, first=sql_time(first))
    for node in silent:
        found += ask(db, question, scope, node=node, first=sql_time(last[node] - FRESH))
    return found


def _line(name: str, state: tuple[bool | None, int, int, str, str] | RowDict | None) -> NodeLine:
    ready, unschedulable, _, version, zone = _values(state)
    return NodeLine(
        name=name,
        known=state is not None,
        ready=None if ready is None else bool(ready),
        unschedulable=bool(unschedulable),
        kubelet_version=version,
        zone=zone.replace("\0", ""),
        sampled_at=None,
        margins=(),
        lowest_room=None,
        fit={},
        evicted=Evicted(),
        pressure=(),
        times_under_pressure=0,
        image_gc="",
        numa=None,
    )


def _values(state: tuple[bool | None, int, int, str, str] | RowDict | None) -> tuple[bool | None, int, int, str, str]:
    """A tuple of the engine: the driver gives one with names as a dict."""
    if state is None:
        return None, 0, 0, "", ""
    if isinstance(state, dict):
        ready, unschedulable, deleted, version, zone = state.values()
        return ready, unschedulable, deleted, version, zone
    return state


def _fits(found: Iterable[RowDict]) -> dict[str, dict[str, Fit]]:
    fits: dict[str, dict[str, Fit]] = {}
    for row in found:
        fits.setdefault(row["node"], {})[row["resource"]] = Fit(*(row[name] for name in Fit._fields))
    return fits


def _evicted(row: RowDict) -> Evicted:
    return Evicted(row["pressure"], row["own_limit"], row["admission"], tuple(row["resources"]), row["without_rank"])


def _grouped(found: Iterable[RowDict]) -> dict[str, list[RowDict]]:
    grouped: dict[str, list[RowDict]] = {}
    for row in found:
        grouped.setdefault(row["node"], []).append(row)
    return grouped


def _unknown(db: Database, scope: Scope, nodes: Iterable[NodeLine]) -> Unknown:
    (counted,) = ask(db, "unknown", scope)
    return Unknown(
        counted["lower_bounds"],
        tuple(node.name for node in nodes if any(margin.assumed for margin in node.margins)),
        sum(node.evicted.without_rank for node in nodes),
        tuple(node.name for node in nodes if node.known and node.sampled_at is None),
        counted["nodes_with_settings"],
        counted["nodes_with_numa"],
        tuple(ask(db, "source_errors", scope)),
        tuple(read_dead_letters(db, scope.cluster)),
    )
