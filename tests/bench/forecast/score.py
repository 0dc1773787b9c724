"""Scores forecasts: each method on each series, in figures that add up over series."""

from collections.abc import Iterable, Iterator
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from .methods import Foretold
from .series import DAY, MINUTE, Floats, Series

WITHIN: Final = 15 * MINUTE
HOLDS: Final = 30.0
KEEPS: Final = 2 * MINUTE
"""Hold and keep times of the packaged rules of EvictionThresholdNear: an alarm fires when a forecast has been so near
for so long, and is resolved when none was for so long.
"""
AHEAD: Final = 10 * MINUTE
LEAST_SECONDS: Final = 10.0
"""Below one sample's distance an error is relative to this."""


class Score(NamedTuple):
    """The score of one method on one series."""

    forecasts: int
    unmet: int
    """Forecasts after whose latest time the series went on, and the threshold was never met."""
    followed: int
    """Forecasts with a band whose threshold was met at last."""
    covered: int
    """Forecasts of these that were met between the earliest and the latest."""
    errors: tuple[float, ...]
    """Relative, of each forecast whose threshold was met."""
    days: float
    alarms: int
    false_alarms: int
    """Alarms after which the threshold was not met for twice as long as they announce."""
    leads: tuple[float, ...]
    """Seconds before each event since the alarm fired that still did; 0 if none did."""
    grown: tuple[float, ...]
    """The same, of events whose growth lasted for longer than AHEAD."""


def score(series: Series, foretold: Foretold, within: float = WITHIN) -> Score:
    at, met = series.at, series.met
    begins = met & ~np.concatenate(([False], met[:-1]))
    events = at[begins]
    made = ~np.isnan(foretold.likely) & ~met
    following = np.searchsorted(events, at)
    follows = following < len(events)
    actual = np.where(follows, np.append(events, np.nan)[np.minimum(following, len(events))] - at, np.nan)
    banded = made & ~np.isnan(foretold.latest)
    covered = banded & follows & (foretold.earliest <= actual) & (actual <= foretold.latest)
    wrong = np.abs(foretold.likely - actual) / np.maximum(actual, LEAST_SECONDS)
    alarms = list(_alarms(at, np.where(met, 0.0, foretold.alarm), within))
    leads = [
        max((event - since for since, until in alarms if since <= event <= until), default=0.0) for event in events
    ]
    return Score(
        int(made.sum()),
        int((banded & ~follows & (at + foretold.latest < at[-1])).sum()),
        int((banded & follows).sum()),
        int(covered.sum()),
        tuple(wrong[made & follows]),
        (at[-1] - at[0]) / DAY,
        len(alarms),
        sum(not np.any(met & (at >= since) & (at <= since + 2 * within)) for since, _ in alarms),
        tuple(leads),
        tuple(lead for lead, event in zip(leads, events, strict=True) if event - series.grows_since > AHEAD),
    )


def _alarms(at: Floats, seconds: Floats, within: float) -> Iterator[tuple[float, float]]:
    """The beginnings and ends of an alarm."""
    since: float | None = None
    fires, last = np.inf, 0.0
    for now, ahead in zip(at.tolist(), seconds.tolist(), strict=True):
        if ahead <= within:
            since, last = now if since is None else since, now
            fires = min(fires, now if ahead < HOLDS or now >= since + HOLDS else np.inf)
        elif since is not None and (fires == np.inf or now >= last + KEEPS):
            if fires < np.inf:
                yield fires, now
            since, fires = None, np.inf
    if fires < np.inf:
        yield fires, float(at[-1])


class Summed(NamedTuple):
    """Over many series: coverage and error are means and medians over series, so that long ones do not weigh more."""

    coverage: float | None
    false_a_day: float
    lead: float | None
    warned: float | None
    error: float | None
    forecasts: int
    unmet: int


def summed(scores: Iterable[Score]) -> Summed:
    every = list(scores)
    coverage = [each.covered / each.followed for each in every if each.followed]
    leads = [lead for each in every for lead in each.leads]
    grown = [lead for each in every for lead in each.grown]
    errors = [median(each.errors) for each in every if each.errors]
    return Summed(
        sum(coverage) / len(coverage) if coverage else None,
        sum(each.false_alarms for each in every) / sum(each.days for each in every),
        median(leads) if leads else None,
        sum(lead >= AHEAD for lead in grown) / len(grown) if grown else None,
        median(errors) if errors else None,
        sum(each.forecasts for each in every),
        sum(each.unmet for each in every),
    )
