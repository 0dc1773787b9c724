"""Reads each node at the end of a range, and what happened on it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from leadsman.web.reading.ask import RowDict, ask, by_node
from leadsman.web.reading.evidence import age, is_stale
from leadsman.web.reading.margins import Margin, margins
from leadsman.web.reading.scope import Scope, sql_time
from sql.database.open import Database
from streams.rules.values.labels import zone_of

MOST: Final = 100
MOST_SIMILAR: Final = 5
"""Maximum number of names with similar spelling."""


class Match(NamedTuple):
    kind: str
    """node or pod."""
    namespace: str
    name: str
    node: str
    """The pod's node; empty for a pod that never had one."""
    gone: bool = False
    """True if the pod has ended or was deleted."""

    @property
    def titled(self) -> str:
        """Return its kind and name, and for a pod its node."""
        return f"Pod {self.namespace}/{self.name}, {self.where}" if self.kind == "pod" else f"Node {self.name}"

    @property
    def where(self) -> str:
        if self.node:
            return f"{'was ' if self.gone else ''}on {self.node}"
        return "never had a node" if self.gone else "waits for a node"


class SearchResult(NamedTuple):
    text: str
    matches: tuple[Match, ...]
    """The first MOST matches; exact names come first."""
    cut: bool
    similar: bool = False
    """True if no name contains every word, and these are similar names."""

    @property
    def only(self) -> Match | None:
        """Return the only match, or the only match with exactly that name."""
        exact = [each for each in self.matches if self.text in {each.name, f"{each.namespace}/{each.name}"}]
        one = exact or self.matches
        return one[0] if len(one) == 1 and not self.similar else None


def find(db: Database, scope: Scope, text: str) -> SearchResult:
    """Find nodes and pods whose names contain every word, or else similar names. Raises DatabaseError."""
    words = text.split()
    if not words:
        return SearchResult("", (), cut=False)
    whole = text.strip()
    if rows := ask(db, "find", scope, words=words, whole=whole, most=MOST + 1, similar=0):
        return SearchResult(whole, tuple(Match(**row) for row in rows[:MOST]), cut=len(rows) > MOST)
    near = ask(db, "find", scope, words=[], whole=whole, most=MOST_SIMILAR, similar=1)
    return SearchResult(whole, tuple(Match(**row) for row in near), cut=False, similar=True)


HARMLESS: Final = "benign_startup"
FRESH: Final = timedelta(minutes=10)
"""Nodes observed within this time before the last observation are read together."""
MOST_SILENT: Final = 50
UNEVEN: Final = 0.5
"""Skew ratio from which NUMA nodes count as uneven, if it also strands CPUs."""


class _State(NamedTuple):
    ready: bool | None = None
    unschedulable: int = 0
    deleted: int = 0
    kubelet_version: str = ""
    zone_key: str = ""
    pool: str = ""
    has_message: bool = False
    created_at: datetime | None = None
    is_partial: bool = False


class Fit(NamedTuple):
    """One resource of a node, in base units; cpu in millicores."""

    capacity: int
    allocatable: int
    requested: int
    used: int | None
    pods: int
    deferred: int = 0
    """Requested by deferred resizes: no container uses it yet."""


class Evicted(NamedTuple):
    """Number of evicted pods of a node, by cause."""

    pressure: int = 0
    own_limit: int = 0
    admission: int = 0
    unknown: int = 0
    without_rank: int = 0

    @property
    def ended(self) -> int:
        """Return the number of pods that the kubelet evicted for any cause."""
        return self.pressure + self.own_limit + self.unknown


