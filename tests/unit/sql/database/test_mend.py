"""Views that a full disk cut off, and a disk that is full."""

import os
import shutil
from pathlib import Path

import pytest

from sql.database.engine import NEEDED_BYTES, mend
from sql.database.errors import DatabaseError, DiskFull
from sql.database.open import connect
from sql.schema.migrate import migrate


@pytest.fixture
def folder(migrated_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))


@pytest.mark.parametrize("size", [0, 700])
def test_a_view_that_was_cut_off_is_made_anew_by_the_next_writer(folder: Path, size: int) -> None:
    views = folder / "metadata" / "default"
    whole = (views / "story.sql").read_bytes()
    (views / "story.sql").write_bytes(whole[:size])
    (views / "_tmp_replace_1_2.sql").write_bytes(whole[:size])
    with (
        pytest.raises(DatabaseError, match=f"leadsman migrate --db chdb://{folder}"),
        connect(f"chdb://{folder}", read_only=True),
    ):
        pass
    with connect(f"chdb://{folder}") as db:
        assert migrate(db) == []
        assert db.query("SELECT what FROM story").rows == []
    assert sorted(view.name for view in views.glob("_tmp*")) == []


def test_only_damaged_views_are_deleted(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata" / "default"
    metadata.mkdir(parents=True)
    files = {"story.sql": "ATTACH VIEW _", "not_ready.sql": "ATTACH VIEW _\n", "nodes.sql": "", "mine.sql": ""}
    for name, text in files.items():
        (metadata / name).write_text(text)
    assert mend(tmp_path) == [metadata / "story.sql"]
    assert sorted(file.name for file in metadata.iterdir()) == ["mine.sql", "nodes.sql", "not_ready.sql"]


def test_a_writer_does_not_start_on_a_full_disk_and_a_reader_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path) -> os.statvfs_result:
        found = list(statvfs(path))
        found[4] = (NEEDED_BYTES - 1) // found[1]  # f_bavail, in units of f_frsize
        return os.statvfs_result(found)

    statvfs = os.statvfs
    monkeypatch.setattr(os, "statvfs", full)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*")}
    with pytest.raises(DiskFull, match="63 MiB free, and writing needs at least 64 MiB"):
        connect(f"chdb://{folder}")
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*")} == before
    with connect(f"chdb://{folder}", read_only=True) as db:
        assert db.query("SELECT count() FROM nodes").rows == [(0,)]
