"""A capture into Kafka: what is sent where, and when."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec
import pytest

from fakes.clock import FakeClock
from fakes.publisher import Recorded
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Published, replay_into_kafka
from ingest.model.observation import Observation, Observed, Position, Unreadable
from ingest.model.records import DeadLetterRecord
from ingest.model.topics import decode_record, topics
from ingest.normalize.dead_letters import Letter

T0 = datetime(2026, 7, 1, 12, tzinfo=UTC)
TOPICS = topics("t", partitions=2)


def seen(seconds: float, resource: str = "nodes", text: bytes = b'{"metadata":{"name":"n"}}') -> Observed:
    at = T0 + timedelta(seconds=seconds)
    observation = Observation(
        ts=at, cluster="c", source="watch", resource=resource, type="ADDED", object=msgspec.Raw(text)
    )
    return Observed(observation, Position("f", str(int(seconds))), b"the line")


def replay(
    *items: Observed | Unreadable,
    speed: float | None = None,
    time: FakeClock | None = None,
    since: datetime | None = None,
) -> tuple[Recorded, Published]:
    recorded, clock = Recorded(), (time or FakeClock()).clock
    published = asyncio.run(
        replay_into_kafka(items, cast("Publisher", recorded), TOPICS, speed=speed, since=since, clock=clock)
    )
    return recorded, published


def test_a_node_goes_to_its_own_log_and_to_its_cluster_s() -> None:
    recorded, published = replay(seen(0))
    assert [(topic, key) for topic, key, *_ in recorded.sent] == [("t.nodes", b"c/n"), ("t.cluster", b"c")]
    assert [decode_record(value).node for _, _, value, *_ in recorded.sent] == ["n", ""]
    assert len({dict(headers)["ce_id"] for _, _, _, headers, _ in recorded.sent}) == 2
    assert published.records == {"NodeRecord": 2}


def inventory(seconds: float, node: str) -> Observed:
    listed = seen(seconds, "pods", b'{"keys":[]}')
    return listed._replace(observation=msgspec.structs.replace(listed.observation, type="INVENTORY", node=node))


def test_a_clusters_records_wait_until_kafka_has_the_nodes_records() -> None:
    """Else it would know of a pod's node, or pass on a list, before the node's log knows the pod."""
    recorded, published = replay(seen(0), inventory(1, ""), inventory(2, "n"), seen(3, text=b'{"metadata":7}'))
    assert published.records == {"NodeRecord": 2, "InventoryRecord": 2}
    followed = [(sent.topic, sent.follows) for sent in recorded.sent if sent.topic != "t.dead-letters"]
    assert [follows for _, follows in followed] == [False, True, True, False, True]
    assert all(follows == (topic == "t.cluster") for topic, follows in followed)


@pytest.mark.parametrize(
    ("item", "error_type"),
    [
        (seen(0, text=b'{"metadata":7}'), "wrong_type"),
        (Unreadable(Position("f", "1"), "not_json", "cut", b"the line", T0, "c"), "not_json"),
    ],
)
def test_an_unreadable_line_is_a_dead_letter_with_its_number(item: Observed | Unreadable, error_type: str) -> None:
    recorded, published = replay(item)
    [reported, (topic, key, value, headers, _)] = recorded.sent
    letter = Letter.read(headers, b"")
    assert reported[:2] == ("t.cluster", b"c")
    assert decode_record(reported[2]) == DeadLetterRecord(ts=T0, cluster="c", error_type=error_type)
    assert (topic, key, value) == ("t.dead-letters", b"c", b"the line")
    assert (letter.cluster, letter.ts, letter.error_type) == ("c", T0, error_type)
    assert letter.position.source == "f"
    assert published.dead_letters == {error_type: 1}


def test_a_line_that_comes_twice_is_sent_once_and_the_same_object_later_again() -> None:
    recorded, published = replay(seen(0), seen(0), seen(1))
    assert len(recorded.sent) == 4
    assert published.repeated == 1


def test_observations_before_since_are_left_out() -> None:
    recorded, published = replay(seen(0), seen(10), since=T0 + timedelta(seconds=10))
    assert len(recorded.sent) == 2
    assert published.outside == 1


def test_at_twice_real_time_half_the_time_passes_between_two_observations() -> None:
    time = FakeClock()
    replay(seen(0), seen(10), seen(10, "pods"), seen(30), speed=2, time=time)
    assert time.slept == [5.0, 10.0]


def test_at_full_speed_nothing_waits() -> None:
    time = FakeClock()
    replay(seen(0), seen(1000), time=time)
    assert time.slept == []
