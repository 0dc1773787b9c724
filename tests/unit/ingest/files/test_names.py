"""People see the name of a file as they gave it."""

from pathlib import Path

import pytest

from ingest.files.lines import named


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/t/leadsman-a_1b/0/archive/dump.zip/dump/n1/capture.jsonl", "dump.zip: n1/capture.jsonl"),
        ("/var/t/leadsman-a_1b/12/archive/b.tar.gz/b", "b.tar.gz"),
        ("/t/leadsman-a_1b/0/archive/x.tgz/x/a\nb/c", "x.tgz: a\nb/c"),
        ("/t/leadsman-a_1b/0/standard-input", "standard-input"),
        ("/home/me/archive/dump.zip/dump/nodes.json", "/home/me/archive/dump.zip/dump/nodes.json"),
        ("leadsman-notes/archive/nodes.json", "leadsman-notes/archive/nodes.json"),
    ],
)
def test_a_file_of_an_archive_has_the_archives_name(path: str, name: str) -> None:
    assert named(Path(path)) == name
