"""A time is given as people have it: in their own zone, or counted back from now."""

from datetime import UTC, datetime, timedelta

import click
import pytest

from leadsman.cli.main import app
from leadsman.cli.options import FORMS, ago, time
from zones import reader_in


@pytest.mark.parametrize(
    ("text", "zone", "at"),
    [
        ("2026-11-21T04:10", "UTC", datetime(2026, 11, 21, 4, 10, tzinfo=UTC)),
        ("2026-11-21T04:10", "America/New_York", datetime(2026, 11, 21, 9, 10, tzinfo=UTC)),
        ("2026-07-01 04:10", "America/New_York", datetime(2026, 7, 1, 8, 10, tzinfo=UTC)),
        ("2026-11-21", "Asia/Kolkata", datetime(2026, 11, 20, 18, 30, tzinfo=UTC)),
        ("2026-11-21T04:10Z", "Asia/Kolkata", datetime(2026, 11, 21, 4, 10, tzinfo=UTC)),
        ("2026-11-21 09:40:30+05:30", "UTC", datetime(2026, 11, 21, 4, 10, 30, tzinfo=UTC)),
    ],
)
def test_a_time_without_a_zone_is_the_reader_s(text: str, zone: str, at: datetime) -> None:
    with reader_in(zone):
        assert time(text) == at


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("1h", timedelta(hours=1)),
        ("90s", timedelta(seconds=90)),
        ("1h30m", timedelta(minutes=90)),
        ("2d", timedelta(days=2)),
    ],
)
def test_a_duration_is_counted_back_from_now(text: str, before: timedelta) -> None:
    assert ago(text) == before
    asked = datetime.now(UTC)
    assert asked - before <= time(text) <= datetime.now(UTC) - before


@pytest.mark.parametrize(
    "text", ["", "0", "-1h", "yesterday", "1w", "2026-13-01", "999999d", "0001-01-01T00:00+23:00"]
)
def test_what_is_neither_names_how_to_write_one(text: str) -> None:
    with pytest.raises(click.BadParameter, match="write 2026-11-21T04:19, 2026-11-21T04:19Z or 1h"):
        time(text)


PRINTING_ROWS = (
    *("look", "inspect", "query", "fit", "backtest", "simulate-scheduler"),
    *("validate", "doctor", "digest"),
)


@pytest.mark.parametrize("name", PRINTING_ROWS)
def test_every_command_that_prints_rows_takes_the_same_forms(name: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    (form,) = [each for each in command.params if "-o" in each.opts]
    assert isinstance(form.type, click.Choice)
    assert tuple(form.type.choices) == FORMS
