"""Pods that stand still, and the story of nodes that did, by hand."""

from datetime import timedelta
from typing import Any

from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database.open import Database
from streams.fold.findings import NodeStall

SECOND = 10**9


def sampled(db: Database, **by_name: tuple[dict[str, Any], ...]) -> None:
    """A sample each minute of these pods of node n."""
    minutes = range(max(map(len, by_name.values())))
    store_samples(
        db,
        *[
            summary(
                T0 + timedelta(minutes=minute),
                "n",
                [{"namespace": "ns", "pod": name, "uid": name, **each[minute]} for name, each in by_name.items()],
            )
            for minute in minutes
        ],
    )


def test_the_share_of_a_pod_is_of_the_time_between_its_samples(database: Database) -> None:
    waits = [
        {
            "memory_psi_some_total_nanoseconds": 100 * SECOND + 30 * minute * SECOND,
            "memory_psi_full_total_nanoseconds": 6 * minute * SECOND,
            "memory_major_page_faults": 600 * minute,
            "swap_usage_bytes": 5,
        }
        for minute in range(4)
    ]
    sampled(database, waits=tuple(waits))
    (found,) = dicts(database, "SELECT * FROM pod_stalls")
    assert (found["memory_some_percent"], found["memory_full_percent"], found["window_seconds"]) == (50, 10, 180)
    assert (found["major_faults_per_second"], found["swap_usage_bytes"]) == (10, 5)
    assert (found["io_some_percent"], found["io_full_percent"]) == (None, None)


def test_of_one_sample_or_a_counter_that_began_anew_nothing_is_known(database: Database) -> None:
    total = "memory_psi_full_total_nanoseconds"
    sampled(database, anew=({total: 50 * SECOND}, {total: SECOND}))
    (found,) = dicts(database, "SELECT memory_full_percent FROM pod_stalls")
    assert found["memory_full_percent"] is None


def test_more_than_all_of_the_time_is_not_known(database: Database) -> None:
    """Once microseconds were stored; and in whole seconds a share can be somewhat more than all."""
    total = "memory_psi_full_total_nanoseconds"
    sampled(database, other=({total: SECOND}, {total: 1000 * SECOND}), most=({total: 0}, {total: 66 * SECOND}))
    found = dicts(database, "SELECT pod, memory_full_percent FROM pod_stalls ORDER BY pod")
    assert [(each["pod"], each["memory_full_percent"]) for each in found] == [("most", 100), ("other", None)]


def stall(seconds: int, **values: Any) -> NodeStall:
    return row(NodeStall, node="n", window_seconds=60.0, ts=T0 + timedelta(seconds=seconds), **values)


def test_the_story_has_each_time_of_standing_still_once(database: Database) -> None:
    store(
        database,
        stall(0, memory_full_percent=4.0),
        stall(60, memory_full_percent=33.0, io_full_percent=20.0),
        stall(90, memory_full_percent=0.0),
        stall(600, io_full_percent=80.0),
        stall(1200, memory_full_percent=9.0, io_full_percent=39.0),
    )
    assert [each["what"] for each in dicts(database, "SELECT what FROM story WHERE kind = 'stall' ORDER BY ts")] == [
        "For 2 min 30 s, work stalled on memory for up to 33 % of a minute.",
        "For 1 min, work stalled on I/O for up to 80 % of a minute.",
    ]
