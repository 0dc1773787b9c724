"""Image GC of a real kubelet deletes for space, frees too little, and no Event reports it (rules: dropped-events).

Each pod whose sandbox fails takes a token of the node's warnings at every try. LEADSMAN_PULLS=long: half an hour.
"""

import json
import os
import time
from pathlib import Path
from typing import Final

import pytest

from components.cluster.image import IMAGE
from components.cluster.kubelet import RealNode
from components.cluster.registry import running_registry
from components.command import leadsman_process, rows, succeeds
from integration.cluster.node_story import captured, exists, restored, watch_flags
from waiting import eventually, lasting

pytestmark = [
    pytest.mark.components("cluster"),
    pytest.mark.skipif(os.environ.get("LEADSMAN_PULLS") != "long", reason="takes half an hour: LEADSMAN_PULLS=long"),
]

REGISTRY: Final = "registry.example"
LOOPED: Final = f"{REGISTRY}/looped:1"
KEEPER: Final = "gc-keeper"
"""It uses the pause image, which image GC would delete (rules: recorded-behaviour)."""
FIRST: Final = "gc-first"
BESIDE: Final = "gc-beside"
AGAIN: Final = "gc-again"
SANDBOXLESS: Final = ("gc-sandboxless-1", "gc-sandboxless-2", "gc-sandboxless-3", "gc-sandboxless-4")
PODS: Final = (KEEPER, FIRST, BESIDE, AGAIN, *SANDBOXLESS)

DEFAULTS: Final = {"imageGCHighThresholdPercent": 99, "imageGCLowThresholdPercent": 98, "imageMinimumGCAge": "2m"}
EVENTS: Final = "/api/v1/namespaces/default/events"
ABOVE_NOW_PERCENT: Final = 2
FILLED_PERCENT: Final = 4
"""Beyond the threshold by two percent: others on this machine write and delete too."""
BUCKET: Final = 25
TOKEN_SECONDS: Final = 300
BESIDE_RUN_SECONDS: Final = 40
"""The bucket is drained after it was full again, and so gets its tokens this long after each run of image GC. Else
both have come every 5 min since the kubelet's start, and image GC takes each token."""
ROLL_UP_SECONDS: Final = 300
"""Resolution of a roll-up: within five minutes, it is unknown when usage was below the threshold."""
RUN_SECONDS: Final = 330
"""Image GC runs every 5 min."""
ABOVE_SECONDS: Final = 17 * 60
"""More than the 16 min after which it is concluded."""
EVERY_SECONDS: Final = 15


def image_file_system(node: RealNode) -> tuple[int, int]:
    """Percent used as image GC counts them, and the capacity in bytes."""
    found = json.loads(node.ask("/stats/summary"))["node"]["runtime"]["imageFs"]
    return 100 - found["availableBytes"] * 100 // found["capacityBytes"], found["capacityBytes"]


def make(node: RealNode, pod: str, image: str, **spec: object) -> None:
    policy = "Never" if image == IMAGE else "IfNotPresent"
    container = {"name": "w", "image": image, "imagePullPolicy": policy, "args": ["wait"]}
    body = {
        "metadata": {"name": pod},
        "spec": {"containers": [container], "terminationGracePeriodSeconds": 1, **spec},
    }
    node.cluster.request("POST", "/api/v1/namespaces/default/pods", body)


def run(node: RealNode, pod: str, image: str) -> None:
    """Without cluster DNS, which this node lacks: its absence would take a token."""
    make(node, pod, image, dnsPolicy="Default")
    node.await_phase(pod, "Running")


def use_and_leave(node: RealNode) -> None:
    """LOOPED is pulled, found present by a second pod, and no longer used."""
    run(node, FIRST, LOOPED)
    run(node, BESIDE, LOOPED)
    for pod in (FIRST, BESIDE):
        node.cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}")
    eventually("the pods are gone", lambda: not any(exists(node, pod) for pod in (FIRST, BESIDE)))


