"""Occurrences of events agree with a model of the recorder (rules: event-counts, dropped-events)."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.event import Event, EventMetadata, EventSeries, EventSource, ObjectReference, event_time
from ingest.model.objects.node import Node, NodeMetadata, NodeStatus, NodeSystemInfo
from ingest.model.records import EventRecord, NodeRecord, ObjectChange
from streams.analytics import node_events
from streams.fold.findings import NodeEvent
from streams.rules.events.counting import BURST, Bucket, Counted, draw, event_count, occurrences

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TTL_SECONDS = 3600


class Version(NamedTuple):
    """A state of an Event object as a core recorder writes it, at whole seconds after T0."""

    name: str
    uid: str
    total: int
    first: int
    last: int


def event_of(version: Version) -> Event:
    return Event(
        metadata=EventMetadata(name=version.name, uid=version.uid),
        type="Normal",
        reason="Happened",
        message="it happened",
        source=EventSource(component="kubelet", host="n"),
        involved_object=ObjectReference(kind="Node", name="n"),
        first_timestamp=T0 + timedelta(seconds=version.first),
        last_timestamp=T0 + timedelta(seconds=version.last),
        count=version.total,
    )


def rows_of(deliveries: Sequence[Version]) -> list[NodeEvent]:
    """Return the analytic's counts; a name and uid that were not delivered before come as ADDED."""
    state, rows, seen = node_events.State(), [], set[tuple[str, str]]()
    for version in deliveries:
        change: ObjectChange = "MODIFIED" if (version.name, version.uid) in seen else "ADDED"
        seen.add((version.name, version.uid))
        record = EventRecord(ts=T0, cluster="c", node="n", change=change, object=event_of(version))
        state, found = node_events.step(state, record)
        rows += [row for row in found if isinstance(row, NodeEvent)]
    return rows


@st.composite
def histories(draw_: st.DrawFn) -> list[Version]:
    """Every occurrence of one event: it expires after an hour of silence, and a restart begins a new name."""
    versions: list[Version] = []
    name = uid = count = first = now = 0
    for gap, restarts in draw_(st.lists(st.tuples(st.integers(1, 2 * TTL_SECONDS), st.booleans()), max_size=20)):
        now += gap
        if restarts or not versions:
            name, uid, count, first = name + 1, uid + 1, 0, now
        elif gap > TTL_SECONDS:
            uid += 1
        count += 1
        versions.append(Version(f"e.{name}", f"uid-{uid}", count, first, now))
    return versions


def delivered(data: st.DataObject, versions: Sequence[Version]) -> list[Version]:
    """The versions as a watch may deliver them: the first and last of a name surely, others perhaps, any again."""
    sent: list[Version] = []
    perhaps = st.booleans()
    for i, version in enumerate(versions):
        is_last = i + 1 == len(versions) or versions[i + 1].name != version.name
        if version.total == 1 or is_last or data.draw(perhaps):
            sent.append(version)
        is_repeated = data.draw(perhaps)
        if is_repeated and sent:
            again = data.draw(st.integers(0, len(sent) - 1))
            sent.append(sent[again])
    return sent


@given(histories(), st.data())
def test_the_deltas_sum_to_the_true_number_when_every_beginning_and_end_was_delivered(
    versions: list[Version], data: st.DataObject
) -> None:
    rows = rows_of(delivered(data, versions))
    assert sum(row.occurrences for row in rows) == len(versions)


@given(histories(), st.data())
def test_no_more_is_counted_than_occurred_when_the_beginning_was_not_seen(
    versions: list[Version], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(versions)))
    rows = rows_of(versions[start:])
    assert sum(row.occurrences for row in rows) == len(versions) - start


@given(histories())
def test_a_first_sight_of_a_continued_count_is_a_lower_bound(versions: list[Version]) -> None:
    for version in versions:
        row = rows_of([version])[0]
        assert row.occurrences == 1
        assert row.occurrences_lower_bound == (version.total > 1)


@given(histories(), st.data())
def test_a_list_of_everything_again_adds_nothing(versions: list[Version], data: st.DataObject) -> None:
    latest = {version.name: version for version in versions}
    again = data.draw(st.permutations(list(latest.values())))
    assert rows_of([*versions, *again]) == rows_of(versions)


def test_a_deleted_event_is_remembered_and_gives_no_row() -> None:
    event = event_of(Version("e", "u", 3, 0, 9))
    added = EventRecord(ts=T0, cluster="c", node="n", change="ADDED", object=event)
    state, _ = node_events.step(node_events.State(), added)
    assert node_events.step(state, msgspec.structs.replace(added, change="DELETED")) == (state, ())