class NodeLine(NamedTuple):
    """A node at the end of the range, and what happened on it."""

    name: str
    known: bool
    """True if the Node object was seen; otherwise only samples or findings name it."""
    ready: bool | None
    unschedulable: bool
    kubelet_version: str
    zone: str
    """The zone, or the region of a node without one."""
    sampled_at: datetime | None = None
    """In the range."""
    stale: bool = True
    """True if its statistics say nothing about the end: they are missing or too old."""
    sample_age: str = ""
    """Age of its last sample in any range, for example "31 h ago"; empty without a sample."""
    margins: tuple[Margin, ...] = ()
    """Signals, nearest to the threshold first."""
    lowest_room: float | None = None
    """The smallest share of capacity that was left above a threshold in the range; None without samples."""
    fit: Mapping[str, Fit] = MappingProxyType({})
    evicted: Evicted = Evicted()
    pressure: tuple[str, ...] = ()
    """Conditions at the end."""
    times_under_pressure: int = 0
    """In the range, for the condition that began most often, as the alert counts it."""
    image_gc: str = ""
    """The last verdict in the range, or empty."""
    numa: RowDict | None = None
    """Its row of numa_skew."""
    pressure_since: Mapping[str, datetime] = MappingProxyType({})
    """Start times at the end of the range, by condition."""
    pressure_or_earlier: tuple[str, ...] = ()
    """Conditions that already held when they were first seen, for example by a taint without a time."""
    pool: str = ""
    """Empty if no label names one."""
    last_sample_at: datetime | None = None
    """Time of its last sample in any range."""
    swings: str = ""
    """The condition that began most often; empty if none began."""
    under_pressure: tuple[datetime, datetime] | None = None
    """In the range, from the first start of that condition until its last change."""
    deleted_at: datetime | None = None
    """When its object was seen to be gone, at the end of the range."""
    image_gc_goes_on: bool = True
    """True if the last verdict about image GC still holds at the end, as far as it is known."""
    ready_reported: bool = True
    """True if its condition Ready was read, even as Unknown."""
    is_partial: bool = False
    """True if only a table or a fragment of its object was seen."""

    @property
    def not_ready(self) -> bool:
        """Tell whether the node is known to be not Ready, or its kubelet does not report."""
        return self.known and not self.ready and self.ready_reported

    @property
    def pins(self) -> bool:
        """Tell whether its CPU Manager pins CPUs, if known. If it pins none, free CPUs are not room on a NUMA
        node.
        """
        return self.cpu_manager_policy != "none"

    @property
    def cpu_manager_policy(self) -> str:
        return str((self.numa or {}).get("cpu_manager_policy") or "")

    @property
    def uneven(self) -> bool:
        """Tell whether exclusive CPUs are unevenly spread over its NUMA nodes, and strand some."""
        numa = self.numa
        return (
            numa is not None
            and self.pins
            and (numa["skew_ratio"] or 0) >= UNEVEN
            and (numa["stranded_cpus"] or 0) > 0
        )

    @property
    def overcommitted(self) -> tuple[str, ...]:
        """Return resources for which pods request more than allocatable, without the requests of deferred resizes."""
        return tuple(name for name, fit in self.fit.items() if fit.requested - fit.deferred > fit.allocatable)


def read_nodes(
    db: Database,
    scope: Scope,
    skews: Mapping[str, RowDict],
    image_gc: Iterable[RowDict],
    node: str = "",
    *,
    named: bool = False,
) -> tuple[NodeLine, ...]:
    """Read the nodes that exist at the end or that samples or findings name, and the node `named`."""
    objects = ask(db, "nodes", scope, node=node)
    states = {row["node"]: _values(row["state"]) for row in objects}
    deleted = {row["node"]: row["seen_at"] for row in objects if states[row["node"]].deleted}
    samples = _of_this(states, ask(db, "samples", scope, node=node))
    fitted = _of_this(states, ask(db, "fit_last", scope, node=node))
    near = margins(_at_last(db, "signals_now", scope, samples))
    fits = _fits(_at_last(db, "fit_now", scope, fitted))
    rooms = {row["node"]: row["room"] for row in ask(db, "rooms", scope, node=node)}
    evicted = {row.pop("node"): Evicted(**row) for row in ask(db, "evictions_by_node", scope, node=node)}
    pressure = by_node(_ended(row, states.get(row["node"])) for row in ask(db, "pressure_now", scope, node=node))
    # the last verdict about each node comes first; a harmless one does not end the problem before it
    verdicts: dict[str, RowDict] = {}
    for row in sorted(image_gc, key=lambda row: bool(row["verdict"] == HARMLESS)):
        verdicts.setdefault(row["node"], row)
    existing = states.keys() - deleted.keys()
    names = existing | samples.keys() | near.keys() | evicted.keys() | pressure.keys() | verdicts.keys()
    names = (names | {node} if named else names) - {""}
    before = [name for name in names if name not in samples]
    earlier = ask(db, "last_samples", scope, nodes=before) if before else []
    last = samples | _of_this(states, earlier)
    lines = (
        _line(name, states.get(name))._replace(
            sampled_at=samples.get(name),
            stale=is_stale(last.get(name), scope.of_node(name)),
            sample_age=age(last[name], scope) if name in last else "",
            margins=tuple(near.get(name, ())),
            lowest_room=rooms.get(name),
            fit=fits.get(name, {}),
            evicted=evicted.get(name, Evicted()),
            pressure=tuple(row["condition"] for row in pressure.get(name, ()) if row["under"]),
            pressure_since={row["condition"]: row["changed_at"] for row in pressure.get(name, ()) if row["under"]},
            pressure_or_earlier=tuple(
                row["condition"] for row in pressure.get(name, ()) if row["under"] and row["or_earlier"]
            ),
            **_swings(pressure.get(name, ())),
            last_sample_at=last.get(name),
            image_gc=verdicts[name]["verdict"] if name in verdicts else "",
            image_gc_goes_on=name in verdicts and verdicts[name]["goes_on"],
            numa=skews.get(name),
            deleted_at=deleted.get(name),
        )
        for name in sorted(names)
    )
    return tuple(line if line.deleted_at is None else _gone(line) for line in lines)


