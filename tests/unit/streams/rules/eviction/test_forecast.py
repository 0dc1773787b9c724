"""Earliest, likely and latest: what a band is for, and where there is none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from streams.rules.eviction.forecast import (
    AHEAD,
    HORIZON_SPANS,
    MAX_LOWS,
    MET,
    NO_HISTORY,
    RATE_CHANGES,
    SAMPLE_SECONDS,
    SPREAD,
    AmountHistory,
    Band,
    follow,
    forecast,
    since,
)
from streams.rules.eviction.trend import MAX_POINTS, Line

CAPACITY = 1_000_000


def course(values: list[int], every: float = 10.0) -> tuple[AmountHistory, Line | None]:
    one, ahead = NO_HISTORY, None
    for place, value in enumerate(values):
        one, ahead = follow(one, place * every, value, CAPACITY)
    return one, ahead


def band(values: list[int], threshold: int | None, every: float = 10.0) -> Band | None:
    one, ahead = course(values, every)
    return forecast(one, ahead, values[-1], threshold)


def sawtooth(rounds: int, falls_by: int = 0) -> list[int]:
    """Samples that fall from 600,000 to 300,000 in 30 steps, again and again; each round `falls_by` lower."""
    return [600_000 - 10_000 * i - falls_by * nth for nth in range(rounds) for i in range(31)]


@given(st.integers(6, 30), st.integers(100, 10_000), st.integers(1, 40))
def test_a_straight_fall_meets_the_threshold_when_its_formula_says(points: int, fall: int, steps: int) -> None:
    values = [900_000 - fall * i for i in range(points)]
    found = band(values, values[-1] - fall * steps)
    ahead = steps * 10.0
    if ahead > HORIZON_SPANS * (points - 1) * 10:
        assert found is None
    else:
        assert found is not None
        assert found.likely == pytest.approx(ahead)
        assert found.earliest <= found.likely < found.latest


def test_a_band_is_never_narrower_than_a_rate_may_change() -> None:
    """Without any noise or error before: a fifth of the rate, and what the kubelet sees later."""
    found = band([900_000 - 1000 * i for i in range(20)], 900_000 - 19_000 - 60_000)
    assert found is not None
    assert found.earliest == pytest.approx(600 / (1 + RATE_CHANGES), rel=0.01)
    assert found.latest == pytest.approx(600 / (1 - RATE_CHANGES) + SAMPLE_SECONDS, rel=0.1)


def test_a_rise_a_flat_line_and_no_threshold_have_no_forecast() -> None:
    falling = [900_000 - 1000 * i for i in range(20)]
    assert band(falling[::-1], 800_000) is None
    assert band([900_000] * 20, 800_000) is None
    assert band(falling, None) is None


def test_nothing_is_forecast_below_the_threshold() -> None:
    assert band([5, 4, 3], 4) == MET
    assert band([5, 4], 4) is None


def test_noise_without_a_trend_is_not_forecast() -> None:
    values = np.round(default_rng(1).normal(50_000, 5_000, 500)).astype(int).tolist()
    one, ahead, made = NO_HISTORY, None, 0
    for place, value in enumerate(values):
        one, ahead = follow(one, place * 10.0, value, CAPACITY)
        made += forecast(one, ahead, value, 10_000) is not None
    assert made <= 5  # of 500: what looks like a trend for a moment


def test_a_sawtooth_is_not_forecast_until_it_falls_below_its_lows() -> None:
    before = sawtooth(4)
    assert band(before + [600_000 - 10_000 * i for i in range(25)], 100_000) is None
    lower = band(before + [600_000 - 10_000 * i for i in range(39)], 100_000)
    assert lower is not None
    assert lower.likely == pytest.approx(120.0, rel=0.1)


def test_a_leak_below_a_sawtooth_is_forecast_by_its_lows() -> None:
    """Lows fall by 20,000 a round of 310 s: from 180,000 the last one is 4 rounds above 100,000."""
    values = sawtooth(7, 20_000)
    assert min(values) == 180_000
    found = band([*values, 460_000, 450_000], 100_000)
    assert found is not None
    assert found.earliest < 4 * 310 < found.latest


def test_errors_upwards_make_the_latest_later() -> None:
    one, ahead = course([900_000 - 1000 * i for i in range(40)])
    assert ahead is not None
    value = 900_000 - 39_000
    sure = forecast(one, ahead, value, value - 60_000)
    unsure = forecast(one._replace(above=(2000.0,) * len(AHEAD)), ahead, value, value - 60_000)
    assert sure is not None
    assert unsure is not None
    assert (unsure.earliest, unsure.likely) == (sure.earliest, sure.likely)
    # at 600 s: 2000 * SPREAD in 1000 / 10 s a second more, together with the fifth of the rate
    assert unsure.latest > sure.latest
    never = forecast(one._replace(above=(40_000.0,) * len(AHEAD)), ahead, value, value - 60_000)
    assert never is None
    assert SPREAD * 40_000 < 60_000  # it may well be met; but half of that was seen to come of nothing


@given(st.lists(st.tuples(st.floats(1, 4000), st.integers(0, CAPACITY)), max_size=150), st.integers(0, CAPACITY))
def test_every_band_is_ordered_and_its_state_is_bounded(steps: list[tuple[float, int]], threshold: int) -> None:
    one, seconds = NO_HISTORY, 0.0
    for step, value in steps:
        seconds += step
        one, ahead = follow(one, seconds, value, CAPACITY)
        found = forecast(one, ahead, value, threshold)
        if found is not None:
            assert 0 <= found.earliest <= found.likely <= found.latest < float("inf")
        assert len(one.window) <= MAX_POINTS
        assert len(one.swings[0]) <= MAX_LOWS


def test_a_sample_that_is_not_later_is_left_out() -> None:
    one, _ = course([900, 800, 700])
    assert follow(one, 20.0, 7, CAPACITY)[0] == one
    assert follow(one, 19.0, 7, CAPACITY)[0] == one


def test_a_restart_forgets_earlier_samples_and_an_old_restart_forgets_nothing() -> None:
    one, _ = course([900_000 - 1000 * i for i in range(20)])
    assert since(one, 0.0) == one
    assert since(one, 105.0) == AmountHistory(window=one.window[11:])
