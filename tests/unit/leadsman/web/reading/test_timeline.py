"""Timeline, charts and links: the pure parts."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row, store
from leadsman.web.reading.alerts import Alert
from leadsman.web.reading.charts import POINTS, ROLLUP_SECONDS, chart_data, step_seconds
from leadsman.web.reading.margins import Margin, margins
from leadsman.web.reading.scope import Asked, Scope, Span, choose
from leadsman.web.reading.timeline import PIECES, alert_lines, lanes, read_timeline, ticks
from leadsman.web.rendering.links import Links, ReportLinks
from sql.database.open import Database
from streams.fold.findings import ImageGc, PressureChange

SCOPE = Scope("c", T0, T0 + timedelta(hours=2))
FAR = Margin("memory.available", 800, 1000, 100, 300, False, False, None, None, False, False)


def change(minutes: float, status: bool, **values: Any) -> PressureChange:
    at = T0 + timedelta(minutes=minutes)
    given = {"node": "n", "condition": "DiskPressure", "status": status, "evidence": "event", "updated_at": at}
    return row(PressureChange, ts=at, **(given | values))


def told(db: Database, limit: int = 10, **values: str) -> Any:
    return read_timeline(db, SCOPE, (), limit, **values)


def test_the_last_lines_are_told_in_the_order_of_time(database: Database) -> None:
    store(database, *(change(minute, minute % 2 == 0) for minute in range(6)))
    story = told(database, 3)
    assert [line.ts for day in story.days for line in day.lines] == [
        T0 + timedelta(minutes=each) for each in (3, 4, 5)
    ]
    assert (story.shown, story.total) == (3, 6)


def test_a_kind_narrows_the_lines_and_not_the_lanes(database: Database) -> None:
    gc = row(ImageGc, ts=T0, node="n", verdict="persistent", explanation="x", last_at=T0, updated_at=T0)
    store(database, gc, change(1, status=True))
    story = told(database, kind="image_gc")
    assert [line.kind for day in story.days for line in day.lines] == ["image_gc"]
    assert [lane.kind for lane in story.lanes] == ["pressure", "image_gc"]
    assert story.total == 1


def test_a_story_that_is_too_long_to_be_read_whole_is_told_the_same(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(database, *(change(minute, minute % 2 == 0) for minute in range(9)))
    whole = [told(database, 4), told(database, 4, kind="pressure"), told(database, 4, kind="numa")]
    monkeypatch.setattr("leadsman.web.reading.timeline.WHOLE", 9)
    assert [told(database, 4), told(database, 4, kind="pressure"), told(database, 4, kind="numa")] == whole


def test_what_lies_outside_the_range_is_not_told(database: Database) -> None:
    store(database, change(-1, status=True), change(120, status=False))
    assert told(database).total == 0


def test_pressure_lasts_on_its_lane_from_its_begin_to_its_end(database: Database) -> None:
    store(database, change(-60, status=True), change(30, status=False), change(60, status=True))
    (lane,) = [each for each in told(database, spans_of="n").lanes if each.kind == "pressure"]
    assert [(span.left, span.width) for span in lane.spans] == [(0.0, 25.0), (50.0, 50.0)]


def test_marks_lie_where_it_happened_and_grow_with_how_often() -> None:
    (lane,) = lanes({"eviction": {0: 1, PIECES // 2: 5, PIECES - 1: 25}}, ())
    assert [round(mark.left, 3) for mark in lane.marks] == [0, 50, round(100 - 100 / PIECES, 3)]
    assert [mark.level for mark in lane.marks] == [1, 2, 3]
    assert lane.times == 31


def test_an_alert_is_told_when_it_fires_and_when_it_is_resolved() -> None:
    alert = Alert("PodsEvicted", "warning", "n", False, T0, T0 + timedelta(minutes=9), "6 pods", "", "")
    assert [(line.ts, line.what) for line in alert_lines([alert], SCOPE)] == [
        (T0, "PodsEvicted fires (warning). 6 pods"),
        (T0 + timedelta(minutes=9), "PodsEvicted is resolved."),
    ]
    before = alert._replace(starts_at=T0 - timedelta(minutes=1), ends_at=None)
    assert alert_lines([before], SCOPE) == []


@given(st.integers(1, 400 * 86_400), st.integers(0, 86_400))
def test_ticks_are_few_round_and_within_the_range(seconds: int, shift: int) -> None:
    since = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=shift)
    found = ticks(Scope("c", since, since + timedelta(seconds=seconds)))
    assert len(found) <= 7
    assert all(0 <= tick.left < 100 for tick in found)


@given(st.integers(1, 400 * 86_400))
def test_a_line_has_few_points_and_the_rollup_serves_long_ranges(seconds: int) -> None:
    step = step_seconds(Scope("c", T0, T0 + timedelta(seconds=seconds)))
    assert seconds / step <= POINTS
    assert step < ROLLUP_SECONDS or step % ROLLUP_SECONDS == 0


def test_a_day_is_drawn_from_the_rollup() -> None:
    assert step_seconds(Scope("c", T0, T0 + timedelta(days=1))) == ROLLUP_SECONDS


def line(**values: Any) -> dict[str, Any]:
    return {"at": [10, 20], "lowest": [900, 800], "hard": [100, 100], "soft": [-1, 300]} | values


def test_a_threshold_that_never_changed_is_sent_once() -> None:
    data = chart_data(FAR, line(), SCOPE)
    assert (data["hard"], data["soft"], data["forecast"]) == ([100], [None, 300], [])


def test_a_forecast_leads_to_its_threshold() -> None:
    data = chart_data(FAR._replace(seconds_to_soft=100.0), line(), SCOPE)
    assert data["forecast"] == [[20, 800], [120, 300]]


def test_a_far_forecast_is_cut_and_points_the_same_way() -> None:
    """A quarter of two hours is 1800 s, which is half of the way."""
    data = chart_data(FAR._replace(seconds_to_hard=3600.0), line(), SCOPE)
    assert data["forecast"] == [[20, 800], [1820, 450]]


def test_the_nearest_signal_comes_first_and_one_without_threshold_last() -> None:
    def now(signal: str, available: int, hard: int | None) -> dict[str, Any]:
        return {
            "node": "n", "signal": signal, "available": available, "capacity": 100, "hard": hard, "soft": None,
            "seconds_to_hard": float("nan"), "seconds_to_soft": float("nan"), "gc_first": 0, "assumed": 0,
        }  # fmt: skip

    found = margins([now("a", 90, 10), now("b", 5, 10), now("c", 1, None), now("d", 12, 10)])
    assert [(each.signal, each.hard_met) for each in found["n"]] == [
        ("b", True),
        ("d", False),
        ("a", False),
        ("c", False),
    ]
    assert found["n"][0].seconds is None


@pytest.mark.parametrize("name", ["n", "a b&c=d#e", "<img>", "é/..?"])
def test_a_link_to_a_node_carries_its_name_and_the_range(name: str) -> None:
    scope = choose([Span("c&d", T0, T0 + timedelta(days=2))], Asked(last="6h"))
    address = urlsplit(Links(scope).node(name))
    assert address.path == "/node"
    assert parse_qs(address.query) == {"cluster": ["c&d"], "last": ["6h"], "node": [name]}


def test_links_of_a_report_stay_within_it() -> None:
    links = ReportLinks(["<a>", "b"])
    assert (links.node("<a>"), links.node("b"), links.node("c")) == ("#node-1", "#node-2", "")
