"""Finds the time from which a duration such as `--since 1h` counts back, in the same way for every command."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from common.durations import in_words
from leadsman.cli.exits import note

if TYPE_CHECKING:
    from sql.database.open import Database


class Range(NamedTuple):
    since: datetime | None
    until: datetime | None


def settled(
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    last: Callable[[], datetime | None],
    now: datetime | None = None,
) -> Range:
    """Resolve durations to times. They count back from `--until`, else from now, or from the last observation if it
    is old.

    It prints to standard error the time from which a duration counts. `last` returns the newest observation, and is
    called only if a duration needs it.
    """
    if isinstance(until, timedelta):
        until = _before(until, *_end(last, now), "until")
    if isinstance(since, timedelta):
        end, words = (until, "that") if until else _end(last, now)
        since = _before(since, end, words, "since")
    return Range(since, until)


def _end(last: Callable[[], datetime | None], now: datetime | None) -> tuple[datetime, str]:
    """Return now if observations still arrive, else the time of the last; with words for it."""
    from leadsman.web.reading.scope import STALE

    now = now or datetime.now(UTC)
    newest = last()
    if newest is None or now - newest < STALE:
        return now, "now"
    return newest, f"the last observation, {_shown(newest)}"


def _before(length: timedelta, end: datetime, words: str, which: str) -> datetime:
    note(f"{which} {_shown(end - length)}: {in_words(length.total_seconds())} before {words}")
    return end - length


def _shown(at: datetime) -> str:
    from sql.questions.cells import timestamp

    return timestamp(at.replace(microsecond=0))


def last_stored(database: Database, cluster: str = "") -> datetime | None:
    """Return the time of the newest observation of a cluster, or of all clusters."""
    from leadsman.web.reading.overview import read_spans

    return max((span.last_at for span in read_spans(database) if cluster in {"", span.cluster}), default=None)


def last_in_files(paths: Sequence[Path], cluster: str, node: str, at: datetime | None) -> datetime | None:
    """Read captures and dumps for the time of their newest observation."""
    from ingest.files.sources import read_sources
    from ingest.model.observation import Observed

    read = read_sources(paths, cluster=cluster, node=node, at=at)
    return max((each.observation.ts for each in read if isinstance(each, Observed)), default=None)
