"""A duration means the same for every command: before --until, else before now, or of a capture before its end."""

from datetime import UTC, datetime, timedelta

import pytest

from leadsman.cli.since import settled
from zones import reader_in

NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("since", "until", "newest", "found", "reported"),
    [
        (NOW - HOUR, NOW, None, (NOW - HOUR, NOW), ""),
        (None, None, None, (None, None), ""),
        (HOUR, None, NOW - MINUTE, (NOW - HOUR, None), "since 2026-07-01 11:00:00Z: 1 h before now"),
        (
            HOUR,
            None,
            NOW - 24 * HOUR,
            (NOW - 25 * HOUR, None),
            "since 2026-06-30 11:00:00Z: 1 h before the last observation, 2026-06-30 12:00:00Z",
        ),
        (HOUR, None, None, (NOW - HOUR, None), "since 2026-07-01 11:00:00Z: 1 h before now"),
        (HOUR, NOW - HOUR, None, (NOW - 2 * HOUR, NOW - HOUR), "since 2026-07-01 10:00:00Z: 1 h before that"),
        (
            MINUTE,
            HOUR,
            NOW - 24 * HOUR,
            (NOW - 25 * HOUR - MINUTE, NOW - 25 * HOUR),
            (
                "until 2026-06-30 11:00:00Z: 1 h before the last observation, 2026-06-30 12:00:00Z\n"
                "since 2026-06-30 10:59:00Z: 1 min before that"
            ),
        ),
        (NOW - 3 * HOUR, HOUR, NOW, (NOW - 3 * HOUR, NOW - HOUR), "until 2026-07-01 11:00:00Z: 1 h before now"),
    ],
)
def test_a_duration_is_before_an_end_that_is_reported(
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    newest: datetime | None,
    found: tuple[datetime | None, datetime | None],
    reported: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with reader_in("UTC"):
        assert settled(since, until, lambda: newest, NOW) == found
    assert capsys.readouterr().err.strip() == reported


def test_no_file_or_database_is_read_where_no_duration_needs_it() -> None:
    def never() -> datetime:
        raise AssertionError

    assert settled(HOUR, NOW, never) == (NOW - HOUR, NOW)
