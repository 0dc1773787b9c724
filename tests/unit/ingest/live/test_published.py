"""Kafka gets the watched objects without credentials, and each is decoded once."""

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import msgspec
import pytest
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM
from common.scrub import REDACTED
from fakes.apiserver import Answer, FakeApiServer, event, listing, pod, watching
from fakes.clock import FakeClock
from fakes.publisher import Recorded
from ingest.apiserver.changes import Changes
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.watch_events import read_event
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Feed
from ingest.kubelet.poll import Kubelets, _Kubelet
from ingest.kubelet.settings import KubeletSettings
from ingest.live.forward import Watching
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.messages.modes import Redact, withheld
from ingest.model.topics import topics
from ingest.normalize.redact import Received
from ingest.resources.events import EVENTS
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.nodes import NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from ingest.resources.table import POLLED
from waiting import until

CANARY = "canary-2b70d1"
URL = f"https://user:{CANARY}@registry.example/a"
TOLD = f"cannot pull https://{REDACTED}@registry.example/a, token={REDACTED}"
"""The same text without its credentials."""
WITH_CREDENTIALS = f"cannot pull {URL}, token={CANARY}"
WITHOUT_CREDENTIALS = "cannot pull https://[redacted]@registry.example/a, token=[redacted]"


def _pod() -> dict[str, Any]:
    condition = {"type": "Ready", "status": "False", "message": WITH_CREDENTIALS}
    thing = pod("a", "3", node="n1", message=WITH_CREDENTIALS, conditions=[condition])
    thing["metadata"]["annotations"] = {"scheduling.koordinator.sh/resource-status": WITH_CREDENTIALS, "x": CANARY}
    thing["spec"]["containers"][0] |= {"env": [{"name": "A", "value": CANARY}], "args": [CANARY], "image": URL}
    return thing


def _node() -> dict[str, Any]:
    condition = {"type": "Ready", "status": "False", "message": WITH_CREDENTIALS}
    return {"metadata": {"name": "n1", "resourceVersion": "3"}, "status": {"conditions": [condition]}}


def _event() -> dict[str, Any]:
    about = {"kind": "Node", "name": "n1"}
    return {
        "metadata": {"name": "e", "resourceVersion": "3"},
        "involvedObject": about,
        "message": WITH_CREDENTIALS,
        "note": WITH_CREDENTIALS,
    }


def _topology() -> dict[str, Any]:
    annotations = {"node.koordinator.sh/cpu-topology": WITH_CREDENTIALS, "x": CANARY}
    return {"metadata": {"name": "n1", "resourceVersion": "3", "annotations": annotations}}


OBJECTS: dict[str, dict[str, Any]] = {
    NODES.name: _node(),
    PODS.name: _pod(),
    EVENTS.name: _event(),
    NODE_RESOURCE_TOPOLOGIES.name: _topology(),
}


@asynccontextmanager
async def _server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as server:
        for resource in (NODES, PODS, EVENTS, NODE_RESOURCE_TOPOLOGIES):
            server.script[resource.paths[0]] = [listing("5", [OBJECTS[resource.name]]), watching()]
        proxy = "/api/v1/nodes/n1/proxy"
        server.script[f"{proxy}/stats/summary"] = [Answer(b'{"node":{}}')]
        server.script[f"{proxy}/metrics"] = [Answer(b"kubelet_evictions 1\n")]
        configuration = {"evictionPressureTransitionPeriod": URL, "staticPodURLHeader": {"Authorization": [CANARY]}}
        server.script[f"{proxy}/configz"] = [Answer(msgspec.json.encode({"kubeletconfig": configuration}))]
        yield server


