"""Times of objects, where they can be and where not."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any, Final, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.base import Condition
from ingest.model.objects.event import Event, EventMetadata, EventSeries
from ingest.model.objects.node import Node, NodeMetadata, NodeStatus
from ingest.model.objects.pod import ContainerState, ContainerStatus, ContainerTerminated, Pod, PodMetadata, PodStatus
from ingest.model.records import EventRecord, NodeRecord, PodRecord, PublishedRecord, Record, RejectionRecord
from ingest.normalize.times import AHEAD, BEHIND, EVENTS_BEHIND, with_possible_times

SEEN: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
NINE_THOUSAND: Final = datetime.max.replace(tzinfo=UTC)


def event(**times: Any) -> EventRecord:
    return EventRecord(ts=SEEN, cluster="c", change="ADDED", object=Event(metadata=EventMetadata("e"), **times))


def node(*since: datetime | None) -> NodeRecord:
    conditions = [Condition(type="Ready", status="True", last_transition_time=each) for each in since]
    of = Node(metadata=NodeMetadata("n"), status=NodeStatus(conditions=conditions))
    return NodeRecord(ts=SEEN, cluster="c", change="ADDED", object=of)


def pod(deleted: datetime | None, finished: datetime | None) -> PodRecord:
    state = ContainerState(terminated=ContainerTerminated(finished_at=finished))
    status = PodStatus(container_statuses=[ContainerStatus("a"), ContainerStatus("b", last_state=state)])
    of = Pod(metadata=PodMetadata("p", deletion_timestamp=deleted), status=status)
    return PodRecord(ts=SEEN, cluster="c", change="MODIFIED", object=of)


def test_what_can_be_is_the_very_same_record() -> None:
    for record in (event(event_time=SEEN), node(SEEN - timedelta(days=3650), None), pod(SEEN, SEEN)):
        assert with_possible_times(record) == (record, None)
        assert with_possible_times(record)[0] is record


@pytest.mark.parametrize(
    "far", [NINE_THOUSAND, SEEN + AHEAD + timedelta(seconds=1), SEEN - BEHIND - timedelta(days=1)]
)
def test_what_cannot_be_is_unknown_and_named_and_all_else_is_kept(far: datetime) -> None:
    found, error = with_possible_times(node(SEEN, far))
    assert found == node(SEEN, None)
    assert error is not None
    assert error.error_type == "impossible_time"
    assert str(error).startswith(f"last_transition_time {far.isoformat()}: impossible")


def test_an_event_is_no_older_than_a_year() -> None:
    old, older = SEEN - EVENTS_BEHIND, SEEN - EVENTS_BEHIND - timedelta(seconds=1)
    found, _ = with_possible_times(event(last_timestamp=old, series=EventSeries(2, older)))
    assert found == event(last_timestamp=old, series=EventSeries(2))


def test_a_deletion_in_the_future_is_one_still() -> None:
    found, error = with_possible_times(pod(NINE_THOUSAND, None))
    assert found == pod(SEEN, None)
    assert error is not None


def test_a_bound_in_the_future_is_one_still() -> None:
    """A text of another day is printed later than all that lies beside it."""
    bounded = event(last_timestamp=NINE_THOUSAND)
    bounded = msgspec.structs.replace(bounded, object=msgspec.structs.replace(bounded.object, latest=NINE_THOUSAND))
    found, _ = with_possible_times(bounded)
    assert (found.object.last_timestamp, found.object.latest) == (None, SEEN)


def test_a_time_that_a_record_must_have_is_that_of_its_observation() -> None:
    of = {"target": "n", "namespace": "d", "uid": "u", "reason": "r", "message": ""}
    record = RejectionRecord(ts=SEEN, cluster="c", rejected_at=NINE_THOUSAND, **of)
    found, _ = with_possible_times(record)
    assert found.rejected_at == SEEN


@pytest.mark.parametrize("never", [datetime(1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 0, 9, tzinfo=UTC)])
def test_never_and_no_clock_are_unknown_and_nothing_is_wrong(never: datetime) -> None:
    assert with_possible_times(pod(None, never)) == (pod(None, None), None)


def test_a_time_without_a_zone_is_in_utc() -> None:
    assert with_possible_times(event(event_time=SEEN.replace(tzinfo=None))) == (event(event_time=SEEN), None)


@given(
    st.datetimes(),
    st.none() | st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    st.sampled_from([datetime(1970, 1, 1, tzinfo=UTC), SEEN, datetime(2199, 12, 31, tzinfo=UTC)]),
)
def test_any_time_is_around_its_observation_in_utc_or_unknown(time: datetime, zone: Any, seen: datetime) -> None:
    given_ = msgspec.structs.replace(event(event_time=time.replace(tzinfo=zone)), ts=seen)
    found, _ = with_possible_times(given_)
    at = found.object.event_time
    assert at is None or (at.tzinfo is UTC and seen - EVENTS_BEHIND <= at <= seen + AHEAD)
    assert with_possible_times(found) == (found, None)


def _open(info: msgspec.inspect.Type, path: str, seen: tuple[Any, ...] = ()) -> Iterator[str]:
    """Return the integers of a type that have no bounds."""
    match info:
        case msgspec.inspect.IntType(ge=low, le=high):
            if low is None or high is None:
                yield path
        case msgspec.inspect.StructType(cls=cls, fields=fields) if cls not in seen:
            for field in fields:
                yield from _open(field.type, f"{path}.{field.name}", (*seen, cls))
        case msgspec.inspect.UnionType(types=types):
            for each in types:
                yield from _open(each, path, seen)
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            yield from (*_open(key, f"{path}[]", seen), *_open(value, f"{path}{{}}", seen))
        case msgspec.inspect.ListType(item_type=item) | msgspec.inspect.VarTupleType(item_type=item):
            yield from _open(item, f"{path}[]", seen)


@pytest.mark.parametrize("record", get_args(PublishedRecord), ids=lambda record: record.__name__)
def test_every_integer_of_a_record_is_bounded(record: type[Record]) -> None:
    """One that is wider than 64 bits would be in a state that cannot be encoded."""
    assert list(_open(msgspec.inspect.type_info(record), record.__name__)) == []
