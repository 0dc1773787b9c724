"""One object stops nothing: who may create Events in a namespace of their own, or is a kubelet, writes anything."""

import gzip
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any

import msgspec
import pytest

from components.captures import Json, configz, event, node, observed, pod
from ingest.model.records import DeadLetterRecord, EventRecord, Record
from ingest.normalize.decode import Decoded, decode
from ingest.normalize.times import AHEAD, EVENTS_BEHIND
from paths import NODE_PRESSURE
from streams.analytics.registry import REDUCERS
from streams.fold.findings import DeadLetter, Eviction, NodeEvent, NodeRow, PodBinding, PressureChange
from streams.fold.reducer import AnyReducer, Output, Reducer
from streams.local.replay import Replay, ReplayReport
from unit.streams.local.memory import MemoryDatabase


def replayed(*lines: Json, reducers: Sequence[AnyReducer] = REDUCERS) -> tuple[MemoryDatabase, ReplayReport]:
    database = MemoryDatabase()
    report = Replay(reducers, database, database.checkpoints).run(map(decode, observed(lines)))
    return database, report


def letters(database: MemoryDatabase) -> list[tuple[str, str]]:
    return [(each.error_type, each.reason) for each in database.of(DeadLetter)]


def dated(number: int, reason: str, message: str, **times: Any) -> Json:
    """An Event that occurred whenever who created it says."""
    made = event(f"12:00:{number % 60:02d}", f"x.{number}", reason, message, node="n", uid=f"u{number}")
    made["object"] |= {"firstTimestamp": None, "lastTimestamp": None, "eventTime": None} | times
    return made


EVICTED = "The node had condition: [DiskPressure]. "
NO_CPU = "0/2 nodes are available: 2 Insufficient cpu."


@pytest.mark.parametrize(
    "poison",
    [
        dated(1, "Evicted", EVICTED, firstTimestamp="9999-12-31T23:59:59Z", lastTimestamp="9999-12-31T23:59:59Z"),
        dated(1, "FailedScheduling", NO_CPU, eventTime="0001-01-01T00:00:01.000000Z"),
        dated(1, "NodeHasDiskPressure", "x", lastTimestamp="9999-12-31T23:59:59-23:59"),
        dated(1, "FreeDiskSpaceFailed", "x", series={"count": 2, "lastObservedTime": "0001-01-02T00:00:00Z"}),
        dated(1, "Rebooted", "x", lastTimestamp="1999-12-31T23:59:59"),
        node("12:00:01", "n", pressure={"DiskPressure": "12:00:00"}, since="9999", spec={}),
    ],
    ids=["year 9999", "year 1", "year 10000 in UTC", "a series", "no zone", "a node's condition"],
)
def test_an_object_with_an_impossible_time_is_used_without_it_and_dead_lettered(poison: Json) -> None:
    if poison["resource"] == "nodes":
        for condition in poison["object"]["status"]["conditions"]:
            condition["lastTransitionTime"] = "9999-12-31T23:59:59Z"
    database, report = replayed(
        node("11:59:00", "n"), poison, event("12:01:00", "after", "Rebooted", "x", node="n"), node("12:02:00", "n")
    )
    assert "after" in {each.name for each in database.of(NodeEvent)}
    assert set(report.dead_letters) == {"impossible_time"}
    assert all("impossible for an observation at 2026-" in reason for _, reason in letters(database))
    times = [value for row in database.rows.values() for value in row if isinstance(value, datetime)]
    assert max(times) - min(times) < timedelta(days=1), "each is around the observations"


def test_an_unset_time_is_not_a_dead_letter() -> None:
    """Times that Go writes for zero, and a kubelet for a container that never ran."""
    never = [
        dated(number, "Rebooted", "x", lastTimestamp=each)
        for number, each in enumerate(("0001-01-01T00:00:00Z", "1970-01-01T00:00:00Z"))
    ]
    database, report = replayed(*never)
    assert not report.dead_letters
    assert {each.ts for each in database.of(NodeEvent)} <= {each.observed_at for each in database.of(NodeEvent)}


def test_events_of_four_centuries_are_rows_of_thirteen_months() -> None:
    months = [f"{year}-{month:02d}-05T00:00:00Z" for year in range(1900, 2300) for month in range(1, 13)]
    database, _ = replayed(*(dated(at, "Rebooted", "x", lastTimestamp=each) for at, each in enumerate(months)))
    rows = database.of(NodeEvent)
    assert len(rows) == len(months)
    assert len({(each.ts.year, each.ts.month) for each in rows}) <= 13
    assert all(each.observed_at - EVENTS_BEHIND <= each.ts <= each.observed_at + AHEAD for each in rows)


