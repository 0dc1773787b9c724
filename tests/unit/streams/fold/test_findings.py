"""Row types are known to whoever imports the package, and each has a table of its own."""

from datetime import timedelta
from pathlib import Path

import pytest

from components.rows import T0, row
from streams.fold import findings
from streams.fold.findings import TABLES, Eviction, PodEnd, is_of_time, version


def test_every_subject_is_imported_with_the_package() -> None:
    package = Path(findings.__file__)
    source = package.read_text()
    for file in package.parent.glob("[a-z]*.py"):
        assert f"from streams.fold.findings.{file.stem} import" in source


def test_every_row_type_has_a_table_of_its_own() -> None:
    assert len(set(TABLES.values())) == len(TABLES)


@pytest.mark.parametrize("row_type", [Eviction, PodEnd])
@pytest.mark.parametrize(
    ("minutes", "time_known", "is_one"), [(10, True, True), (11, True, False), (999, False, True)]
)
def test_a_pod_of_a_name_can_have_ended_again_at_another_known_time(
    row_type: type[Eviction] | type[PodEnd], minutes: int, *, time_known: bool, is_one: bool
) -> None:
    actor = {"actor": "kubelet"} if row_type is PodEnd else {}
    later = row(row_type, updated_at=T0 + timedelta(minutes=minutes), time_known=time_known, **actor)
    assert is_of_time(version(later), row(row_type, ts=T0)) == is_one
