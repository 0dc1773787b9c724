"""A real kubelet whose `evictionHard` names memory alone guards nothing else (rules: unguarded-signals)."""

import json
from pathlib import Path
from typing import Final

import pytest

from components.cluster.kubelet import RealNode
from components.command import leadsman_process, rows, succeeds
from integration.cluster.node_story import captured, restored, watch_flags
from waiting import eventually

pytestmark = pytest.mark.components("cluster")

MEMORY_ALONE: Final = {"memory.available": "100Mi"}


def test_signals_that_a_real_kubelets_evictionhard_does_not_name_are_unguarded(
    real_node: RealNode, tmp_path: Path
) -> None:
    folder = tmp_path / "capture"
    capture = leadsman_process("capture", f"--output={folder}", *watch_flags(real_node), folder=tmp_path)
    with restored(real_node):
        real_node.restart_kubelet({"evictionHard": MEMORY_ALONE})
        in_force = json.loads(real_node.ask("/configz"))["kubeletconfig"]["evictionHard"]
        capture.start()
        try:
            capture.await_ready(lambda: captured(folder, '"configz"') > 0)
            before = captured(folder, '"stats/summary"')
            eventually("it is sampled once more", lambda: captured(folder, '"stats/summary"') > before)
        finally:
            capture.stop()
    assert in_force == MEMORY_ALONE, "it has no defaults for the others any more"
    succeeds("replay", "-q", folder, db=tmp_path / "db")
    found = dict(rows("SELECT signal, reason FROM unguarded_signals", tmp_path / "db"))
    dropped = "The evictionHard in force lacks or disables it; a key that is set drops the defaults of all others."
    assert found == {
        "imagefs.available": dropped,
        "imagefs.inodesFree": dropped,
        "nodefs.available": dropped,
        "nodefs.inodesFree": dropped,
        "pid.available": "It has no default, and evictionHard does not set it.",
    }