def test_a_deletion_dated_in_the_distant_future_is_still_a_deletion() -> None:
    """A pod's grace period can be as long as whoever creates it likes."""
    deleted = pod("12:00:01", "p", "n", metadata={"deletionTimestamp": "2290-01-01T00:00:00Z"})
    database, _ = replayed(pod("12:00:00", "p", "n"), deleted)
    assert [each.deletion_asked_at for each in database.of(PodBinding)][-1]


@pytest.mark.parametrize("number", [2**31, 2**62, 2**63, 2**64, 10**30, -(2**63) - 1])
@pytest.mark.parametrize("field", ["containerLogMaxFiles", "maxPods", "evictionMaxPodGracePeriod"])
def test_settings_with_an_impossible_number_are_dead_lettered(field: str, number: int) -> None:
    poison = configz("12:00:00", "evil", containerLogMaxSize="10Mi") | {}
    poison["object"]["kubeletconfig"][field] = number
    database, report = replayed(poison, event("12:01:00", "after", "Rebooted", "x", node="n"))
    assert [each.name for each in database.of(NodeEvent)] == ["after"]
    assert report.dead_letters == {"wrong_type": 1}


@pytest.mark.parametrize("number", [2**64, 10**30])
@pytest.mark.parametrize(
    "path", [("status", "capacity", "cpu"), ("spec", "x"), ("status", "allocatable", "ephemeral-storage")]
)
def test_an_item_is_encoded_for_another_process_whatever_its_numbers(path: tuple[str, ...], number: int) -> None:
    poison = node("12:00:00", "n")
    inner = poison["object"]
    for key in path[:-1]:
        inner = inner.setdefault(key, {})
    inner[path[-1]] = number
    (item,) = map(decode, observed([poison]))
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(item), type=Decoded) == item


def test_poison_between_real_observations_changes_no_other_row() -> None:
    lines = [json.loads(line) for line in gzip.decompress(NODE_PRESSURE.read_bytes()).splitlines()[:300]]
    at, cluster = lines[150]["ts"], lines[0]["cluster"]
    poison = dated(1, "FailedScheduling", NO_CPU, eventTime="0001-01-01T00:00:01Z") | {"ts": at, "cluster": cluster}
    poison["object"]["source"] = {"component": "default-scheduler"}
    poison["object"]["involvedObject"] = {"kind": "Pod", "namespace": "tenant", "name": "x", "uid": "u-x"}
    whole, _ = replayed(*lines)
    poisoned, _ = replayed(*lines[:150], poison, *lines[150:])
    kinds = (NodeRow, Eviction, PressureChange)
    assert set(map(repr, chain(*map(poisoned.of, kinds)))) == set(map(repr, chain(*map(whole.of, kinds))))


class Seen(msgspec.Struct, frozen=True):
    events: int = 0


def failing(on: type[Record], log: str = "node") -> Reducer[Seen]:
    def step(_: Seen, record: Record) -> tuple[Seen, Sequence[Output]]:
        raise ZeroDivisionError(type(record).__name__)

    return Reducer("failing", 1, log, (on,), Seen, step)  # type: ignore[arg-type]  # a literal


def test_a_record_that_a_reducer_fails_on_is_dead_lettered_and_a_later_run_continues() -> None:
    lines = [event(f"12:0{minute}:00", f"e{minute}", "Rebooted", "x", node="n") for minute in range(4)]
    database, report = replayed(*lines[:2], reducers=[failing(EventRecord), *REDUCERS])
    again = Replay([failing(EventRecord), *REDUCERS], database, database.checkpoints).run(
        map(decode, observed(lines))
    )
    assert (report.dead_letters, again.dead_letters) == ({"reducer_failed": 2}, {"reducer_failed": 2})
    assert len(database.of(NodeEvent)) == len(lines)
    error_type, reason = letters(database)[0]
    assert error_type == "reducer_failed"
    assert reason.startswith("failing failed at test_poison.py:")
    assert reason.endswith("ZeroDivisionError: EventRecord")


def test_a_failure_on_a_dead_letter_creates_no_further_ones() -> None:
    poison = dated(1, "Evicted", EVICTED, lastTimestamp="9999-12-31T23:59:59Z")
    _, report = replayed(poison, reducers=[*REDUCERS, failing(DeadLetterRecord, "cluster")])
    assert report.dead_letters == {"impossible_time": 1, "reducer_failed": 1}
