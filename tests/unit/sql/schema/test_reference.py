"""The reference of tables and columns: whole, and as the database says it."""

import pytest

from generate.view_columns import parsed
from sql.database.open import Database


def test_every_column_of_a_view_says_what_it_means(database: Database) -> None:
    silent = database.query(
        "SELECT table, name FROM system.columns WHERE database = currentDatabase() AND comment = '' AND table IN "
        "(SELECT name FROM system.tables WHERE database = currentDatabase() AND engine = 'View')"
    )
    assert list(silent.rows) == []


def test_every_table_and_view_says_what_it_holds(database: Database) -> None:
    silent = database.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND comment = '' "
        "AND engine != 'MaterializedView'"
    )
    assert list(silent.rows) == []


def test_a_view_takes_the_meaning_of_what_it_reads_and_its_own_goes_first(database: Database) -> None:
    found = database.query(
        "SELECT name, comment FROM system.columns WHERE database = currentDatabase() AND table = 'rank_accuracy'"
    )
    comments = dict(found.rows)
    assert comments["uid"] == "UID of the pod"
    assert comments["was_next"] == "1 if the rank was right"


def test_a_file_that_makes_no_view_is_refused() -> None:
    with pytest.raises(ValueError, match="no view is made by"):
        parsed("SELECT 1")
