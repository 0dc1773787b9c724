"""Changes of a node's pressure conditions: table `pressure_changes`.

There are two witnesses: the node's conditions, and the kubelet's Events. Each is a fact with its own time, and the
rows follow from all facts together, in any order. The "no pressure" trio that every kubelet start emits is not a
recovery (rules: eviction-messages): its rows are marked.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from ingest.messages.reasons import is_kubelet_start
from ingest.model.objects.event import event_time
from ingest.model.records import EventRecord, NodeRecord, Record
from streams.fold.findings import PressureChange
from streams.fold.reducer import Output, Reducer
from streams.rules.events.messages import parse_node_status
from streams.rules.pod_ends.when import event_when

PRESSURES: Final = ("MemoryPressure", "DiskPressure", "PIDPressure")
SAME_CHANGE: Final = timedelta(seconds=15)
"""Maximum time between condition and Event of one change: the kubelet updates its status every 10 s."""
ABOUT: Final = timedelta(minutes=10)
"""The same if one is an Event of pasted text, whose age may count from a time that is minutes off."""
START_UP: Final = timedelta(seconds=10)
"""Time after `Starting kubelet.` within which a kubelet without pressure is taken to be starting."""
MAX_FACTS: Final = 40
"""Number of facts of a condition, and of kubelet starts, that are kept because later witnesses can confirm them."""


class Fact(msgspec.Struct, frozen=True):
    """A condition changed to this status at this time, witnessed by `event`, `condition` or `both`."""

    at: datetime
    status: bool
    evidence: str
    is_known: bool = True
    """False if the time is a bound."""


class State(msgspec.Struct, frozen=True):
    facts: dict[str, tuple[Fact, ...]] = {}
    """Facts by condition, in order of time."""
    starts: tuple[datetime, ...] = ()
    """Starts of the kubelet."""


def step(state: State, record: NodeRecord | EventRecord) -> tuple[State, Sequence[Output]]:
    after = _with_node(state, record) if isinstance(record, NodeRecord) else _with_event(state, record)
    if after is state:
        return state, ()
    before = {(row.condition, row.ts): row for row in _rows(state, record)}
    return after, [row for row in _rows(after, record) if before.get((row.condition, row.ts)) != row]


def _with_node(state: State, record: NodeRecord) -> State:
    for condition in record.object.status.conditions or ():
        if condition.type in PRESSURES and condition.status in {"True", "False"}:
            at, is_known = condition.last_transition_time or record.ts, condition.last_transition_time is not None
            if is_known or not _holds(state, condition.type, condition.status):
                state = _learned(state, condition.type, Fact(at, condition.status == "True", "condition", is_known))
    return state


def _holds(state: State, condition: str, status: str) -> bool:
    facts = state.facts.get(condition)
    return facts is not None and facts[-1].status == (status == "True")


def _with_event(state: State, record: EventRecord) -> State:
    event = record.object
    involved = event.involved
    if record.change == "DELETED" or involved.kind != "Node":
        return state
    at = event_time(event) or record.ts
    if is_kubelet_start(event.reason, event.text):
        starts = tuple(sorted({*state.starts, at})[-MAX_FACTS:])
        return state if starts == state.starts else msgspec.structs.replace(state, starts=starts)
    reported = parse_node_status(event.reason, event.text)
    if reported is None or reported.condition not in PRESSURES:
        return state
    return _learned(state, reported.condition, Fact(at, reported.status, "event", event_when(event, at).is_known))


def _learned(state: State, condition: str, fact: Fact) -> State:
    """Return the state with a new fact, or with a known one that a second witness confirms."""
    known = state.facts.get(condition, ())
    same = _same_change(known, fact, state.starts)
    if same is None:
        facts = sorted((*known, fact), key=lambda each: (each.at, each.status))[-MAX_FACTS:]
    elif same.evidence in {"both", fact.evidence}:
        return state
    else:
        best = fact if fact.is_known and not same.is_known else same
        confirmed = msgspec.structs.replace(best, evidence="both")
        facts = [confirmed if each is same else each for each in known]
    return msgspec.structs.replace(state, facts={**state.facts, condition: tuple(facts)})


def _same_change(known: Sequence[Fact], fact: Fact, starts: Sequence[datetime]) -> Fact | None:
    """Return the same change from another witness, a few seconds away, or an earlier version of this one."""
    near = [
        each
        for each in known
        if each.status == fact.status
        and abs(each.at - fact.at) <= (SAME_CHANGE if each.is_known and fact.is_known else ABOUT)
    ]
    exact = next((each for each in near if each.at == fact.at), None)
    if exact is not None or (not fact.status and _starts_up(fact.at, starts)):
        return exact
    others = [each for each in near if fact.evidence not in each.evidence and each.evidence != "both"]
    return min(others or near, key=lambda each: abs(each.at - fact.at), default=None)


def _starts_up(at: datetime, starts: Sequence[datetime]) -> bool:
    return any(timedelta() <= at - started <= START_UP for started in starts)


def _rows(state: State, record: Record) -> list[PressureChange]:
    return [
        row for condition, facts in state.facts.items() for row in _of_one(condition, facts, state.starts, record)
    ]


def _of_one(
    condition: str, facts: Sequence[Fact], starts: Sequence[datetime], record: Record
) -> Iterator[PressureChange]:
    now: bool | None = None
    since: datetime | None = None
    for fact in facts:
        is_change = fact.status is not now and (fact.status or now is True)
        if not is_change and (fact.status or fact.evidence == "condition"):
            # an unchanged status, or a first report of no pressure
            now, since = (fact.status, fact.at) if now is None else (now, since)
            continue
        yield PressureChange(
            cluster=record.cluster,
            ts=fact.at,
            node=record.node,
            condition=condition,
            status=fact.status,
            lasted_seconds=(fact.at - since).total_seconds() if is_change and since is not None else None,
            kubelet_restart=not fact.status and (not is_change or _starts_up(fact.at, starts)),
            evidence=fact.evidence if is_change else "event",
            time_known=fact.is_known,
            updated_at=record.ts,
        )
        if is_change or (now is None and fact.evidence == "both"):
            now, since = fact.status, fact.at


REDUCER: Final = Reducer(
    name="pressure_changes", version=3, log="node", takes=(NodeRecord, EventRecord), state=State, step=step
)
