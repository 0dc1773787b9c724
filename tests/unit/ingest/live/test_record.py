"""Live sources into a capture file: what is told, how it ends, what it never holds."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from kubernetes_asyncio.client.configuration import Configuration

from fakes.apiserver import FakeApiServer, event, listing, pod, refusal, watching
from fakes.clock import hurried
from ingest.apiserver.versions import NOT_KEPT, VersionFile
from ingest.files.capture import read_capture
from ingest.files.lines import SourceFile
from ingest.files.rotate import Rotation, open_capture
from ingest.kubelet.settings import KubeletSettings
from ingest.live.record import Captured, Capturing
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation, Observed
from waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.asyncio


@asynccontextmanager
async def _live(store: VersionFile | None = None) -> AsyncIterator[Live]:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/nodes"] = [refusal(403, "Forbidden", "nodes is forbidden")]
        server.script["/api/v1/pods"] = [
            listing("7", [pod("a", "3")]),
            watching(event("ADDED", pod("b", "8")), event("ADDED", pod("c", "9"))),
        ]
        access = Configuration()
        access.host = server.url
        settings = LiveSettings(cluster="lab", resources=("nodes", "pods"), kubelet=KubeletSettings(access="off"))
        yield Live(settings, access, store.kept() if store else NOT_KEPT)


def _written(path: Path) -> list[Observed]:
    with SourceFile(path) as file:
        return [entry for entry in read_capture(file) if isinstance(entry, Observed)]


async def _seven(capturing: Capturing, stop: asyncio.Event) -> Captured:
    run = asyncio.ensure_future(capturing.run(stop))
    await until(lambda: capturing.captured.observations >= 7)
    stop.set()
    return await run


@pytest.mark.parametrize("name", ["one.jsonl", "one.jsonl.gz", "one.jsonl.zst"])
async def test_observations_are_written_without_secrets_and_counted(tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    store = VersionFile(tmp_path / "versions.json", "lab")
    async with _live(store) as live:
        reported: list[str] = []
        capturing = Capturing(live, open_capture(out, "lab", Rotation()), reported.append)
        captured = await _seven(capturing, asyncio.Event())
        assert "7 observations" in capturing.line()
        assert "nodes cannot be read: 403 Forbidden" in capturing.line()
    assert captured == Captured(observations=7, errors=1)
    entries = _written(out)
    assert sorted(entry.observation.type for entry in entries) == [
        *("ADDED", "ADDED", "ADDED"),
        *("BOOKMARK", "ERROR", "INVENTORY", "INVENTORY"),
    ]
    # the fake's pods have the variable A with the value b
    assert not any(b'"value"' in bytes(entry.observation.object) for entry in entries)
    assert store.load() == {"pods": "9"}


async def test_a_capture_ends_when_its_time_is_over(tmp_path: Path) -> None:
    async with _live() as live:
        capturing = Capturing(live, open_capture(tmp_path / "folder", "lab", Rotation()), lambda _: None)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await capturing.run(asyncio.Event(), seconds=0.1)
    assert len(list((tmp_path / "folder").iterdir())) == 1


async def test_a_capture_reports_progress_regularly(tmp_path: Path) -> None:
    said = asyncio.Event()

    def tell(line: str) -> None:
        assert line.startswith("captured ")
        said.set()

    async with _live() as live:
        capturing = Capturing(live, open_capture(tmp_path / "folder", "lab", Rotation()), tell, hurried())
        async with asyncio.timeout(PATIENCE_SECONDS):
            await capturing.run(said)


class _FullDisk:
    """A writer that fails after its first line."""

    def __init__(self) -> None:
        self.lines = 0
        self.closed = False

    def write(self, observation: Observation) -> None:
        self.lines += 1
        if self.lines > 1:
            raise OSError(28, "No space left on device", observation.resource)

    def close(self) -> None:
        self.closed = True


async def test_a_full_disk_ends_the_capture_and_acknowledges_nothing_unwritten(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    writer = _FullDisk()
    async with _live(store) as live:
        with pytest.raises(OSError, match="No space left"):
            await Capturing(live, writer, lambda _: None).run(asyncio.Event())
    assert writer.closed
    assert "9" not in store.load().values()
