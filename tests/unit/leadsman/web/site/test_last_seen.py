"""A live cluster that is not heard of keeps its last known state: grey, with its age, and never as now."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import pytest

from components.rows import T0, row, store, store_samples, summary
from leadsman.web.attention.attention import attention
from leadsman.web.attention.item import Item
from leadsman.web.reading.overview import Overview, read_overview, read_spans
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.site.asking import Question, page_of
from leadsman.web.site.pages import Request, find_of, node_of, numa_of, overview_of, runbook_of
from sql.database.open import Database
from sql.questions.query_process import QueryProcess
from streams.fold.findings import Alert, EvictionSignal, NodeRow, NumaSkew, PodBinding, PressureChange

MINUTE: Final = timedelta(minutes=1)
GIB: Final = 1 << 30
LAST: Final = T0 + 10 * MINUTE
"""The last observation; before it, a sample a minute."""
QUIET_FOR: Final = (timedelta(minutes=7), timedelta(minutes=45), timedelta(hours=3), timedelta(days=3))
"""Stale by the pace of samples, then for longer than alerts outlive their data, which is an hour."""
LEFT: Final = {"leaks": 1 * GIB, "scarce": 5 * GIB, "roomy": 60 * GIB}
CAPACITY: Final = 100 * GIB


@pytest.fixture
def heard(database: Database) -> Database:
    """Node leaks is below its threshold and under pressure, for pod leaky-1 grows, and its alerts fire."""
    for node, left in LEFT.items():
        pods = [{"namespace": "shop", "pod": f"{name}-1", "uid": f"{name}-{node}"} for name in ("leaky", "steady")]
        store(
            database,
            row(NodeRow, ts=LAST, node=node, ready=True),
            *(row(PodBinding, change="bound", phase="Running", node=node, owner_kind="ReplicaSet",
                  owner_name=str(pod["pod"])[:-2], **pod) for pod in pods),
            row(EvictionSignal, ts=LAST, node=node, signal="memory.available", available=left, capacity=CAPACITY,
                hard_threshold=2 * GIB, hard_met=left < 2 * GIB),
            row(NumaSkew, ts=LAST, scope="node", node=node, cpu_manager_policy="static", fidelity="exact",
                free_cpus=4, largest_fit_cpus=4, skew_ratio=0.0, stranded_cpus=0),
        )  # fmt: skip
        for minute in range(11):
            used = {"leaky": (GIB + GIB * minute) if node == "leaks" else GIB, "steady": GIB}
            grown = [pod | {"memory_working_set_bytes": used[str(pod["pod"])[:-2]]} for pod in pods]
            sampled = {"memory_available_bytes": left, "memory_working_set_bytes": CAPACITY - left}
            store_samples(database, summary(T0 + minute * MINUTE, node, grown, **sampled))
    store(
        database,
        row(PressureChange, ts=LAST - MINUTE, node="leaks", condition="MemoryPressure", status=True, **UPDATED),
        _alert("EvictionThresholdNear", resource="memory"),
        _alert("NodePressureLasting", condition="MemoryPressure"),
    )
    return database


UPDATED: Final = {"updated_at": LAST - MINUTE}


def _alert(name: str, **labels: str) -> Alert:
    given = {"alertname": name, "cluster": "c", "node": "leaks", "severity": "critical", **labels}
    return row(Alert, ts=LAST - MINUTE, fingerprint=name, alertname=name, severity="critical", status="firing",
               starts_at=LAST - MINUTE, node="leaks", labels=given, annotations={"summary": f"{name} fires"},
               **UPDATED)  # fmt: skip


def view(db: Database, now: datetime | None, node: str = "") -> Overview:
    spans = read_spans(db)
    return read_overview(db, choose(spans, RequestedRange(), now), spans, node)


def cards(db: Database, now: datetime | None) -> list[Item]:
    return attention(view(db, now))


def pages(db: Database, now: datetime) -> Iterator[str]:
    request = Request.of({"node": "leaks", "q": "e"})
    for make in (overview_of, node_of, numa_of, find_of):
        yield make(db, request, lambda: now) or ""
    yield runbook_of(db, request, "EvictionThresholdNear", lambda: now)
    process = QueryProcess(db)
    try:
        for asked in ({}, {"name": "next_eviction"}):
            yield page_of(db, Question.of(asked, trusted=True), process, lambda: now)
    finally:
        process.close()


@pytest.mark.parametrize("quiet_for", QUIET_FOR, ids=str)
def test_a_silent_cluster_keeps_its_map_and_numbers_in_grey(heard: Database, quiet_for: timedelta) -> None:
    fresh, old = (overview_of(heard, Request.of({}), partial(LAST.__add__, age)) or "" for age in (MINUTE, quiet_for))
    legends = [re.findall(r'<i class="c\d"></i><b class="num">\d+</b>', page) for page in (fresh, old)]
    assert legends[0] == legends[1]
    assert '<i class="c1"></i><b class="num">1</b>' in old
    cells = [sorted(re.findall(r'<a href="[^"]*" class="(c\d)[^"]*"', page)) for page in (fresh, old)]
    assert cells[0] == cells[1] == ["c1", "c2", "c5"]
    figures = [re.findall(r"<dt>([a-z ]+)</dt><dd>(.*?)</dd>", page) for page in (fresh, old)]
    assert figures[0] == figures[1]
    assert ("nodes", "3") in figures[1]
    assert ("aged" in _classes(fresh), "aged" in _classes(old)) == (False, True)
    (words,) = re.findall(r'title="scarce: (.*?)"', old)
    assert words.startswith("memory: 3 % left, ")
    assert words.endswith(" ago")


def _classes(page: str) -> list[str]:
    return page.partition('<main id="main" class="')[2].partition('"')[0].split()


@pytest.mark.parametrize("quiet_for", QUIET_FOR, ids=str)
def test_one_incident_is_one_card_however_long_nothing_was_heard(heard: Database, quiet_for: timedelta) -> None:
    """It keeps its culprit, its step and its alerts, and says of when they are."""
    silence, incident = cards(heard, LAST + quiet_for)
    assert (silence.title, incident.title) == (
        "No current data",
        "Memory: below the hard threshold on 1 node, MemoryPressure on 1 node",
    )
    assert incident.now, "at the last observation, which is what the heading says"
    assert incident.alerts == ("EvictionThresholdNear", "NodePressureLasting")
    assert re.fullmatch(r"shop/leaky grew 60\.0 GiB/h, .* ago", incident.who)
    assert incident.step.words.startswith("If it still grows, give what grows a limit")
    assert incident.step.words.endswith("kubectl cordon leaks && kubectl delete pod -n shop leaky-1")


def test_a_card_of_a_live_cluster_is_in_the_present_tense(heard: Database) -> None:
    (incident,) = cards(heard, LAST + MINUTE)
    assert incident.who == "shop/leaky grows 60.0 GiB/h"
    assert incident.step.words.startswith("Give what grows")


@pytest.mark.parametrize("quiet_for", QUIET_FOR, ids=str)
def test_every_page_says_how_old_its_data_is(heard: Database, quiet_for: timedelta) -> None:
    for page in pages(heard, LAST + quiet_for):
        text = " ".join(re.sub(r"<[^>]*>", "", page).split())
        assert f"{LAST:%Y-%m-%d %H:%M:%S} UTC, " in text
        assert " ago" in text
        assert "aged" in _classes(page)
        assert ">Now<" not in page
        assert "all clear" not in page
        assert 'class="tag ok">ok<' not in page


def test_a_question_says_of_each_cluster_how_old_its_data_is(heard: Database) -> None:
    store(heard, row(NodeRow, ts=LAST - 60 * MINUTE, cluster="older", node="n", ready=True))
    *_, text, _ = pages(heard, LAST + MINUTE)
    assert "c: Last sample" in text
    assert "older: last seen" in text


def test_alerts_of_one_node_that_is_not_sampled_join_what_is_left_of_its_incident(heard: Database) -> None:
    """Its forecast is gone with its samples, and its pressure is known by the API server."""
    for minute in range(11, 31):
        sampled = {"memory_available_bytes": LEFT["roomy"], "memory_working_set_bytes": CAPACITY}
        store_samples(heard, summary(T0 + minute * MINUTE, "roomy", (), **sampled))
    titles = [(item.title, item.now) for item in cards(heard, T0 + 30 * MINUTE)]
    assert titles == [
        ("Memory: below the hard threshold on 1 node, MemoryPressure on 1 node", True),
        ("No recent statistics of 2 of 3 nodes", True),
    ]
