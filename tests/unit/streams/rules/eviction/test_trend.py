"""The line through the last samples: how far back it reaches, what it forgets, what it keeps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.eviction.trend import (
    FINE_POINTS,
    MAX_POINTS,
    MAX_SECONDS,
    MIN_POINTS,
    Line,
    Window,
    extend,
    is_jump,
    line,
)

CAPACITY = 10**12


def straight(points: int, per_second: int, *, value: int = 10**9, every: float = 10.0) -> Window:
    return tuple((i * every, float(value + per_second * int(i * every))) for i in range(points))


def folded(points: Window, capacity: int = CAPACITY) -> Window:
    window: Window = ()
    for seconds, value in points:
        window = extend(window, seconds, int(value), capacity)
    return window


def found(window: Window) -> Line:
    one = line(window)
    assert one is not None
    return one


@given(st.integers(MIN_POINTS, MAX_POINTS), st.integers(-(10**6), 10**6))
def test_the_line_through_straight_points_is_exact(points: int, per_second: int) -> None:
    one = found(straight(points, per_second))
    assert one.per_second == pytest.approx(per_second, rel=1e-6, abs=1e-6)
    assert one.now == pytest.approx(10**9 + per_second * 10 * (points - 1))
    assert one.span_seconds == pytest.approx(10 * (points - 1))
    assert one.is_significant


@pytest.mark.parametrize("points", range(MIN_POINTS))
def test_fewer_than_four_points_give_no_line(points: int) -> None:
    assert line(straight(points, -10, every=100.0)) is None


def test_points_within_half_a_minute_give_no_line() -> None:
    assert line(straight(4, -10, every=9.0)) is None
    assert line(straight(4, -10, every=10.0)) is not None


def test_the_line_reaches_back_only_to_the_last_change_of_slope() -> None:
    """200 s of 10 a second down, then 100 s of 40: the older part is no part of what goes on."""
    before = straight(21, -10)
    after = tuple((200.0 + i * 10, before[-1][1] - 400 * i) for i in range(1, 11))
    one = found((*before, *after))
    assert one.per_second == pytest.approx(-40, rel=0.2)
    assert one.span_seconds <= 140


def test_noise_without_a_trend_is_not_significant() -> None:
    """Up and down by turns, and four in each direction by turns, which looks like a trend for a while."""
    for period in (2, 8):
        window = tuple((i * 10.0, 10**9 + 10**6 * (i % period >= period / 2)) for i in range(32))
        assert not found(window).is_significant


@given(st.integers(100, 3000), st.integers(-(10**5), -1))
def test_old_points_are_kept_as_means_on_the_same_line(samples: int, per_second: int) -> None:
    window = folded(straight(samples, per_second))
    assert len(window) <= MAX_POINTS
    fine = FINE_POINTS - 1
    assert [t for t, _ in window[-fine:]] == [10.0 * i for i in range(samples - fine, samples)]
    one = found(window)
    assert one.per_second == pytest.approx(per_second, rel=0.01)
    assert one.span_seconds > 0.5 * min(MAX_SECONDS, samples * 10)


@given(st.lists(st.tuples(st.floats(1, 4000), st.integers(0, CAPACITY)), max_size=200))
def test_a_window_is_bounded_in_points_and_its_times_rise(steps: list[tuple[float, int]]) -> None:
    seconds = 0.0
    window: Window = ()
    for step, value in steps:
        seconds += step
        window = extend(window, seconds, value, CAPACITY)
        times = [t for t, _ in window]
        assert times == sorted(set(times))
        assert 1 <= len(window) <= MAX_POINTS


def test_a_sudden_recovery_forgets_earlier_points() -> None:
    """An eviction gives back far more than the steps before it took."""
    window = straight(6, -10, value=10_000)
    assert extend(window, 60.0, 9_500 + 500, 10_000) == ((60.0, 10_000.0),)


def test_a_starting_burst_forgets_the_quiet_time_before() -> None:
    window = straight(6, -1, value=10_000)
    assert extend(window, 60.0, 9_000, 10_000) == ((60.0, 9_000.0),)


def test_a_step_of_up_to_two_percent_of_the_capacity_is_not_a_jump() -> None:
    window = straight(6, 0, value=10_000)
    assert not is_jump(window, 9_800, 10_000)
    assert is_jump(window, 9_799, 10_000)


def test_a_fast_straight_fall_is_not_a_jump() -> None:
    """Every step is 5 % of the capacity, and none is out of proportion."""
    assert len(folded(straight(10, -50, value=10_000), 10_000)) == 10


@pytest.mark.parametrize("offset", range(0, 10, 2))
def test_a_fast_fall_is_seen_with_polls_faster_than_the_kubelets_measurements(offset: int) -> None:
    """It measures every 10 s and is asked every 2 s; 4 % of the capacity is taken between two measurements."""
    stairs = [(2.0 * i, 10_000 - 40 * max(0, (2 * i + offset) // 10 * 10 - 40)) for i in range(60)]
    one = found(folded(tuple(stairs), 10_000))
    assert one.is_significant
    assert one.per_second == pytest.approx(-40, rel=0.3)