def test_the_longest_unseen_names_are_forgotten_first() -> None:
    known: dict[str, int] = {}
    for number in range(node_events.MAX_NAMES):
        known = node_events.remember(known, str(number), number)
    known = node_events.remember(known, "0", 0)
    known = node_events.remember(known, "new", 1)
    assert len(known) == node_events.MAX_NAMES
    assert "1" not in known
    assert {"0", "2", "new"} <= known.keys()


TIMES = {name: T0 + timedelta(seconds=i) for i, name in enumerate(("series", "last", "event", "first", "created"))}


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        (("series", "last", "event", "first", "created"), "series"),
        (("last", "event", "first", "created"), "last"),
        (("event", "first", "created"), "event"),
        (("first", "created"), "first"),
        (("created",), "created"),
    ],
)
@pytest.mark.parametrize("deprecated", [False, True])
def test_the_time_of_an_event_is_the_first_that_is_set(
    present: tuple[str, ...], expected: str, deprecated: bool
) -> None:
    at = {name: TIMES[name] for name in present}
    prefix = "deprecated_" if deprecated else ""
    event = Event(
        metadata=EventMetadata(name="e", creation_timestamp=at.get("created")),
        series=EventSeries(count=2, last_observed_time=at.get("series")),
        event_time=at.get("event"),
        **{f"{prefix}last_timestamp": at.get("last"), f"{prefix}first_timestamp": at.get("first")},  # type: ignore[arg-type]  # the API's two names of a time
    )
    assert event_time(event) == TIMES[expected]


def test_an_event_without_a_count_occurred_once() -> None:
    assert event_count(Event(metadata=EventMetadata(name="e"))) == 1


def test_the_count_is_that_of_the_api_that_gave_it() -> None:
    metadata = EventMetadata(name="e")
    assert event_count(Event(metadata=metadata, count=3)) == 3
    assert event_count(Event(metadata=metadata, deprecated_count=4)) == 4
    assert event_count(Event(metadata=metadata, series=EventSeries(count=5))) == 5


def test_a_count_below_the_last_is_a_restart_and_counts_whole() -> None:
    event = event_of(Version("e", "u", 2, 50, 60))
    found = occurrences(event, added=False, before=Counted("u", 5, 10.0), now=Counted("u", 2, 60.0))
    assert found == (2, False)


def test_a_series_and_an_aggregate_are_lower_bounds() -> None:
    series = Event(metadata=EventMetadata(name="e"), series=EventSeries(count=4))
    before, now = Counted("u", 2, 0.0), Counted("u", 4, 9.0)
    assert occurrences(series, added=False, before=before, now=now) == (2, True)
    combined = Event(metadata=EventMetadata(name="e"), message="(combined from similar events): it happened", count=4)
    assert occurrences(combined, added=False, before=before, now=now) == (2, True)


@given(st.lists(st.tuples(st.floats(0, 2000), st.integers(1, 30)), max_size=30))
def test_the_bucket_is_never_below_empty_nor_above_its_burst_and_refills_one_in_five_minutes(
    draws: list[tuple[float, int]],
) -> None:
    bucket, now = None, 0.0
    for gap, count in draws:
        now += gap
        before = Bucket(BURST, now) if bucket is None else bucket
        bucket = draw(bucket, now, count)
        expected = min(25.0, before.tokens + (now - before.at) / 300) - count
        assert bucket.tokens == pytest.approx(max(0.0, expected))
        assert bucket.at == now


def test_an_earlier_event_takes_a_token_and_refills_none() -> None:
    assert draw(Bucket(3.0, 100.0), 50.0, 1) == Bucket(2.0, 100.0)


@pytest.mark.parametrize(("version", "shared"), [("v1.31.9", True), ("v1.32.0", False), ("", True)])
def test_until_1_32_normal_events_empty_the_bucket_of_warnings_too(version: str, shared: bool) -> None:
    state = node_events.State()
    node = Node(metadata=NodeMetadata(name="n"), status=NodeStatus(node_info=NodeSystemInfo(kubelet_version=version)))
    state, _ = node_events.step(state, NodeRecord(ts=T0, cluster="c", node="n", change="ADDED", object=node))
    for number in range(int(BURST)):
        event = event_of(Version(f"normal.{number}", f"u{number}", 1, 0, 0))
        state, _ = node_events.step(state, EventRecord(ts=T0, cluster="c", node="n", change="ADDED", object=event))
    warning = msgspec.structs.replace(event_of(Version("warning", "w", 1, 1, 1)), type="Warning")
    _, (row,) = node_events.step(state, EventRecord(ts=T0, cluster="c", node="n", change="ADDED", object=warning))
    assert isinstance(row, NodeEvent)
    assert row.occurrences_lower_bound == shared
