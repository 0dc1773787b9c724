"""The slope of a window and when its line reaches a threshold."""

from itertools import combinations
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.eviction.trend import (
    ALL_PAIRS_POINTS,
    HORIZON_SPANS,
    MAX_POINTS,
    MIN_POINTS,
    WINDOW_SECONDS,
    Slope,
    Window,
    extend,
    seconds_to,
    slope,
)

CAPACITY = 10**12


def line(points: int, per_second: int, *, value: int = 10**9, every: float = 10.0) -> Window:
    return tuple((i * every, value + per_second * int(i * every)) for i in range(points))


def naive_theil_sen(window: Window) -> float:
    return median((b - a) / (t - s) for (s, a), (t, b) in combinations(window, 2))


def folded(points: Window, capacity: int = CAPACITY) -> Window:
    window: Window = ()
    for seconds, value in points:
        window = extend(window, seconds, value, capacity)
    return window


@given(st.lists(st.integers(0, 10**12), min_size=MIN_POINTS, max_size=ALL_PAIRS_POINTS - 1))
def test_of_few_points_the_slope_is_the_median_of_all_pairs(values: list[int]) -> None:
    window = tuple((i * 15.0, value) for i, value in enumerate(values))
    found = slope(window)
    if found is not None:
        assert found.per_second == pytest.approx(naive_theil_sen(window))


@given(st.lists(st.integers(-(10**9), 10**9), min_size=MIN_POINTS, max_size=MAX_POINTS))
def test_a_slope_is_given_only_where_three_quarters_of_the_pairs_have_its_sign(values: list[int]) -> None:
    window = tuple((i * 15.0, value) for i, value in enumerate(values))
    found = slope(window)
    if found is None or found.per_second == 0:
        return
    half = len(window) // 2
    pairs = list(combinations(window, 2)) if len(window) < ALL_PAIRS_POINTS else list(zip(window, window[half:]))  # noqa: B905  # the shorter one ends it
    agreeing = sum(1 for (_, a), (_, b) in pairs if (b - a) * found.per_second > 0)
    assert agreeing >= 0.75 * len(pairs)


@given(st.integers(MIN_POINTS, MAX_POINTS), st.integers(-(10**6), 10**6))
def test_the_slope_of_a_straight_line_is_its_own(points: int, per_second: int) -> None:
    assert slope(line(points, per_second)) == Slope(per_second, (points - 1) * 10.0)


@given(st.integers(12, MAX_POINTS), st.integers(-(10**6), -1), st.data())
def test_one_outlier_does_not_change_the_slope(points: int, per_second: int, data: st.DataObject) -> None:
    window = list(line(points, per_second))
    at = data.draw(st.integers(0, points - 1))
    window[at] = (window[at][0], data.draw(st.integers(0, 2 * 10**9)))
    found = slope(tuple(window))
    assert found is not None
    assert found.per_second == per_second


@given(st.integers(MIN_POINTS, MAX_POINTS), st.integers(1, 10**6), st.integers(0, 10**9))
def test_a_falling_line_reaches_a_threshold_when_its_formula_says(points: int, fall: int, threshold: int) -> None:
    window = line(points, -fall)
    seconds, value = window[-1]
    ahead = (value - threshold) / fall
    found = seconds_to(threshold, value, slope(window))
    if ahead < 0:
        assert found == 0.0
    elif ahead <= HORIZON_SPANS * seconds:
        assert found is not None
        assert found == pytest.approx(ahead)
        assert 10**9 - fall * (seconds + found) == pytest.approx(threshold, abs=1)
    else:
        assert found is None


def test_the_window_of_the_scenario_crosses_at_nine_minutes_fifty() -> None:
    """6000 - 10 t at t = 50 s is 5500, and 540 s later, at 590 s, it is 100."""
    assert seconds_to(100, 5500, slope(line(6, -10, value=6000))) == 540


@pytest.mark.parametrize("points", range(MIN_POINTS))
def test_fewer_than_four_points_support_no_slope(points: int) -> None:
    assert slope(line(points, -10, every=100.0)) is None


def test_points_within_half_a_minute_support_no_slope() -> None:
    assert slope(line(4, -10, every=9.0)) is None
    assert slope(line(4, -10, every=10.0)) is not None


@pytest.mark.parametrize(
    ("threshold", "value", "trend", "seconds"),
    [
        (None, 5, Slope(-1.0, 60.0), None),
        (10, 9, None, 0.0),
        (10, 10, None, None),
        (10, 10, Slope(-1.0, 60.0), 0.0),
        (10, 20, Slope(1.0, 60.0), None),
        (10, 20, Slope(0.0, 60.0), None),
        (10, 20, Slope(-0.5, 60.0), 20.0),
        (10, 730, Slope(-1.0, 60.0), 720.0),
        (10, 731, Slope(-1.0, 60.0), None),
    ],
)
def test_seconds_to_a_threshold(
    threshold: int | None, value: int, trend: Slope | None, seconds: float | None
) -> None:
    assert seconds_to(threshold, value, trend) == seconds


@given(st.lists(st.tuples(st.floats(-50, 400), st.integers(0, CAPACITY)), max_size=80))
def test_a_window_is_bounded_in_points_and_time_and_its_times_rise(steps: list[tuple[float, int]]) -> None:
    seconds = 0.0
    window: Window = ()
    for step, value in steps:
        seconds += step
        window = extend(window, seconds, value, CAPACITY)
        times = [t for t, _ in window]
        assert times == sorted(set(times))
        assert 1 <= len(window) <= MAX_POINTS
        assert times[-1] - times[0] <= WINDOW_SECONDS


def test_a_point_that_is_not_later_is_left_out() -> None:
    window = line(5, -10)
    assert extend(window, 40.0, 7, CAPACITY) == window
    assert extend(window, 39.0, 7, CAPACITY) == window


def test_what_came_back_at_once_forgets_what_was_before() -> None:
    """An eviction gives back far more than the steps before it took."""
    window = line(6, -10, value=10_000)
    assert extend(window, 60.0, 9_500 + 300, 10_000) == ((60.0, 9_800),)


def test_a_burst_that_begins_forgets_the_quiet_before() -> None:
    window = line(6, -1, value=10_000)
    assert extend(window, 60.0, 9_000, 10_000) == ((60.0, 9_000),)


def test_a_step_of_no_more_than_two_percent_of_the_capacity_is_no_jump() -> None:
    window = line(6, 0, value=10_000)
    assert len(extend(window, 60.0, 9_800, 10_000)) == 7
    assert len(extend(window, 60.0, 9_799, 10_000)) == 1


def test_a_fast_straight_fall_is_no_jump() -> None:
    """Every step is 5 % of the capacity, and none is out of proportion."""
    assert len(folded(line(10, -50, value=10_000), 10_000)) == 10
