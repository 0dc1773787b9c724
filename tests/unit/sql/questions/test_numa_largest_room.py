"""Memory and devices left on one NUMA node, by hand; null if a source does not report them."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, row, store
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import NumaResource


def left(numa_node: int, available: int | None, minute: int = 1, **more: Any) -> NumaResource:
    given = {"resource": "memory", "allocatable": 10, "source": "memory_manager_state", **more}
    return row(
        NumaResource, node="n", ts=T0 + timedelta(minutes=minute), numa_node=numa_node, available=available, **given
    )


def asked(db: Database, *rows: NumaResource) -> Mapping[str, tuple[Any, ...]]:
    store(db, *rows)
    table = run(db, saved_query("numa_largest_room"), {"node": "n"})
    found = [dict(zip(table.column_names, each, strict=True)) for each in table.rows]
    return {each["resource"]: (each["free"], each["largest"], each["stranded"], each["in_groups"]) for each in found}


def test_the_largest_is_of_one_numa_node_and_the_rest_is_stranded(database: Database) -> None:
    assert asked(database, left(0, 4), left(1, 1), left(2, 3)) == {"memory": (8, 4, 4, 0)}


def test_the_latest_row_counts(database: Database) -> None:
    assert asked(database, left(0, 9, minute=0), left(0, 2)) == {"memory": (2, 2, 0, 0)}


def test_resources_are_apart_and_one_that_is_not_there_has_no_row(database: Database) -> None:
    gpu = left(1, 2, resource="example.com/gpu", source="podresources")
    none = left(0, 0, resource="hugepages-1Gi", allocatable=0)
    assert asked(database, left(0, 4), gpu, none) == {"memory": (4, 4, 0, 0), "example.com/gpu": (2, 2, 0, 0)}


@pytest.mark.parametrize(("single", "largest"), [(3, 3), (0, 0)])
def test_what_lies_in_a_group_is_for_containers_that_span_it(database: Database, single: int, largest: int) -> None:
    grouped = [left(numa_node, 5, cells=[0, 1]) for numa_node in (0, 1)]
    assert asked(database, *grouped, left(2, single)) == {"memory": (10 + single, largest, 10 + single - largest, 2)}


def test_without_what_is_available_nothing_is_known(database: Database) -> None:
    """Also where one of the NUMA nodes alone is not known: it may have the most."""
    assert asked(database, left(0, 4), left(1, None)) == {"memory": (None, None, None, 0)}


def test_a_source_that_reports_goes_before_a_later_one_that_does_not(database: Database) -> None:
    later = left(0, None, minute=2, source="podresources")
    assert asked(database, left(0, 4), later) == {"memory": (4, 4, 0, 0)}
