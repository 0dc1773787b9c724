"""Row types are known to whoever imports the package, and each has a table of its own."""

from pathlib import Path

from streams.fold import findings
from streams.fold.findings import TABLES


def test_every_subject_is_imported_with_the_package() -> None:
    package = Path(findings.__file__)
    source = package.read_text()
    for file in package.parent.glob("[a-z]*.py"):
        assert f"from streams.fold.findings.{file.stem} import" in source


def test_every_row_type_has_a_table_of_its_own() -> None:
    assert len(set(TABLES.values())) == len(TABLES)
