"""A replay keeps its progress and states."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.captures import node, observed
from ingest.model.observation import Observation, Position, Unreadable
from ingest.model.records import NodeRecord
from ingest.normalize.decode import digest
from streams.fold.checkpoints import Entry, KnownDigests, StateCodec
from streams.fold.fold import LogState
from streams.fold.reducer import Reducer

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)


class Store:
    """Checkpoints in memory that count their loads."""

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str, str], bytes] = {}
        self.loads = 0

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        self.loads += 1
        return {k: v for (c, n, k), v in self.entries.items() if (c, n) == (cluster, kind) and key in {None, k}}

    def save(self, entries: Sequence[Entry]) -> None:
        self.entries |= {(e.cluster, e.kind, e.key): e.value for e in entries}


@given(
    st.lists(
        st.one_of(
            st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20), st.integers(0, 5)),
            st.sampled_from(["save", "restart"]),
        ),
        max_size=60,
    )
)
def test_seen_is_a_set_that_outlives_the_process(steps: list[tuple[str, int, int] | str]) -> None:
    """A process that ends loses its additions since the last save, and no more."""
    store = Store()
    seen = KnownDigests(store)
    saved: set[tuple[str, int, int]] = set()
    model: set[tuple[str, int, int]] = set()
    for step in steps:
        if step == "save":
            store.save(seen.entries())
            saved = set(model)
        elif isinstance(step, str):
            seen, model = KnownDigests(store), set(saved)
        else:
            cluster, hour, value = step
            assert seen.add(cluster, T0 + timedelta(hours=hour), value) == (step not in model)
            model.add(step)


def test_entries_without_a_time_are_also_seen_once() -> None:
    seen = KnownDigests(Store())
    assert seen.add("c", None, 1)
    assert not seen.add("c", None, 1)
    assert seen.add("c", T0, 1)


def test_only_a_few_hours_stay_in_memory_after_a_save() -> None:
    store = Store()
    seen = KnownDigests(store)
    for hour in range(20):
        seen.add("c", T0 + timedelta(hours=hour), 1)
    store.save(seen.entries())
    loads = store.loads
    assert not seen.add("c", T0 + timedelta(hours=19), 1)
    assert store.loads == loads
    assert not seen.add("c", T0, 1)
    assert store.loads == loads + 1


def test_an_entry_is_saved_once() -> None:
    seen = KnownDigests(Store())
    seen.add("c", T0, 1)
    assert len(seen.entries()) == 1
    assert seen.entries() == []


OBSERVATION = observed([node("12:00:00", "n")])[0].observation


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ts", T0 + timedelta(microseconds=1)),
        ("source", "list"),
        ("resource", "pods"),
        ("type", "DELETED"),
        ("node", "n"),
        ("object", msgspec.Raw(b"{}")),
    ],
)
def test_every_part_of_an_observation_distinguishes_it_from_others(field: str, value: object) -> None:
    other = msgspec.structs.replace(OBSERVATION, **{field: value})
    assert digest(other) != digest(OBSERVATION)
    assert digest(other) == digest(msgspec.structs.replace(OBSERVATION, **{field: value}))


def test_an_unreadable_line_is_reported_by_its_bytes() -> None:
    def line(raw: bytes, number: str) -> Unreadable:
        return Unreadable(Position("a", number), "not_json", "", raw)

    assert digest(line(b"x", "1")) == digest(line(b"x", "2"))
    assert digest(line(b"x", "1")) != digest(line(b"y", "1"))


class Old(msgspec.Struct, frozen=True):
    at: datetime | None = None
    names: dict[str, tuple[int, ...]] = {}


class New(msgspec.Struct, frozen=True):
    count: int = 0


def reducer(name: str, version: int, state: type[msgspec.Struct]) -> Reducer[msgspec.Struct]:
    return Reducer(name, version, "node", (NodeRecord,), state, lambda s, _: (s, ()))


states = st.builds(
    Old,
    at=st.none() | st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001  # hypothesis adds the zone
    names=st.dictionaries(st.text(), st.lists(st.integers(-(2**63), 2**63 - 1)).map(tuple)),
)


@given(st.integers(0, 2**40), st.dictionaries(st.sampled_from(["a", "b"]), states))
def test_a_log_that_is_stored_is_read_the_same(minute: int, of: dict[str, Old]) -> None:
    codec = StateCodec([reducer("a", 1, Old), reducer("b", 3, Old)])
    log = LogState(minute, dict(of))
    assert codec.decode(codec.encode(log)) == log


def test_a_state_of_another_version_or_of_no_reducer_is_dropped_and_the_others_stay() -> None:
    stored = StateCodec([reducer("a", 1, Old), reducer("b", 1, Old), reducer("c", 1, Old)]).encode(
        LogState(7, {"a": Old(T0), "b": Old(T0), "c": Old(T0)})
    )
    codec = StateCodec([reducer("a", 2, New), reducer("b", 1, Old), reducer("d", 1, Old)])
    assert codec.decode(stored) == LogState(7, {"b": Old(T0)})


def test_the_bytes_of_a_log_do_not_depend_on_the_order_in_which_states_came() -> None:
    codec = StateCodec([reducer("a", 1, Old), reducer("b", 1, Old)])
    one, other = {"a": Old(T0), "b": Old()}, {"b": Old(), "a": Old(T0)}
    assert codec.encode(LogState(1, dict(one))) == codec.encode(LogState(1, dict(other)))


def test_an_observations_digest_ignores_its_position() -> None:
    twice = observed([node("12:00:00", "n"), node("12:00:00", "n")])
    assert digest(twice[0].observation) == digest(twice[1].observation)
    assert isinstance(twice[0].observation, Observation)
