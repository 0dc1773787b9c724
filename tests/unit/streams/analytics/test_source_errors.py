"""The time in which nobody watched: rows of `source_errors` on the cluster's log (delivery.md#reconciling)."""

from datetime import timedelta
from typing import Any

from components.rows import T0
from ingest.model.records import HeartbeatRecord
from streams.analytics.registry import REDUCERS
from streams.fold.findings import SourceError
from streams.fold.fold import Fold, LogState


def test_the_time_in_which_nobody_watched_begins_when_the_last_list_was_asked_for() -> None:
    """Two lists, an hour apart, that each took a minute; nothing else was heard."""
    fold, log = Fold(REDUCERS), LogState()
    rows: list[Any] = []
    for asked in (T0, T0 + timedelta(hours=1)):
        ended = asked + timedelta(minutes=1)
        rows += fold.step(log, HeartbeatRecord(ts=ended, cluster="c", resource="pods", anew=True, since=asked))
    (gap,) = [row for row in rows if isinstance(row, SourceError)]
    assert (gap.kind, gap.ts, gap.silent_seconds) == ("gap", T0 + timedelta(minutes=61), 3660.0)
    assert gap.error.startswith("gap: pods were not watched from 2026-07-01 12:00:00 to 2026-07-01 13:01:00 UTC")
