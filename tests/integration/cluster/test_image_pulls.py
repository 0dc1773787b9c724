"""A real node pulls an image from a registry, loses it and pulls it again (rules: image-pulls, image-gc-loop).

LEADSMAN_PULLS=long adds what takes nine minutes: the kubelet itself deletes an image for its age.
"""

import os
import time
from pathlib import Path
from typing import Final

import pytest

from components.cluster.kubelet import RealNode
from components.cluster.registry import running_registry
from components.command import leadsman_process, rows, succeeds
from integration.cluster.node_story import captured, exists, restored, watch_flags
from waiting import eventually, lasting

pytestmark = pytest.mark.components("cluster")

LONG: Final = os.environ.get("LEADSMAN_PULLS") == "long"
REGISTRY: Final = "registry.example"
LOOPED: Final = f"{REGISTRY}/looped:1"
BRIEF: Final = f"{REGISTRY}/brief:1"

FIRST: Final = "pulls-first"
BESIDE: Final = "pulls-beside"
REMOVED: Final = "pulls-removed"
BRIEFLY: Final = "pulls-briefly"
BRIEFLY_AGAIN: Final = "pulls-briefly-again"
AGED: Final = "pulls-aged"
PODS: Final = (FIRST, BESIDE, REMOVED, BRIEFLY, BRIEFLY_AGAIN, AGED)

AGE_SECONDS: Final = 120
AGES: Final = {"imageMinimumGCAge": "1s", "imageMaximumGCAge": f"{AGE_SECONDS}s"}
DEFAULT_AGES: Final = {"imageMinimumGCAge": "2m", "imageMaximumGCAge": "0s"}
BRIEFLY_AT_SECONDS: Final = 210
"""Time after the first five minutes' run of container GC but one, which removes the containers."""
RUN_SECONDS: Final = 360
"""Image GC runs every 5 min; containers are removed within one more."""


def run(node: RealNode, pod: str, image: str) -> None:
    node.run_pod(pod, "wait", requests={}, limits={}, image=image)
    node.await_phase(pod, "Running")


def delete(node: RealNode, *pods: str) -> None:
    for pod in pods:
        node.cluster.request("DELETE", f"/api/v1/namespaces/default/pods/{pod}")
    eventually("the pods are gone", lambda: not any(exists(node, pod) for pod in pods))


def pull_twice(node: RealNode) -> None:
    """Between the two, the image is removed by hand; a pod that starts while another uses it pulls nothing."""
    run(node, FIRST, LOOPED)
    run(node, BESIDE, LOOPED)
    delete(node, FIRST, BESIDE)
    eventually("the kubelet has removed their containers", lambda: not node.containerd.is_used(LOOPED))
    node.containerd.remove_image(LOOPED)
    run(node, REMOVED, LOOPED)


def pull_for_age(node: RealNode, recording: Path) -> None:
    """LOOPED is used while the kubelet starts, BRIEF only between two runs of image GC."""
    settings = captured(recording, '"configz"')
    started = time.monotonic()
    node.restart_kubelet(AGES)
    eventually("the settings are captured", lambda: captured(recording, '"configz"') > settings)
    delete(node, REMOVED)
    deleted = time.monotonic()
    lasting(started + BRIEFLY_AT_SECONDS - time.monotonic())
    run(node, BRIEFLY, BRIEF)
    delete(node, BRIEFLY)
    eventually("image GC deletes both", lambda: not any(map(node.containerd.has_image, (LOOPED, BRIEF))))
    node.containerd.import_image()
    run(node, BRIEFLY_AGAIN, BRIEF)
    lasting(deleted + AGE_SECONDS + RUN_SECONDS + 5 - time.monotonic())
    run(node, AGED, LOOPED)


@pytest.fixture(scope="module")
def database(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay of a capture of image pulls."""
    folder = tmp_path_factory.mktemp("pulls")
    recording = folder / "capture"
    capture = leadsman_process("capture", f"--output={recording}", *watch_flags(real_node), folder=folder)
    last = AGED if LONG else REMOVED
    with running_registry("looped:1", "brief:1") as registry, restored(real_node, PODS):
        real_node.containerd.mirror(REGISTRY, registry.url)
        capture.start()
        try:
            capture.await_ready(lambda: captured(recording, '"BOOKMARK"') > 0 < captured(recording, '"configz"'))
            pull_twice(real_node)
            if LONG:
                pull_for_age(real_node, recording)
            eventually("the last pull is captured", lambda: captured(recording, '"Pulled"', last))
        finally:
            capture.stop()
            if LONG:
                real_node.restart_kubelet(DEFAULT_AGES)
                real_node.containerd.import_image()
    assert registry.transfers("looped:1") == (3 if LONG else 2)
    succeeds("replay", "-q", recording, db=folder / "db")
    return folder / "db"


def test_the_kubelet_s_words_are_kept(database: Path) -> None:
    found = rows(
        "SELECT object_name, reason, replaceRegexpAll(message, '[0-9.]+m?s|[0-9]{2,}', 'N') FROM node_events FINAL "
        f"WHERE reason IN ('Pulling', 'Pulled') AND object_name IN ('{FIRST}', '{BESIDE}') "
        "ORDER BY object_name DESC, reason DESC",
        database,
    )
    assert found == [
        (FIRST, "Pulling", f'Pulling image "{LOOPED}"'),
        (
            FIRST,
            "Pulled",
            f'Successfully pulled image "{LOOPED}" in N (N including waiting). Image size: N bytes.',
        ),
        (BESIDE, "Pulled", f'Container image "{LOOPED}" already present on machine and can be accessed by the pod'),
    ]


def test_an_image_that_somebody_removed_is_pulled_again_for_an_unknown_cause(database: Path) -> None:
    pulls = rows(
        f"SELECT pod, cause, seconds > 0, image_bytes > 100000 FROM image_pulls WHERE image = '{LOOPED}' ORDER BY ts",
        database,
    )
    assert pulls[:2] == [(FIRST, "", 1, 1), (REMOVED, "unknown", 1, 1)]


@pytest.mark.skipif(not LONG, reason="takes nine minutes: LEADSMAN_PULLS=long")
def test_an_image_that_the_kubelet_deleted_is_pulled_again_for_its_age(database: Path) -> None:
    causes = dict(rows(f"SELECT pod, cause FROM image_pulls WHERE pod LIKE 'pulls-%' AND pod != '{FIRST}'", database))
    assert causes == {REMOVED: "unknown", BRIEFLY: "", BRIEFLY_AGAIN: "unknown", AGED: "maximum_age"}
