"""An observation of a live source is sent on its log, under its name; a bad one is a dead letter."""

import asyncio
import json
from collections import Counter
from typing import Any

import msgspec
import pytest

from fakes.apiserver import pod
from fakes.clock import START
from ingest.apiserver.leader import new_identity
from ingest.kafka.replay import Feed
from ingest.kafka.settings import KafkaSettings
from ingest.live.settings import ElectionSettings, LiveSettings
from ingest.model.observation import Observation
from ingest.model.topics import Headers
from ingest.normalize.dead_letters import Letter
from ingest.normalize.redact import Received
from leadsman.run.watch import lease_name

pytestmark = pytest.mark.asyncio

KAFKA = KafkaSettings(topic_prefix="Lead_1.x")


class _Sent:
    """A publisher in memory."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, bytes, Any, dict[str, bytes], Headers]] = []
        self.dead_letters: Counter[str] = Counter()

    async def send(
        self, topic: str, key: bytes, value: bytes, headers: Headers, *, follows: bool = False
    ) -> asyncio.Future[None]:
        assert follows == (topic == KAFKA.topics().cluster.name)
        self.messages.append((topic, key, json.loads(value), dict(headers), headers))
        return asyncio.get_running_loop().create_future()


async def _sent(thing: Any, resource: str = "pods") -> _Sent:
    sent = _Sent()
    raw = msgspec.Raw(json.dumps(thing).encode())
    observation = Observation(ts=START, cluster="lab", source="watch", resource=resource, type="ADDED", object=raw)
    publish = Feed(sent, KAFKA.topics()).publish  # type: ignore[arg-type]  # all that a Feed asks of it
    acknowledgements = await publish(Received(observation))
    assert len(acknowledgements) == len(sent.messages)
    return sent


async def test_a_bound_pod_is_on_its_nodes_log_and_its_placement_on_the_clusters() -> None:
    sent = await _sent(pod("a", "3", node="n1"))
    assert [(topic, key, headers["kind"]) for topic, key, _, headers, _ in sent.messages] == [
        ("Lead_1.x.nodes", b"lab/n1", b"pod"),
        ("Lead_1.x.cluster", b"lab", b"pod_placement"),
    ]


async def test_the_same_observation_has_the_same_names_again_and_another_has_others() -> None:
    once, again = await _sent(pod("a", "3", node="n1")), await _sent(pod("a", "3", node="n1"))
    other = await _sent(pod("a", "4", node="n1"))
    ids = [[headers["ce_id"] for _, _, _, headers, _ in sent.messages] for sent in (once, again, other)]
    assert ids[0] == ids[1]
    assert len({*ids[0], *ids[2]}) == 4


async def test_an_object_of_a_shape_that_cannot_be_is_a_dead_letter_with_its_cause() -> None:
    broken = {"metadata": {"name": "a"}, "spec": {"containers": "none"}}
    sent = await _sent(broken)
    (told_to, _, reported, _, _), (topic, _, value, _, headers) = sent.messages
    assert (told_to, reported["kind"], reported["error_type"]) == ("Lead_1.x.cluster", "dead_letter", "wrong_type")
    letter = Letter.read(headers, b"")
    assert topic == "Lead_1.x.dead-letters"
    assert value == broken
    assert (letter.cluster, letter.ts, letter.error_type) == ("lab", START, "wrong_type")
    assert letter.position.source == "live/pods"


async def test_each_leadsman_of_a_cluster_has_a_lease_of_its_own_that_kubernetes_can_name() -> None:
    assert lease_name(KAFKA, LiveSettings()) == ("default", "lead-1.x-watch")
    given = LiveSettings(election=ElectionSettings(namespace="ops", name="mine"))
    assert lease_name(KAFKA, given) == ("ops", "mine")


async def test_two_processes_never_have_the_same_identity() -> None:
    assert new_identity() != new_identity()