def drain(node: RealNode) -> None:
    """Pods whose sandbox no runtime can make: each try is a warning of the node too, for it has no cluster DNS."""
    runtime = {"metadata": {"name": "nowhere"}, "handler": "nowhere"}
    node.cluster.request("POST", "/apis/node.k8s.io/v1/runtimeclasses", runtime)
    for pod in SANDBOXLESS:
        make(node, pod, IMAGE, runtimeClassName="nowhere")
    eventually("the bucket is empty", lambda: warnings_of_the_node(node) > BUCKET, every_seconds=1)


def warnings_of_the_node(node: RealNode) -> int:
    """Return the number of Events that the kubelet emitted; each takes a token."""
    found = node.cluster.request("GET", EVENTS)["items"]
    of_node = [each for each in found if each["involvedObject"]["kind"] == "Node" and each["type"] == "Warning"]
    return sum(each["count"] for each in of_node if each["source"].get("component") == "kubelet")


def await_deletion(node: RealNode) -> None:
    """Returns when image GC has deleted what no pod uses."""

    def is_deleted() -> bool:
        return not node.containerd.has_image(LOOPED)

    eventually("image GC deletes the image", is_deleted, timeout_seconds=2 * RUN_SECONDS, every_seconds=5)


@pytest.fixture(scope="module")
def recording(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture while image GC could not come below its threshold."""
    folder = tmp_path_factory.mktemp("unreported")
    recording = folder / "capture"
    flags = [*watch_flags(real_node), f"--every={EVERY_SECONDS}"]
    capture = leadsman_process("capture", f"--output={recording}", *flags, folder=folder)
    ballast = real_node.folder / "ballast"
    with running_registry("looped:1") as registry, restored(real_node, PODS):
        real_node.containerd.mirror(REGISTRY, registry.url)
        used, capacity = image_file_system(real_node)
        high = used + ABOVE_NOW_PERCENT
        thresholds = {"imageGCHighThresholdPercent": high, "imageGCLowThresholdPercent": used - 1}
        started = time.monotonic()
        real_node.restart_kubelet({**thresholds, "imageMinimumGCAge": "1s"})
        capture.start()
        try:
            capture.await_ready(lambda: captured(recording, '"BOOKMARK"') > 0 < captured(recording, '"configz"'))
            run(real_node, KEEPER, IMAGE)
            use_and_leave(real_node)
            full_again = started + warnings_of_the_node(real_node) * TOKEN_SECONDS
            lasting(full_again + BESIDE_RUN_SECONDS - time.monotonic())
            drain(real_node)
            with ballast.open("wb") as file:
                os.posix_fallocate(file.fileno(), 0, capacity * FILLED_PERCENT // 100)
            eventually("usage is above the threshold", lambda: image_file_system(real_node)[0] >= high)
            above = time.monotonic()
            await_deletion(real_node)
            lasting(ROLL_UP_SECONDS)
            run(real_node, AGAIN, LOOPED)
            lasting(above + ABOVE_SECONDS - time.monotonic())
        finally:
            capture.stop()
            ballast.unlink(missing_ok=True)
            real_node.restart_kubelet(DEFAULTS)
            real_node.containerd.import_image()
            real_node.cluster.request("DELETE", "/apis/node.k8s.io/v1/runtimeclasses/nowhere")
    return recording


def test_it_is_concluded_from_usage_where_the_kubelet_dropped_its_events(recording: Path, tmp_path: Path) -> None:
    assert captured(recording, '"MissingClusterDNS"', '"kind":"Node"') > 0
    assert captured(recording, "FreeDiskSpaceFailed") == captured(recording, "ImageGCFailed") == 0
    succeeds("replay", "-q", recording, db=tmp_path / "db")
    found = rows(
        "SELECT verdict, result, reason, occurrences FROM image_gc WHERE verdict != 'benign_startup'", tmp_path / "db"
    )
    assert found == [("insufficient_freed", "partial", "insufficient_freed", 3)]
    pulls = rows("SELECT pod, cause FROM image_pulls ORDER BY ts", tmp_path / "db")
    assert pulls == [(FIRST, ""), (AGAIN, "image_gc")]
