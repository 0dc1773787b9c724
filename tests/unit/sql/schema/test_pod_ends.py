"""One row of each end of a pod counts, for any order in which a dump's parts are read."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import PodEnd

TOLD: dict[str, Any] = {"actor": "kubelet", "cause": "own_limit", "time_known": True}
OWN: dict[str, Any] = {"actor": "", "cause": "exited", "time_known": True}


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        (TOLD | {"time_known": False}, OWN, 0),
        (TOLD, TOLD | {"time_known": False}, 0),
        (TOLD | {"time_known": False}, TOLD, 1),
        (OWN, TOLD | {"time_known": False}, 1),
        (TOLD, TOLD, 1),
    ],
)
def test_a_row_that_names_who_did_it_counts_then_one_with_a_known_time_then_the_last(
    first: dict[str, Any], second: dict[str, Any], counts: int, database: Database
) -> None:
    about = {"node": "n", "uid": "u", "pod": "p"}
    for number, each in enumerate((first, second)):
        store(database, row(PodEnd, **(about | each | {"updated_at": T0 + timedelta(minutes=number), "attempt": 0})))
    [found] = dicts(database, "SELECT updated_at FROM pod_ends FINAL")
    assert found["updated_at"] == T0 + timedelta(minutes=counts)


@pytest.mark.parametrize(
    ("bounds", "reported"),
    [
        ([("earliest", 0), ("earliest", 5)], " That was at or after 2026-07-01 12:00:00 UTC."),
        ([("latest", 5), ("latest", 9)], " That was at or before 2026-07-01 12:00:09 UTC."),
        ([("earliest", 0), ("latest", 5)], " The time is unknown: this is when it was seen."),
        ([("earliest", 0), ("", 0)], " The time is unknown: this is when it was seen."),
    ],
    ids=("all after", "all before", "one each", "one of two"),
)
def test_a_bound_of_some_ends_is_not_said_of_all(
    bounds: list[tuple[str, int]], reported: str, database: Database
) -> None:
    for number, (name, seconds) in enumerate(bounds):
        bound = {name: T0 + timedelta(seconds=seconds)} if name else {}
        end = TOLD | {"time_known": False, "cause": "deadline"} | bound
        store(database, row(PodEnd, node="n", namespace="shop", pod=f"p{number}", uid=f"u{number}", **end))
    [line] = dicts(database, "SELECT what FROM story WHERE kind = 'pod_end'")
    assert line["what"] == f"2 pods were ended at the active deadline.{reported}"
