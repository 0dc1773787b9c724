"""Captures that rotate (capture-format.md)."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from fakes.clock import FakeClock
from ingest.files.capture import read_capture
from ingest.files.lines import SourceFile
from ingest.files.rotate import RotatingCapture, Rotation
from ingest.model.observation import Observation, Observed


def _observation(fake: FakeClock, number: int) -> Observation:
    return Observation(
        ts=fake.now(),
        cluster="lab",
        source="watch",
        resource="pods",
        type="ADDED",
        object=msgspec.Raw(b'{"number":%d}' % number),
    )


def _numbers(path: Path) -> list[int]:
    return [msgspec.json.decode(line)["object"]["number"] for line in path.read_bytes().splitlines()]


def test_a_full_file_is_followed_by_another_and_their_names_sort_in_order(tmp_path: Path) -> None:
    fake = FakeClock()
    with closing(RotatingCapture(tmp_path, "lab", now=fake.now, rotation=Rotation(limit_bytes=250))) as capture:
        for number in range(7):
            capture.write(_observation(fake, number))
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1
    assert [number for path in files for number in _numbers(path)] == list(range(7))
    assert files[0].name == "lab-20260101T000000Z-0000.jsonl"


def test_an_old_file_is_followed_by_another_but_an_empty_one_is_not(tmp_path: Path) -> None:
    fake = FakeClock()
    with closing(RotatingCapture(tmp_path, "lab", now=fake.now, rotation=Rotation(limit_seconds=60))) as capture:
        fake.seconds = 100
        capture.write(_observation(fake, 0))
        fake.seconds = 159
        capture.write(_observation(fake, 1))
        fake.seconds = 160
        capture.write(_observation(fake, 2))
    assert [_numbers(path) for path in sorted(tmp_path.iterdir())] == [[0, 1], [2]]


def test_only_the_newest_files_are_kept(tmp_path: Path) -> None:
    fake = FakeClock()
    other = tmp_path / "lab-east-20250101T000000Z-0000.jsonl"
    other.touch()
    with closing(RotatingCapture(tmp_path, "lab", now=fake.now, rotation=Rotation(limit_bytes=1, keep=2))) as capture:
        for number in range(5):
            capture.write(_observation(fake, number))
    assert [_numbers(path) for path in sorted(tmp_path.glob("lab-2026*"))] == [[3], [4]]
    assert other.exists()


def test_a_second_process_never_appends_to_the_file_of_the_first(tmp_path: Path) -> None:
    fake = FakeClock()
    for number in range(2):
        with closing(RotatingCapture(tmp_path, "lab", now=fake.now, rotation=Rotation())) as capture:
            capture.write(_observation(fake, number))
    assert [_numbers(path) for path in sorted(tmp_path.iterdir())] == [[0], [1]]


def test_a_file_that_someone_removed_is_followed_by_another(tmp_path: Path) -> None:
    fake = FakeClock()
    with closing(RotatingCapture(tmp_path, "lab", now=fake.now, rotation=Rotation())) as capture:
        capture.write(_observation(fake, 0))
        capture.path.unlink()
        capture.write(_observation(fake, 1))
    assert [_numbers(path) for path in tmp_path.iterdir()] == [[1]]


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_after_kill_9_every_line_that_was_written_can_be_read(tmp_path: Path, compression: str) -> None:
    program = f"""
import sys
sys.path[:0] = {[*sys.path]!r}
from pathlib import Path
from test_rotate import _observation
from fakes.clock import FakeClock
from ingest.files.rotate import RotatingCapture, Rotation
fake = FakeClock()
rotation = Rotation(compression={compression!r}, limit_bytes=5000)
capture = RotatingCapture(Path({str(tmp_path)!r}), "lab", now=fake.now, rotation=rotation)
for number in range(10**9):
    capture.write(_observation(fake, number))
    print(number, flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path])}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        try:
            said = [int(process.stdout.readline()) for _ in range(200)]
        finally:
            process.kill()
        said += [int(line) for line in process.stdout if line.endswith(b"\n")]
    written = [path for path in sorted(tmp_path.iterdir()) if path.stat().st_size]  # it may have begun the next one
    numbers = [number for path in written for number in _readable_numbers(path)]
    assert numbers[: len(said)] == said
    assert numbers == list(range(len(numbers)))


def _readable_numbers(path: Path) -> list[int]:
    with SourceFile(path) as file:
        entries = list(read_capture(file))
    assert all(isinstance(entry, Observed) for entry in entries[:-1])
    return [
        msgspec.json.decode(entry.observation.object)["number"] for entry in entries if isinstance(entry, Observed)
    ]


def test_a_capture_is_its_owner_s_alone(tmp_path: Path) -> None:
    """It names the pods of a cluster; the umask of a container is often 022, or 0."""
    folder = tmp_path / "captures"
    fake = FakeClock()
    before = os.umask(0)
    try:
        with closing(RotatingCapture(folder, "lab", now=fake.now, rotation=Rotation())) as capture:
            capture.write(_observation(fake, 1))
    finally:
        os.umask(before)
    assert [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())] == [0o700, 0o600]
