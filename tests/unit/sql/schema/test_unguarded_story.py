"""A signal that runs low and that no threshold guards has a line of the story (rules: unguarded-signals)."""

from datetime import timedelta

from components.rows import T0, dicts, row, store
from sql.database.open import Database
from streams.fold.findings import EvictionSignal


def left(minutes: int, signal: str, available: int, capacity: int, hard: int | None = None) -> EvictionSignal:
    at = T0 + timedelta(minutes=minutes)
    of = {"signal": signal, "available": available, "capacity": capacity, "hard_threshold": hard}
    return row(EvictionSignal, node="n", ts=at, **of)


def test_the_story_has_each_time_that_little_was_left_without_a_threshold(database: Database) -> None:
    """Little is less than 5 %. The lowest of an hour is told, at the time of the first."""
    pids = (500, 204, 5, 90, *(4000,) * 12, 100)
    store(
        database,
        *(left(minute * 4, "pid.available", each, 4096) for minute, each in enumerate(pids)),
        left(0, "memory.available", 1 << 30, 1 << 40, 1 << 20),
        left(0, "nodefs.available", 3 << 30, 100 << 30),
        left(0, "imagefs.available", 3 << 30, 100 << 30, 1 << 30),
        left(4, "nodefs.inodesFree", 3 * 10**6, 10**8),
    )
    forks = "Nothing is evicted; once no process ID is free, nothing can be started, not even by the kubelet."
    assert dicts(database, "SELECT ts, node, what, about FROM story WHERE kind = 'unguarded' ORDER BY ts, what") == [
        {
            "ts": T0 + timedelta(minutes=4),
            "node": "n",
            "what": "Inodes of the node's file system ran low without a threshold: 3,000,000 of 100,000,000 left. "
            "Nothing is evicted; once no inode is free, no file can be created.",
            "about": "inodes",
        },
        {
            "ts": T0 + timedelta(minutes=4),
            "node": "n",
            "what": f"Process IDs ran low without a threshold: 5 of 4,096 left. {forks}",
            "about": "pids",
        },
        {
            "ts": T0 + timedelta(minutes=64),
            "node": "n",
            "what": f"Process IDs ran low without a threshold: 100 of 4,096 left. {forks}",
            "about": "pids",
        },
    ]