def _of_this(states: Mapping[str, _State], rows: Iterable[RowDict]) -> dict[str, datetime]:
    """Return when each node was last sampled, without samples of an earlier node with its name."""
    return {
        row["node"]: row["last_at"]
        for row in rows
        if row["last_at"] >= (states.get(row["node"], _State()).created_at or row["last_at"])
    }


def _ended(pressure: RowDict, state: _State | None) -> RowDict:
    """Return when a condition of an earlier node with that name ended.

    Its kubelet's clock may be behind the API server's.
    """
    is_over = state is not None and state.created_at is not None and pressure["seen_at"] < state.created_at
    return pressure | {"under": pressure["under"] and not is_over}


def _gone(line: NodeLine) -> NodeLine:
    """Return a deleted node: what happened on it, without states that no longer hold."""
    return line._replace(
        stale=True, margins=(), fit={}, pressure=(), pressure_since={}, pressure_or_earlier=(), numa=None
    )


def _at_last(db: Database, question: str, scope: Scope, last: Mapping[str, datetime]) -> list[RowDict]:
    """Read roll-ups of each node at its own last sample: most nodes in one query, silent ones one by one."""
    if not last:
        return []
    first = max(last.values()) - FRESH
    silent = sorted((node for node, at in last.items() if at < first), key=lambda node: last[node])[-MOST_SILENT:]
    only = next(iter(last)) if len(last) == 1 else ""
    found = ask(db, question, scope, node=only, first=sql_time(first))
    for node in silent:
        found += ask(db, question, scope, node=node, first=sql_time(last[node] - FRESH))
    return found


def _line(name: str, state: _State | None) -> NodeLine:
    known = state is not None and not state.deleted
    state = state or _State()
    is_reported = known and (state.ready is not None or bool(state.has_message))
    return NodeLine(
        name=name,
        known=known,
        ready=bool(state.ready) if known and state.ready is not None else None,
        unschedulable=known and bool(state.unschedulable),
        kubelet_version=state.kubelet_version,
        zone=zone_of(state.zone_key),
        pool=state.pool,
        ready_reported=is_reported,
        is_partial=known and (bool(state.is_partial) or not is_reported),
    )


def _values(state: Sequence[Any] | RowDict) -> _State:
    """Convert a row: the driver returns the engine's named tuples as dicts."""
    return _State(*(state.values() if isinstance(state, dict) else state))


def _fits(found: Iterable[RowDict]) -> dict[str, dict[str, Fit]]:
    fits: dict[str, dict[str, Fit]] = {}
    for row in found:
        fits.setdefault(row["node"], {})[row["resource"]] = Fit(*(row[name] for name in Fit._fields))
    return fits


def _swings(conditions: Iterable[RowDict]) -> dict[str, Any]:
    """Return the condition that began most often, how often, and from when to when."""
    most = max(conditions, key=lambda row: int(row["times"]), default=None)
    if most is None or not most["times"]:
        return {}
    return {
        "times_under_pressure": most["times"],
        "swings": most["condition"],
        "under_pressure": (most["first_at"], most["changed_at"]),
    }
