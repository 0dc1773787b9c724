"""A real node, captured live and replayed (without Kafka)."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from components.cluster.kubelet import RealNode
from components.cluster.kubernetes import Cluster
from components.command import leadsman, leadsman_process
from ingest.files.capture import read_capture
from ingest.files.lines import SourceError, SourceFile
from ingest.model.observation import Observed, Unreadable
from integration.cluster.node_story import (
    CANARY,
    await_eviction,
    check_forecasts,
    check_story,
    pin,
    restored,
    start_growing,
    watch_flags,
)
from sql.database.open import connect
from waiting import eventually

pytestmark = pytest.mark.components("cluster")


def _entries(folder: Path) -> Iterator[Observed | Unreadable]:
    for path in sorted(folder.iterdir()):
        with SourceFile(path) as file, suppress(SourceError):
            yield from read_capture(file)


def _resources(folder: Path) -> set[tuple[str, str]]:
    return {(e.observation.resource, e.observation.type) for e in _entries(folder) if isinstance(e, Observed)}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.night
def test_a_real_node_captured_live_replays_into_its_whole_story(real_node: RealNode, tmp_path: Path) -> None:
    folder = tmp_path / "capture"
    capture = leadsman_process("capture", f"--output={folder}", *watch_flags(real_node), folder=tmp_path)
    with restored(real_node):
        capture.start()
        try:
            capture.await_ready(lambda: folder.exists() and ("configz", "SNAPSHOT") in _resources(folder))
            pin(real_node)
            threshold = start_growing(real_node)
            await_eviction(real_node)
            size = _size(folder)
            eventually("something more is captured", lambda: _size(folder) > size)
        finally:
            capture.kill()

    entries = list(_entries(folder))
    assert sum(isinstance(entry, Unreadable) for entry in entries) <= 1  # a killed process may lose its last line
    seen = {entry.observation.resource for entry in entries if isinstance(entry, Observed)}
    assert {"nodes", "pods", "events", "stats/summary", "configz", "metrics"} <= seen
    assert CANARY not in "".join(path.read_text() for path in folder.iterdir())

    replay = leadsman("replay", folder, db=tmp_path / "db")
    assert replay.returncode in {0, 3}, replay.stderr
    with connect(f"chdb://{tmp_path / 'db'}") as db:
        check_story(db, real_node, threshold)
        check_forecasts(db, real_node)


def test_a_capture_ends_with_its_signal_and_a_second_one_goes_on_in_a_new_file(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "capture"
    flags = [f"--output={folder}", f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off", "--cluster=lab"]
    for number in (1, 2):
        capture = leadsman_process("capture", *flags, folder=tmp_path)
        capture.start()
        try:
            capture.await_ready(lambda: len(list(folder.glob("*.jsonl"))) == number and _size(folder) > 0)  # noqa: B023
        finally:
            capture.stop()
        assert "observations" in capture.last_lines()
