"""The view `pod_evictions`: the same eviction once, in whatever order its files are read, and however often."""

from pathlib import Path

import pytest

from components.rows import dicts
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from paths import SCENARIOS
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander
from streams.analytics.registry import REDUCERS
from streams.local.replay import Replay


def replay(database: Database, path: Path) -> None:
    with Lander(database) as lander:
        Replay(REDUCERS, lander, DatabaseCheckpoints(database)).run(map(decode, read_sources([path])))


@pytest.mark.parametrize("order", ["pods events", "events pods", "pods events pods events"])
def test_the_time_of_the_event_wins_in_every_order_of_files(database: Database, tmp_path: Path, order: str) -> None:
    lines = (SCENARIOS / "eviction_times" / "capture.jsonl").read_text().splitlines(keepends=True)
    for name in ("pods", "events"):
        text = "".join(line for line in lines if f'"resource": "{name}"' in line)
        (tmp_path / f"{name}.jsonl").write_text(text)
    for name in order.split():
        replay(database, tmp_path / f"{name}.jsonl")
    found = dicts(database, "SELECT pod, toString(ts) AS at, time_known FROM pod_evictions ORDER BY pod")
    assert [(row["pod"], row["at"][:19], row["time_known"]) for row in found] == [
        ("alone", "2026-04-01 12:00:03", 0),
        ("event-first", "2026-04-01 10:30:00", 1),
        ("pod-first", "2026-04-01 10:00:00", 1),
        ("rejected", "2026-04-01 11:00:00", 0),
    ]
    (line,) = dicts(database, "SELECT what FROM story WHERE kind = 'eviction' AND position(what, 'alone') > 0")
    assert line["what"].endswith("It was evicted between 2026-04-01 09:00:05 and 2026-04-01 12:00:03 UTC.")
