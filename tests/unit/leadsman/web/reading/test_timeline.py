"""A range has happenings with their durations, ticks, and links."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row, store
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.overview import read_image_gc
from leadsman.web.reading.scope import RequestedRange, Scope, Span, choose
from leadsman.web.reading.timeline import Filter, Happened, of_alerts, read_timeline, ticks
from leadsman.web.rendering.links import Links, ReportLinks
from sql.database.open import Database
from streams.fold.findings import ImageGc, NodeRow, PodEnd, PressureChange

SCOPE = Scope("c", T0, T0 + timedelta(hours=2))


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def change(minutes: float, status: bool, **values: Any) -> PressureChange:
    given = {
        "node": "n",
        "condition": "DiskPressure",
        "status": status,
        "evidence": "event",
        "updated_at": at(minutes),
    }
    return row(PressureChange, ts=at(minutes), **(given | values))


def happened(db: Database, **values: Any) -> Happened:
    return read_timeline(db, SCOPE, (), read_image_gc(db, SCOPE), **values)


def spans(db: Database, **values: str) -> list[tuple[str, datetime, datetime | None]]:
    return [(each.what, each.since, each.until) for each in happened(db, **values).happenings]


def test_pressure_lasts_from_its_begin_to_its_end(database: Database) -> None:
    store(database, change(-60, status=True), change(30, status=False), change(60, status=True))
    assert spans(database) == [("DiskPressure", at(-60), at(30)), ("DiskPressure", at(60), None)]


def test_episodes_that_ended_before_the_range_are_left_out(database: Database) -> None:
    store(database, change(-60, status=True), change(-30, status=False), change(120, status=True))
    assert spans(database) == []


def test_a_node_is_not_ready_until_it_is_ready_or_gone(database: Database) -> None:
    states = {0: True, 10: False, 20: None, 30: True, 40: False}
    nodes = [
        row(NodeRow, ts=at(minute), node="n", ready=ready, ready_message="" if ready else "not said")
        for minute, ready in states.items()
    ]
    store(database, *nodes, row(NodeRow, ts=at(50), node="n", ready=False, deleted=True))
    assert spans(database) == [("Not Ready", at(10), at(30)), ("Not Ready", at(40), at(50))]


def test_image_gc_goes_on_where_it_still_fails_at_the_end(database: Database) -> None:
    for minute, last, verdict in ((0, 20, "persistent"), (30, 50, "recovered"), (60, 118, "persistent")):
        at_last = at(last)
        store(database, row(ImageGc, ts=at(minute), node="n", verdict=verdict, last_at=at_last, updated_at=at_last))
    assert [until for _, _, until in spans(database)] == [at(20), at(50), None]


def test_a_recovery_is_a_moment_after_the_last_failure(database: Database) -> None:
    store(database, row(ImageGc, ts=at(30), node="n", verdict="recovered", last_at=at(20), updated_at=at(30)))
    assert [(since, until) for _, since, until in spans(database)] == [(at(30), at(30))]


def test_an_alert_lasts_from_when_it_fired_until_it_was_resolved() -> None:
    alert = Alert("PodsEvicted", "warning", "n", False, T0, at(9), "6 pods", "", "", resource="memory")
    (found,) = of_alerts([alert], SCOPE)
    assert (found.since, found.until, found.words) == (T0, at(9), "PodsEvicted: 6 pods")
    assert (found.about, found.severity, found.resource) == ("PodsEvicted", "warning", "memory")
    assert of_alerts([alert._replace(starts_at=at(-9), ends_at=at(-1))], SCOPE) == []
    (unknown,) = of_alerts([alert._replace(unknown=True)], SCOPE)
    assert unknown.severity == "unknown"
    (lasting,) = of_alerts([alert._replace(starts_at=at(-9), ends_at=None)], SCOPE)
    assert lasting.until is None


def test_of_a_story_that_is_too_long_its_shape_and_its_end_are_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = [
        row(PodEnd, ts=at(minute), node="n", namespace="a", pod=f"p{minute}", uid=f"u{minute}", cause="oom_kill")
        for minute in range(9)
    ]
    store(database, *ends)
    assert (happened(database).whole, happened(database).shape) == (True, {})
    monkeypatch.setattr("leadsman.web.reading.timeline.MAX_STORY_LINES", 4)
    cut = happened(database)
    assert (cut.whole, [each.since for each in cut.happenings][-1]) == (False, at(8))
    assert sum(cut.shape["pod_end"].values()) == 9


@given(st.integers(1, 400 * 86_400), st.integers(0, 86_400))
def test_ticks_are_few_round_and_within_the_range(seconds: int, shift: int) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=shift)
    found = ticks(Scope("c", since, since + timedelta(seconds=seconds)))
    assert len(found) <= 7
    assert all(0 <= tick.left < 100 for tick in found)


@pytest.mark.parametrize("name", ["n", "a b&c=d#e", "<img>", "é/..?"])
def test_a_link_to_a_node_carries_its_name_and_the_range(name: str) -> None:
    scope = choose([Span("c&d", T0, T0 + timedelta(days=2))], RequestedRange(last="6h"))
    address = urlsplit(Links(scope).node(name))
    assert address.path == "/node"
    assert parse_qs(address.query) == {"cluster": ["c&d"], "last": ["6h"], "node": [name]}


def test_each_line_of_the_story_knows_its_namespaces(database: Database) -> None:
    ended = {"cause": "oom_kill", "node": "n", "updated_at": at(5)}
    store(
        database,
        row(PodEnd, ts=at(5), namespace="shop", pod="web", uid="a", container="web", **ended),
        row(PodEnd, ts=at(5), namespace="bank", pod="api", uid="b", container="web", **ended),
        change(1, status=True),
    )
    found = happened(database).happenings
    assert {each.kind: set(each.namespaces) for each in found} == {"pod_end": {"shop", "bank"}, "pressure": set()}


def test_of_a_story_too_long_to_be_read_whole_what_is_wanted_is_read(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two may be read: the last two are of n2, and what is asked for is of n1 in shop."""
    monkeypatch.setattr("leadsman.web.reading.timeline.MAX_STORY_LINES", 2)
    for nth, (node, namespace) in enumerate([("n1", "shop"), ("n2", "bank"), ("n2", "bank")]):
        end = {"namespace": namespace, "pod": f"p{nth}", "uid": f"u{nth}", "container": "c", "updated_at": at(5)}
        store(database, row(PodEnd, ts=at(5 * nth), node=node, cause="oom_kill", **end))
    found = happened(database, filters=Filter(on="n1", namespace="shop"), kinds=["pod_end"])
    assert not found.whole
    assert [each.node for each in found.happenings] == ["n1"]
    assert sum(found.shape["pod_end"].values()) == 1


def test_a_choice_of_the_timeline_keeps_the_others() -> None:
    links = Links(SCOPE, shown={"on": "n1", "namespace": "shop", "severity": "critical", "room": "disk"})
    (address,) = [urlsplit(address) for kind, (_, address) in links.kinds() if kind == "eviction"]
    kept = {"on": ["n1"], "namespace": ["shop"], "severity": ["critical"], "room": ["disk"], "kind": ["eviction"]}
    assert kept.items() <= parse_qs(address.query).items()
    assert kept["on"] == parse_qs(urlsplit(links.range("1h")).query)["on"]


def test_a_wider_range_keeps_the_node_and_the_kind() -> None:
    query = parse_qs(urlsplit(Links(SCOPE, node="n", shown={"kind": "alert"}).wider()).query)
    assert query == {
        "cluster": ["c"], "node": ["n"], "kind": ["alert"],
        "since": ["2026-07-01T10:00:00Z"], "until": ["2026-07-01T16:00:00Z"],
    }  # fmt: skip


def test_links_of_a_report_stay_within_it() -> None:
    links = ReportLinks(["<a>", "b"])
    assert (links.node("<a>"), links.node("b"), links.node("c")) == ("#node-1", "#node-2", "")
