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
