"""Stalls as a real kubelet reports them, while memory runs short for real (rules: psi-and-swap)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.kubelet import why_no_kubelet
from components.cluster.unified import NAME, UnifiedKubelet, short_of_memory, stalled_microseconds, why_no_pressure
from components.command import rows, succeeds
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

COUNTED: Final = [("cpu", "some"), ("memory", "some"), ("memory", "full"), ("io", "some"), ("io", "full")]
SAMPLES: Final = 3
SHARES: Final = "SELECT memory_some_percent, memory_full_percent, window_seconds FROM node_stalls ORDER BY ts"


@pytest.fixture(scope="module")
def kubelet() -> Iterator[UnifiedKubelet]:
    if reason := why_no_kubelet() or why_no_pressure():
        pytest.skip(reason)
    with UnifiedKubelet() as kubelet:
        yield kubelet


def _next(kubelet: UnifiedKubelet, before: str) -> Any:
    """The node of a summary whose sample is later than `before`."""
    found: list[Any] = []

    def is_later() -> bool:
        found[:] = [kubelet.summary()["node"]]
        return bool(found[0]["memory"]["time"] > before)

    eventually("a new sample of the kubelet", is_later, every_seconds=1.0)
    return found[0]


def test_totals_are_the_kernels_microseconds(kubelet: UnifiedKubelet) -> None:
    """The kubelet's API says nanoseconds."""
    first = {each: stalled_microseconds(*each) for each in COUNTED}
    sampled = kubelet.summary()["node"]
    for _ in range(2):  # the second began after `first`
        sampled = _next(kubelet, sampled["memory"]["time"])
    for (resource, kind), least in first.items():
        total = sampled[resource]["psi"][kind]["total"]
        assert least <= total <= stalled_microseconds(resource, kind), (resource, kind)


def test_memory_that_runs_short_is_seen_as_a_share_of_the_time(kubelet: UnifiedKubelet, tmp_path: Path) -> None:
    capture = tmp_path / "capture.jsonl"
    sampled = kubelet.summary()["node"]
    lines = []
    with short_of_memory(tmp_path):
        for _ in range(SAMPLES):
            sampled = _next(kubelet, sampled["memory"]["time"])
            lines.append(_line(sampled))
    capture.write_text("".join(lines))
    succeeds("replay", capture, db=tmp_path / "db")
    first, last = (json.loads(each)["object"]["node"]["memory"]["psi"] for each in (lines[0], lines[-1]))
    some, full, seconds = rows(SHARES, tmp_path / "db")[-1]
    assert full <= some
    assert 0 < seconds <= 60
    for kind, percent in (("some", some), ("full", full)):
        stalled_seconds = (last[kind]["total"] - first[kind]["total"]) / 1e6
        assert stalled_seconds > 0.1, "memory did not run short"
        assert percent == pytest.approx(100 * stalled_seconds / seconds, rel=1e-6)


def _line(node: Any) -> str:
    """Return a line of a capture, reduced to the fields that the test is about."""
    kept = {name: node[name] for name in ("nodeName", "cpu", "memory", "io", "swap")}
    head = {"ts": node["memory"]["time"], "cluster": "lab", "source": "kubelet", "resource": "stats/summary"}
    return json.dumps({**head, "type": "SNAPSHOT", "node": NAME, "object": {"node": kept, "pods": []}}) + "\n"
