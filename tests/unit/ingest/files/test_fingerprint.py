"""The name of a replay's input."""

import os
from pathlib import Path

from ingest.files.fingerprint import fingerprint


def test_the_same_bytes_read_in_the_same_way_have_the_same_name(tmp_path: Path) -> None:
    one, copy, other = (tmp_path / name for name in ("one", "copy", "other"))
    one.write_text("a")
    copy.write_text("a")
    other.write_text("b")
    assert fingerprint([one], "c", None) == fingerprint([copy], "c", None)
    different = [([other], "c", None), ([one], "d", None), ([one, copy], "c", None), ([one], "c", "2026-01-01")]
    names = {fingerprint([one], "c", None), *(fingerprint(paths, *how) for paths, *how in different)}
    assert len(names) == 1 + len(different)


def test_where_one_file_ends_and_the_next_begins_is_part_of_the_name(tmp_path: Path) -> None:
    files = {}
    for text in ("a", "b", "ab", ""):
        files[text] = tmp_path / f"of-{text}"
        files[text].write_text(text)
    assert fingerprint([files["a"], files["b"]]) != fingerprint([files["ab"], files[""]])


def test_a_pipe_has_no_name_for_it_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert fingerprint([tmp_path / "pipe"]) is None
    assert fingerprint([tmp_path / "missing"]) is None
