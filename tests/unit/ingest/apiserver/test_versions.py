"""Versions are kept only behind what is acknowledged (delivery.md#watching)."""

import errno
import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from common.errors import SourceUnusable
from ingest.apiserver.versions import Acknowledgements, VersionFile


def test_versions_round_trip_and_a_missing_file_means_none(tmp_path: Path) -> None:
    kept = VersionFile(tmp_path / "versions.json", "lab")
    assert kept.load() == {}
    kept.save({"pods": "7"})
    kept.save({"pods": "8", "nodes": "3"})
    assert VersionFile(tmp_path / "versions.json", "lab").load() == {"pods": "8", "nodes": "3"}
    assert [path.name for path in tmp_path.iterdir()] == ["versions.json"]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"format":1', id="cut"),
        pytest.param(bytes(4096), id="zeros, as a file system leaves after a power loss"),
        pytest.param(b'{"format":1,"cluster":"lab","versions":{"pods":7}}', id="of another type"),
        pytest.param(b'{"format":1,"cluster":"\xff","versions":{}}', id="not UTF-8"),
        pytest.param(b'{"format":1,"cluster":"lab","versions":' + b"[" * 100_000, id="nested too deep"),
        pytest.param(b'{"format":2,"cluster":"lab","versions":{"pods":"7"}}', id="of a later version"),
    ],
)
def test_a_damaged_versions_file_is_replaced_and_everything_listed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "versions.json"
    path.write_bytes(content)
    kept = VersionFile(path, "lab")
    with capture_logs() as logs:
        assert kept.load() == {}
    (said,) = logs
    assert (said["log_level"], said["file"]) == ("warning", str(path))
    kept.save({"pods": "8"})
    assert kept.load() == {"pods": "8"}


def test_a_path_that_is_not_a_file_is_refused_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SourceUnusable, match="name a file"):
        VersionFile(tmp_path, "lab").load()


def test_versions_of_another_cluster_are_refused(tmp_path: Path) -> None:
    VersionFile(tmp_path / "v", "lab").save({"pods": "7"})
    with pytest.raises(SourceUnusable, match="cluster lab"):
        VersionFile(tmp_path / "v", "production").load()


def test_a_write_that_fails_leaves_the_old_versions_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    kept = VersionFile(tmp_path / "v", "lab")
    kept.save({"pods": "7"})
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        kept.save({"pods": "8"})
    assert kept.load() == {"pods": "7"}
    assert list(tmp_path.iterdir()) == [tmp_path / "v"]
    assert (tmp_path / "v").stat().st_mode & 0o777 == 0o644  # who runs as another user later reads it too


def test_two_watchers_with_one_file_do_not_disturb_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that was paused in the middle of a write, and one that took over from it."""
    fsync = os.fsync

    def resumed(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        VersionFile(tmp_path / "v", "lab").save({"pods": "12345678"})
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", resumed)
    VersionFile(tmp_path / "v", "lab").save({"pods": "7"})
    assert VersionFile(tmp_path / "v", "lab").load() == {"pods": "7"}


def test_a_step_without_a_version_holds_back_those_behind_it() -> None:
    acknowledgements = Acknowledgements({"pods": "1"})
    item, end = acknowledgements.hand_out("pods", ""), acknowledgements.hand_out("pods", "7")
    acknowledgements.acknowledge(end)
    assert acknowledgements.versions == {"pods": "1"}
    acknowledgements.acknowledge(item)
    assert acknowledgements.versions == {"pods": "7"}
    assert not any(acknowledgements._out.values())


@given(st.permutations(range(8)), st.integers(0, 8))
def test_the_version_is_that_of_the_longest_acknowledged_prefix(order: list[int], count: int) -> None:
    acknowledgements = Acknowledgements()
    tickets = [acknowledgements.hand_out("pods", str(number)) for number in range(8)]
    done = order[:count]
    for number in done:
        acknowledgements.acknowledge(tickets[number])
        acknowledgements.acknowledge(tickets[number])
    beginning = list(itertools.takewhile(lambda number: number in done, range(8)))
    assert acknowledgements.versions == ({"pods": str(beginning[-1])} if beginning else {})


def test_a_step_without_a_version_leaves_the_one_before() -> None:
    acknowledgements = Acknowledgements({"pods": "1"})
    acknowledgements.acknowledge(acknowledgements.hand_out("pods", ""))
    assert acknowledgements.versions == {"pods": "1"}


def test_streams_do_not_block_each_other() -> None:
    acknowledgements = Acknowledgements()
    acknowledgements.hand_out("pods", "7")
    acknowledgements.acknowledge(acknowledgements.hand_out("nodes", "3"))
    assert acknowledgements.versions == {"nodes": "3"}