@pytest.mark.parametrize(
    ("redact", "kept"),
    [
        ("strict", withheld(WITHOUT_CREDENTIALS)),
        ("credentials", WITHOUT_CREDENTIALS),
    ],
)
@pytest.mark.asyncio
async def test_no_message_of_a_watched_cluster_holds_a_credential_and_texts_stay_readable(
    redact: Redact, kept: str
) -> None:
    recorded = Recorded()
    kinds = {
        b"node",
        b"pod",
        b"pod_placement",
        b"event",
        b"noderesourcetopology",
        b"summary",
        b"metrics",
        b"settings",
    }

    def seen() -> set[bytes]:
        return {dict(sent.headers)["kind"] for sent in recorded.sent}

    async with _server() as server:
        access = Configuration()
        access.host = server.url
        settings = LiveSettings(kubelet=KubeletSettings(access="proxy", summary_seconds=0.05), redact=redact)
        live = Live(settings, access)
        stop = asyncio.Event()
        publish = Feed(cast("Publisher", recorded), topics(), strict=settings.strict).publish
        run = asyncio.ensure_future(Watching(live, publish).run(stop))
        await until(lambda: seen() >= kinds)
        stop.set()
        await run
    for sent in recorded.sent:
        assert CANARY.encode() not in b" ".join([sent.key, sent.value, repr(sent.headers).encode()])
    by_kind = {dict(sent.headers)["kind"]: sent.value for sent in recorded.sent}
    assert TOLD.encode() in by_kind[b"noderesourcetopology"]
    for kind in (b"node", b"pod", b"event"):
        assert kept.encode() in by_kind[kind]


def decodes(work: Callable[[], object]) -> Counter[str]:
    """Count JSON decodings of msgspec, by the function that calls it."""
    counted = Counter[str]()

    def count(frame: Any, what: str, called: Any) -> None:
        if what != "c_call":
            return
        method = called.__name__ == "decode" and isinstance(called.__self__, msgspec.json.Decoder)
        if method or called is msgspec.json.decode:
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted


@pytest.mark.parametrize(
    "resource", [NODES, PODS, EVENTS, NODE_RESOURCE_TOPOLOGIES], ids=lambda resource: resource.name
)
def test_a_watched_object_is_decoded_once_until_it_is_a_record(resource: ApiResource[Any]) -> None:
    """Beside it the line is read once, to find the object in it."""
    line = event("ADDED", OBJECTS[resource.name])
    changes = Changes(resource, "lab", SYSTEM, Counter(), lambda *_: None)
    records: list[Any] = []

    def watch() -> None:
        for step in changes.watched(read_event(line), ""):
            assert step.observation is not None
            records.extend(Received(step.observation, step.decoded).normalize_with_warning()[0])

    counted = decodes(watch)
    assert records
    assert counted == {"read_event": 1, next(name for name in counted if name != "read_event"): 1}
    assert decodes(lambda: changes.watched(read_event(line), "")).total() == 2


async def _answered(resource: str, body: bytes) -> list[Any]:
    """A kubelet's answer becomes records, with the others of its round."""
    taken: list[Received] = []
    answers = {"stats/summary": b'{"node":{}}', "metrics": b"", "configz": b'{"kubeletconfig":{}}', resource: body}

    async def fetch(_: str, path: str) -> bytes:
        return answers[path]

    async def emit(received: Received) -> None:
        taken.append(received)

    kubelets = Kubelets(fetch, Emitter("lab", emit, FakeClock().clock, Counter()))
    kubelet = _Kubelet("n1", FakeClock().clock)
    for each in POLLED:
        await kubelets._ask_where_due(kubelet, each)
    return [
        record
        for received in taken
        if received.resource == resource
        for record in received.normalize_with_warning()[0]
    ]


@pytest.mark.parametrize(
    ("resource", "body"),
    [("stats/summary", b'{"node":{"nodeName":"n1"},"pods":[]}'), ("configz", b'{"kubeletconfig":{"maxPods":3}}')],
)
def test_an_answer_of_a_kubelet_is_decoded_once(resource: str, body: bytes) -> None:
    records: list[Any] = []
    counted = decodes(lambda: records.extend(asyncio.run(_answered(resource, body))))
    assert records
    others = 2  # the other resources of a round, which are decoded as they come
    assert counted.total() == 1 + others
