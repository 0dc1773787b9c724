"""A state that is over leaves saved questions and alerts too: the same pairs as those of look, page and report."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, NamedTuple

import pytest

from components.alert_log import AlertLog
from components.database import EmptyDatabase
from components.rows import store
from sql.questions.queries import run, saved_query
from streams.fold.findings import Row
from unit.leadsman.web.attention.test_over import PAIRS, Pair


class Question(NamedTuple):
    query: str
    holds: Callable[[dict[str, Any]], bool]
    """Tell whether a row of its answer shows that the finding holds."""


NOT_READY: Final = Question("not_ready", lambda row: row["until"] is None)
NEXT: Final = Question("next_eviction", lambda row: row["seconds_to_threshold"] is not None)
GC: Final = Question("image_gc", lambda row: row["verdict"] not in {"", "recovered"})
ASKED: Final = {
    "not Ready": NOT_READY,
    "Ready unknown": NOT_READY,
    "nodes cordoned": Question("nodes", lambda row: bool(row["unschedulable"])),
    "karpenter": Question("nodes", lambda row: bool(row["taints"])),
    "DiskPressure": Question("pressure_history", lambda row: row["ended_at"] is None),
    "below the hard threshold on 1 node": NEXT,
    "below the soft threshold on 1 node": NEXT,
    "near a threshold on 1 node": NEXT,
    "without a threshold": Question("unguarded_signals", lambda row: row["available_percent"] < 5),
    "Image GC keeps failing": GC,
    "Image GC fails to delete images": GC,
    "Image GC fails at every start": GC,
    "Image GC frees too little": GC,
    "joined later stay emptier": Question("late_joiners", lambda row: row["verdict"] == "late_joiners_emptier"),
    "More requested than allocatable": Question("fit", lambda row: row["requested"] > row["allocatable"]),
    "1 pod Pending": Question("pending_pods", lambda row: row["pod"] == "web-1"),
    "still Terminating": Question("pod_ends", lambda row: not row["deleted"]),
    "resize deferred": Question("pending_resizes", lambda row: row["state"] == "deferred"),
    "resize infeasible": Question("pending_resizes", lambda row: row["state"] == "infeasible"),
    "Condition KernelDeadlock": Question("nodes", lambda row: bool(row["problems"])),
    "PodsEvicted": Question("alerts", lambda row: row["status"] == "firing"),
}
WITHOUT_QUESTION: Final = {"Uneven NUMA nodes", "cordoned (from an Event)"}
"""`numa_map` has the room of each NUMA node, and no verdict; a cordon by an Event is a line of the story."""


def _in(cluster: str, rows: list[Row]) -> list[Row]:
    return [each._replace(cluster=cluster) for each in rows]  # type: ignore[attr-defined] # each is a NamedTuple


@pytest.fixture(scope="module")
def answers(empty_database: EmptyDatabase) -> dict[str, list[dict[str, Any]]]:
    """The rows of each question, of all pairs at once: each is two clusters."""
    with empty_database() as database:
        for pair in PAIRS:
            store(database, *_in(f"{pair.title} holds", [*pair.holds]))
            store(database, *_in(f"{pair.title} is over", [*pair.holds, *pair.ends]))
        found = {}
        for name in {each.query for each in ASKED.values()}:
            answer = run(database, saved_query(name), {})
            found[name] = [dict(zip(answer.column_names, row, strict=True)) for row in answer.rows]
    return found


def test_every_finding_has_a_question() -> None:
    assert {pair.title for pair in PAIRS} == ASKED.keys() | WITHOUT_QUESTION


@pytest.mark.parametrize("title", ASKED)
def test_the_answer_of_a_question_holds_as_long_as_the_finding(
    answers: dict[str, list[dict[str, Any]]], title: str
) -> None:
    query, holds = ASKED[title]
    for state, expected in (("holds", True), ("is over", False)):
        rows = [each for each in answers[query] if each["cluster"] == f"{title} {state}"]
        assert any(map(holds, rows)) is expected, (state, rows)


ALERTS: Final = {
    "not Ready": "NodeNotReady",
    "Ready unknown": "NodeNotReady",
    "DiskPressure": "NodePressureLasting",
    "below the hard threshold on 1 node": "EvictionThresholdNear",
    "below the soft threshold on 1 node": "EvictionThresholdNear",
    "near a threshold on 1 node": "EvictionThresholdNear",
    "without a threshold": "EvictionThresholdNear",
    "Image GC keeps failing": "ImageGCInvalidCapacity",
    "Image GC fails to delete images": "ImageGCInsufficientFreed",
    "Image GC fails at every start": "ImageGCRestartLoop",
    "Image GC frees too little": "ImageGCInsufficientFreed",
    "More requested than allocatable": "NodeOvercommitted",
    "Uneven NUMA nodes": "NUMASkewHigh",
}


def _later(rows: list[Row], seconds: int) -> list[Row]:
    """The rows as an hour of samples repeats them."""
    later = timedelta(seconds=seconds)
    return [
        each._replace(**{name: getattr(each, name) + later for name in ("ts", "last_at") if hasattr(each, name)})  # type: ignore[attr-defined]
        for each in rows
    ]


@pytest.mark.parametrize("pair", [pair for pair in PAIRS if pair.title in ALERTS], ids=lambda pair: pair.title)
def test_the_alert_of_a_finding_fires_while_it_holds_and_resolves_once_it_is_over(pair: Pair) -> None:
    log, alert = AlertLog(), ALERTS[pair.title]
    for seconds in range(1, 3600, 60):
        log(seconds, *_later([*pair.holds], seconds))
    assert [each.status for each in log.emitted if each.alertname == alert][-1:] == ["firing"]
    for seconds in range(3600, 7200, 60):
        log(seconds, *_later([*pair.ends], seconds))
    assert [each.status for each in log.emitted if each.alertname == alert][-1:] == ["resolved"]
