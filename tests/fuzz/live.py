"""Fuzzes the answers of API servers and kubelets that the watcher reads: lines of watches, whole answers."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from common.clock import SYSTEM
from fuzz.target import Target, objects
from ingest.apiserver.changes import Changes, Step
from ingest.apiserver.watch_events import StreamError, read_event, read_oversized
from ingest.files.envelope import encode_line
from ingest.kubelet import poll as kubelet
from ingest.kubelet.access import kubelet_address
from ingest.model.observation import UNDECODABLE, Observation
from ingest.normalize.dead_letters import EPOCH
from ingest.normalize.normalize import normalize
from ingest.normalize.redact import redact
from ingest.resources.kubelet import CONFIGZ, METRICS
from ingest.resources.table import WATCHED


def check_watch(data: bytes) -> None:
    """A line of a watch is an event of whatever object, or raises what is documented; each step can be written."""
    resource = WATCHED[sum(data[:1]) % len(WATCHED)]
    changes = Changes(resource, "c", SYSTEM, Counter(), lambda _, node: kubelet_address(node) and None)
    steps = changes.oversized(read_oversized(data[1:], len(data)), "")
    try:
        event = read_event(data[1:])
    except (StreamError, *UNDECODABLE):
        event = None
    if event is not None:
        steps += changes.watched(event, "")
    key, listed = changes.listed(msgspec.Raw(data[1:]))
    _written([*steps, *listed, *changes.vanished([key], "9"), *changes.vanished([], "9")])


def check_kubelet(data: bytes) -> None:
    """A kubelet's answer becomes one line, or is told as what it is not; its metrics are text whatever they are."""
    try:
        decoded = kubelet._decoded(CONFIGZ, data)
        reported = Observation(
            ts=EPOCH,
            cluster="c",
            source="kubelet",
            resource=CONFIGZ.name,
            type="SNAPSHOT",
            node="n",
            object=msgspec.Raw(data),
        )
        records = normalize(reported, decoded) if decoded else []
        assert records == (normalize(reported) if decoded else [])
        line = encode_line(reported)
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
    except kubelet._Unreadable as error:
        assert str(error)
    assert msgspec.json.decode(METRICS.read(data), type=dict[str, str])


def _written(steps: Iterable[Step]) -> None:
    for step in steps:
        if step.observation is not None:
            encode_line(redact(step.observation))


def _events() -> Iterable[bytes]:
    for at, each in enumerate(objects()):
        yield bytes([at % len(WATCHED)]) + b'{"type":"MODIFIED","object":' + each + b"}"
        yield bytes([at % len(WATCHED)]) + each


TARGETS: Final = (
    Target("watch", check_watch, _events),
    Target("kubelet", check_kubelet, lambda: [*objects(), b"kubelet_evictions 1\n# HELP x y\n"]),
)
