"""The year of a log's lines, by the head of journalctl."""

import pytest

from ingest.files.texts.clocks import clock_of, year_at


@pytest.mark.parametrize(
    ("begun", "ended", "month", "year"),
    [
        ("Sat 2019-01-05", "Fri 2019-12-20", "01", 2019),
        ("Sat 2019-01-05", "Fri 2019-12-20", "12", 2019),
        ("Sat 2019-12-21", "Tue 2020-01-21", "12", 2019),
        ("Sat 2019-12-21", "Tue 2020-01-21", "01", 2020),
    ],
)
def test_lines_below_the_head_of_a_journal_are_between_its_begin_and_its_end(
    begun: str, ended: str, month: str, year: int
) -> None:
    head = f"-- Logs begin at {begun} 04:53:27 UTC, end at {ended} 05:04:46 UTC. --\n"
    line = f"Jan 01 00:00:00 host kubelet[1]: I{month}22 06:00:00.000000 1 eviction_manager.go:1] words\n"
    years, _ = clock_of((head + line).encode())
    assert year_at(years, len(head + line)) == year
