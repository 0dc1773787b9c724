"""Compares forecasting methods: ours, Prometheus' predict_linear over three ranges, and a constant value."""

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from streams.rules.eviction.forecast import NO_HISTORY, follow, forecast

from .series import MINUTE, Floats, Series


class Foretold(NamedTuple):
    """At each sample the seconds until the threshold is met; not a number where there is no forecast."""

    earliest: Floats
    likely: Floats
    latest: Floats
    alarm: Floats
    """The one that an alarm goes by."""


Method: TypeAlias = Callable[[Series], Foretold]


def ours(series: Series) -> Foretold:
    found = np.full((3, len(series.at)), np.nan)
    course = NO_HISTORY
    for place, (at, available, threshold) in enumerate(
        zip(series.at.tolist(), series.available.tolist(), series.thresholds.tolist(), strict=True)
    ):
        course, line = follow(course, at, int(available), series.capacity)
        band = forecast(course, line, int(available), int(threshold))
        if band is not None:
            found[:, place] = band
    return Foretold(found[0], found[1], found[2], found[1])


def predict_linear(minutes: float) -> Method:
    """The least-squares line through a range, as Prometheus draws it: from the sample on, however far."""

    def method(series: Series) -> Foretold:
        at, left = series.at - series.at[0], series.available - series.thresholds
        first = np.searchsorted(at, at - minutes * MINUTE)
        sums = [np.concatenate(([0.0], np.cumsum(each))) for each in (np.ones_like(at), at, left, at * at, at * left)]
        n, x, y, xx, xy = (each[1:] - each[first] for each in sums)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (n * xy - x * y) / (n * xx - x * x)
            now = (y - slope * x) / n + slope * at
            seconds = np.where((slope < 0) & (n > 1), np.maximum(now / -slope, 0.0), np.nan)
        none = np.full(len(at), np.nan)
        return Foretold(none, seconds, none, seconds)

    return method


def last_value(series: Series) -> Foretold:
    """It never announces anything."""
    none = np.full(len(series.at), np.nan)
    return Foretold(none, none, none, none)


METHODS: Final[dict[str, Method]] = {
    "leadsman": ours,
    "predict_linear 5m": predict_linear(5),
    "predict_linear 15m": predict_linear(15),
    "predict_linear 60m": predict_linear(60),
    "last value": last_value,
}
