"""Queues of a scheduler are those that it had last, while it leads (rules: scheduling-queue)."""

from datetime import timedelta

from components.rows import T0, row, store
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.fold.findings import SchedulingQueue


def seen(scheduler: str, minute: int, pods: int) -> SchedulingQueue:
    at = T0 + timedelta(minutes=minute)
    return row(SchedulingQueue, cluster="c", ts=at, scheduler=scheduler, queue="active", pods=pods)


def test_a_scheduler_that_no_longer_leads_has_no_queues(database: Database) -> None:
    """Only one that leads is asked about its queues; a dump has no newer one to compare with."""
    store(database, seen("a:1", 0, 7), seen("b:1", 6, 2), seen("b:1", 10, 3), seen("c:1", 9, 1), seen("", 0, 5))
    found = run(database, saved_query("scheduling_queues"), {})
    places = [found.column_names.index(name) for name in ("scheduler", "pods")]
    assert [tuple(each[at] for at in places) for each in found.rows] == [("", 5), ("b:1", 3), ("c:1", 1)]
