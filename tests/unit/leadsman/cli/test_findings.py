"""A time that is only a bound is one in each form in which `leadsman look` prints a finding."""

from datetime import timedelta

import pytest

from components.rows import T0
from leadsman.cli.present.findings import Findings, finding_rows
from leadsman.cli.present.story import words_of
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.item import Item
from leadsman.web.reading.overview import read_overview
from leadsman.web.reading.scope import Scope
from sql.database.open import Database

LATER = T0 + timedelta(minutes=5)


@pytest.mark.parametrize(
    ("or_earlier", "is_bounded", "words"),
    [
        (False, False, "An eviction, 12:00:00 to 12:05:00."),
        (True, False, "An eviction, 12:00:00 or earlier to 12:05:00."),
        (False, True, "An eviction, between 12:00:00 and 12:05:00."),
        (True, True, "An eviction, 12:05:00 or earlier."),
    ],
)
def test_a_bound_is_called_one(database: Database, or_earlier: bool, is_bounded: bool, words: str) -> None:
    """If both are true, it happened by the end, and nothing else is known."""
    item = Item(Severity.WARNING, "An eviction", "Text.", (), "evictions", now=False, since=T0, until=LATER)
    item = item._replace(or_earlier=or_earlier, is_bounded=is_bounded)
    view = read_overview(database, Scope("c", T0, T0 + timedelta(hours=1)), ())
    (row,) = finding_rows(Findings(view, [item]))
    assert (row["since"], row["until"]) == (T0, LATER)
    assert (row["or_earlier"], row["is_bounded"]) == (or_earlier, is_bounded)
    assert words_of(item, view).startswith(words)


def test_a_start_without_an_end_is_the_earliest_time(database: Database) -> None:
    item = Item(Severity.WARNING, "An eviction", "", (), "evictions", now=False, since=T0, until=T0, is_bounded=True)
    view = read_overview(database, Scope("c", T0, T0 + timedelta(hours=1)), ())
    assert words_of(item, view) == "An eviction, 12:00:00 or later."
