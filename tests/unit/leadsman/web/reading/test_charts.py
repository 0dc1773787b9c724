"""A chart has lines, thresholds as they were, gaps and forecasts."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0
from leadsman.web.reading.charts import POINTS, ROLLUP_SECONDS, Chart, Line, charts, step_seconds
from leadsman.web.reading.margins import Margin, margins
from leadsman.web.reading.scope import Scope

SCOPE = Scope("c", T0, T0 + timedelta(hours=2))
START = int(T0.timestamp())
END = START + 7200
FAR = Margin("memory.available", 800, 1000, 100, 300, False, False, None, None, False, False)


def line(**values: Any) -> dict[str, Any]:
    at = [START, START + 60, END - 60]
    return {"at": at, "lowest": [900, 850, 800], "hard": [100, 100, 100], "soft": [-1, 300, 300]} | values


def one(margin: Margin, scope: Scope = SCOPE, **values: Any) -> Chart:
    (found,) = charts([margin], {margin.signal: line(**values)}, [], scope)
    return found


def disk(signal: str, hard: int, available: int = 500, capacity: int = 1000) -> Margin:
    return Margin(signal, available, capacity, hard, None, False, False, None, None, False, False)


@given(st.integers(1, 400 * 86_400))
def test_a_line_has_few_points_and_the_rollup_serves_long_ranges(seconds: int) -> None:
    step = step_seconds(Scope("c", T0, T0 + timedelta(seconds=seconds)))
    assert seconds / step <= POINTS
    assert step < ROLLUP_SECONDS or step % ROLLUP_SECONDS == 0


def test_a_day_is_drawn_from_the_rollup() -> None:
    assert step_seconds(Scope("c", T0, T0 + timedelta(days=1))) == ROLLUP_SECONDS


def test_a_threshold_is_kept_as_it_was_at_each_time() -> None:
    soft, hard = one(FAR, hard=[100, 200, 200]).thresholds
    assert (soft.steps, hard.steps) == (((START, None), (START + 60, 300)), ((START, 100), (START + 60, 200)))
    assert [hard.at(second) for second in (START - 1, START, START + 59, END)] == [None, 100, 100, 200]


def test_one_disk_is_drawn_once_with_the_thresholds_of_all_its_signals() -> None:
    signals = [disk("nodefs.available", 100), disk("imagefs.available", 150, 501), disk("containerfs.available", 100)]
    lines = {each.signal: line(hard=[each.hard] * 3, soft=[-1] * 3) for each in signals}
    (found,) = charts(signals, lines, [], SCOPE)
    assert (found.title, len(found.lines)) == ("Disk", 1)
    assert [(each.name, each.steps[0][1]) for each in found.thresholds] == [("node hard", 100), ("image hard", 150)]
    assert found.margin.signal == "imagefs.available"


def test_disks_of_their_own_have_charts_of_their_own() -> None:
    signals = [disk("nodefs.available", 100), disk("imagefs.available", 150, 5000, 9000)]
    found = charts(signals, {each.signal: line() for each in signals}, [], SCOPE)
    assert [(each.title, each.images) for each in found] == [("Disk (nodefs)", False), ("Disk (imagefs)", True)]


def test_image_gc_starts_at_what_its_settings_leave_at_the_time() -> None:
    rows = [
        {"ts": T0 - timedelta(days=1), "image_gc_high_percent": 85, "image_gc_low_percent": 80},
        {"ts": T0 + timedelta(hours=1), "image_gc_high_percent": 70, "image_gc_low_percent": 80},
    ]
    signal = disk("imagefs.available", 100)
    (found,) = charts([signal], {signal.signal: line()}, rows, SCOPE)
    gc = [each for each in found.thresholds if each.kind == "gc"]
    assert [(each.name, each.steps) for each in gc] == [
        ("GC target 80 %", ((START, 200),)),
        ("GC starts 70 %", ((START, 150), (START + 3600, 300))),
    ]


def test_a_forecast_leads_to_its_threshold_and_a_little_further() -> None:
    """A fall from 800 to 300 in 100 s is 5 a second, drawn for 110 s."""
    forecast = one(FAR._replace(seconds_to_soft=100.0)).forecast
    assert forecast is not None
    assert forecast.points == ((END - 60, 800), (END + 50, 250))
    assert forecast.hits == ((END + 40, 300),)


def test_the_band_of_a_forecast_ends_at_the_threshold_or_where_the_drawing_does() -> None:
    """The earliest meets 300 after 50 s; the latest, of 3600 s, is cut at a quarter of two hours, half of the way."""
    forecast = one(FAR._replace(seconds_to_soft=100.0, soft_band=(50.0, 3600.0))).forecast
    assert forecast is not None
    assert forecast.early == (END - 10, 300)
    assert forecast.late == (END - 60 + 1800, 550)


def test_when_a_threshold_is_met_is_put_in_words_with_its_band() -> None:
    likely = FAR._replace(seconds_to_soft=300.0)
    assert (likely.ahead, likely.likely, likely.spread) == ("soft threshold in 5 min", "soft in 5 min", "")
    band = likely._replace(soft_band=(181.0, 544.0))
    assert band.ahead == "soft threshold between 3 min and 9 min from now, most likely in 5 min"
    assert (band.likely, band.spread) == ("soft in 5 min", "3 min to 9 min")
    assert likely._replace(soft_band=(299.0, 301.0)).spread == ""
    assert (FAR.likely, FAR.spread) == ("", "")


def test_a_far_forecast_is_cut_and_points_the_same_way() -> None:
    """A quarter of two hours is 1800 s, which is half of the way."""
    forecast = one(FAR._replace(seconds_to_hard=3600.0)).forecast
    assert forecast is not None
    assert (forecast.points[1], forecast.hits) == ((END - 60 + 1800, 450), ())


def test_old_samples_forecast_nothing() -> None:
    live = SCOPE._replace(now=T0 + timedelta(days=1))
    assert one(FAR._replace(seconds_to_soft=100.0), live).forecast is None


@pytest.mark.parametrize(("last", "gaps"), [(600, [(120, 600)]), (180, [])])
def test_missing_samples_are_a_gap(last: int, gaps: list[tuple[int, int]]) -> None:
    assert Line("x", (0, 60, 120, last), (1, 1, 1, 1)).gaps == gaps


def test_the_worst_moment_is_the_nearest_to_a_threshold_not_the_lowest() -> None:
    found = one(FAR, lowest=[900, 500, 400], hard=[100, 480, 100], soft=[-1, -1, -1])
    assert found.worst == 1


def test_the_nearest_signal_comes_first_and_one_without_threshold_last() -> None:
    def now(signal: str, available: int, hard: int | None) -> dict[str, Any]:
        return {
            "node": "n", "signal": signal, "available": available, "capacity": 100, "hard": hard, "soft": None,
            "seconds_to_hard": float("nan"), "seconds_to_soft": float("nan"), "gc_first": 0, "assumed": 0,
            "hard_earliest": float("nan"), "hard_latest": float("nan"), "soft_earliest": float("nan"),
            "soft_latest": float("nan"), "acts_first": "",
        }  # fmt: skip

    found = margins([now("a", 90, 10), now("b", 5, 10), now("c", 1, None), now("d", 12, 10)])
    assert [(each.signal, each.hard_met) for each in found["n"]] == [
        ("b", True),
        ("d", False),
        ("a", False),
        ("c", False),
    ]
    assert found["n"][0].seconds is None
