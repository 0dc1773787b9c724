"""A process that reads ahead gives what reading here gives, and leaves nothing behind."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from components.proc import children
from ingest.files import ahead
from ingest.files.ahead import read_ahead
from ingest.files.capture import SourceError
from ingest.files.sources import read_sources
from ingest.normalize.decode import Decoded, decode
from paths import CAPTURES, SCENARIOS
from waiting import eventually

pytestmark = pytest.mark.costly

DAMAGED = b'{"ts": "2026-07-01T12:00:00Z", "cluster": "c", "source": "list", "resource": "nodes", "type": "ADD'


@pytest.fixture(autouse=True)
def always_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "SMALL_BYTES", 0)


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(CAPTURES[-1].read_bytes() + DAMAGED)
    return path


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """More than fits into the pipe: its reader is still there when the first item is taken."""
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        for _ in range(200):
            file.write((SCENARIOS / "evictions" / "capture.jsonl").read_bytes())
    return path


ALONE = [[path] for path in {path.suffix: path for path in CAPTURES}.values()]
"""A plain one and one of each compression; each of the others costs a process, and they come all in one."""


@pytest.mark.parametrize("paths", [*ALONE, CAPTURES], ids=lambda paths: paths[0].name if len(paths) == 1 else "all")
def test_it_gives_the_same_in_the_same_order(paths: list[Path]) -> None:
    assert list(read_ahead(paths)) == list(map(decode, read_sources(paths)))


def test_what_is_bad_comes_with_its_bytes_and_its_place(damaged: Path) -> None:
    bad = [item for item in read_ahead([damaged]) if item.bad]
    assert [(item.bad and item.bad.raw, item.position.source) for item in bad] == [(DAMAGED, str(damaged))]


def test_the_limits_hold_there_as_they_do_here() -> None:
    times = [item.ts for item in read_ahead(CAPTURES[:1]) if item.ts]
    middle = times[len(times) // 2]
    outside = [item.ts for item in read_ahead(CAPTURES[:1], since=middle) if item.outside]
    assert outside == [ts for ts in times if ts < middle]
    outside = [item.ts for item in read_ahead(CAPTURES[:1], until=middle) if item.outside]
    assert outside == [ts for ts in times if ts >= middle]


def test_progress_and_what_was_left_out_are_reported(tmp_path: Path) -> None:
    dump = tmp_path / "dump.json"
    kinds = ("Secret", "Node")
    listed = [{"apiVersion": "v1", "kind": kind, "metadata": {"name": "n"}} for kind in kinds]
    dump.write_text(json.dumps({"kind": "List", "items": listed}))
    reported: list[tuple[int, int, int]] = []
    skipped = Counter[str]()
    items = list(read_ahead([dump, CAPTURES[0]], progress=lambda *figures: reported.append(figures), skipped=skipped))
    assert skipped == {"Secret": 1}
    size = dump.stat().st_size + CAPTURES[0].stat().st_size
    assert reported[-1] == (size, size, len(items))


def test_a_file_that_is_no_source_is_reported_after_all_others(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    items: list[Decoded] = []
    with pytest.raises(SourceError, match="the file is empty"):
        items.extend(read_ahead([empty, CAPTURES[0]]))
    assert items == list(read_ahead([CAPTURES[0]]))


def test_a_reader_that_dies_is_an_error(endless: Path) -> None:
    before = children(os.getpid())
    items = read_ahead([endless])
    next(items)
    (reader,) = children(os.getpid()) - before
    os.kill(reader, signal.SIGKILL)
    with pytest.raises(SourceError, match="ended too soon, with status -9"):
        list(items)


def test_a_replay_that_stops_in_the_middle_leaves_no_process(endless: Path) -> None:
    before = children(os.getpid())
    items = read_ahead([endless])
    next(items)
    assert children(os.getpid()) > before
    items.close()
    assert children(os.getpid()) == before


def test_a_reader_ends_when_its_replay_is_killed(endless: Path) -> None:
    program = f"""
import signal, sys
from pathlib import Path
from ingest.files import ahead
ahead.SMALL_BYTES = 0
items = ahead.read_ahead([Path({str(endless)!r})])
next(items)
print(flush=True)
signal.pause()
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as replay:
        assert replay.stdout is not None
        replay.stdout.readline()
        (reader,) = children(replay.pid)
        replay.kill()
    eventually("the reader has ended", lambda: not Path(f"/proc/{reader}").exists())
