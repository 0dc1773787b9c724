"""Series of what is left of a resource: generated ones, whose truth is known, and recorded ones."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from ingest.files.ahead import read_ahead
from ingest.model.records import Record
from streams.analytics.eviction.eviction_trend import REDUCER
from streams.fold.findings import EvictionSignal

Floats: TypeAlias = NDArray[np.float64]

CAPACITY: Final = 64 * 2**30
THRESHOLD: Final = CAPACITY // 20
MINUTE: Final = 60.0
HOUR: Final = 3600.0
DAY: Final = 86_400.0
FINE: Final = 10.0
COARSE: Final = 30.0
"""Between samples, of series of hours and of days."""


class Series(NamedTuple):
    """Amount available at each sample, against one threshold."""

    kind: str
    at: Floats
    available: Floats
    capacity: int
    thresholds: Floats
    """At each sample."""
    grows_since: float
    """When the growth began that meets the threshold; of a recorded one not known: 0."""

    @property
    def met(self) -> NDArray[np.bool_]:
        return np.asarray(self.available < self.thresholds)


def generated(seed: int) -> Iterator[Series]:
    """One of each kind."""
    for place, (kind, make) in enumerate(KINDS.items()):
        draw = default_rng([seed, place])
        at, left, since = make(draw)
        # parts of the capacity above the threshold, until shortly after the eviction that would end it
        available = THRESHOLD + left * (CAPACITY - THRESHOLD)
        available = np.clip(np.round(available / 4096) * 4096, 0, CAPACITY)
        (met,) = np.nonzero(available < THRESHOLD)
        end = met[0] + 1 if len(met) else len(at)
        yield Series(kind, at[:end], available[:end], CAPACITY, np.full(end, float(THRESHOLD)), since)


def recorded(capture: Path) -> Iterator[Series]:
    """Each signal and threshold of each node, as the analytics of a replay know them."""
    states: dict[str, Any] = defaultdict(REDUCER.state)
    rows: dict[tuple[str, str, str], list[tuple[EvictionSignal, int | None]]] = defaultdict(list)
    for item in read_ahead([capture]):
        for record in item.records:
            for row in _fold(states, record):
                rows[row.node, row.signal, "hard"].append((row, row.hard_threshold))
                rows[row.node, row.signal, "soft"].append((row, row.soft_threshold))
    for (node, signal, which), found in rows.items():
        if all(threshold is None for _, threshold in found):
            continue
        yield Series(
            f"{node} {signal} {which}",
            np.array([row.ts.timestamp() for row, _ in found]),
            np.array([float(row.available) for row, _ in found]),
            found[-1][0].capacity,
            np.array([-1.0 if threshold is None else float(threshold) for _, threshold in found]),
            0.0,
        )


def _fold(states: dict[str, Any], record: Record) -> list[EvictionSignal]:
    node = getattr(record, "node", "")
    if not isinstance(record, REDUCER.takes):
        return []
    states[node], rows = REDUCER.step(states[node], record)
    return [row for row in rows if isinstance(row, EvictionSignal)]


Made: TypeAlias = tuple[Floats, Floats, float]
"""Times, what is left as a part (below 0: the threshold is met), and since when that grows."""


def _times(seconds: float, every: float, draw: Generator) -> Floats:
    """A sample comes up to a tenth of the interval late."""
    steps = np.arange(0, seconds, every)
    return np.asarray(1.7e9 + steps + draw.uniform(0, every / 10, len(steps)))


def _wander(at: Floats, size: float, seconds: float, draw: Generator) -> Floats:
    """Noise of a spread that forgets itself within some seconds (an autoregressive process)."""
    keep = np.exp(-np.diff(at, prepend=at[0]) / seconds)
    shocks = draw.normal(0, size, len(at))
    found = np.zeros(len(at))
    for place in range(1, len(at)):
        found[place] = keep[place] * found[place - 1] + np.sqrt(1 - keep[place] ** 2) * shocks[place]
    return found


def _grown(at: Floats, since: float, per_second: float, vary: float, draw: Generator) -> Floats:
    """Return the amount taken by a growth whose rate varies slowly."""
    rate = per_second * np.clip(1 + _wander(at, vary, 15 * MINUTE, draw), 0.1, 3) * (at >= since)
    return np.asarray(np.cumsum(rate * np.diff(at, prepend=at[0])))


def _leak(draw: Generator) -> Made:
    """Quiet, then a steady growth that takes a quarter of an hour to six hours."""
    quiet, lasts = draw.uniform(0.5, 3) * HOUR, np.exp(draw.uniform(np.log(0.25), np.log(6))) * HOUR
    at = _times(quiet + 2 * lasts, FINE, draw)
    begins, since = draw.uniform(0.3, 0.8), float(at[0] + quiet)
    noise = _wander(at, draw.uniform(0.0005, 0.01), 40, draw)
    return at, begins + noise - _grown(at, since, begins / lasts, 0.15, draw), since


def _burst(draw: Generator) -> Made:
    """Growth within minutes that half of the time stops short and gives all of it back."""
    at = _times(3 * HOUR, FINE, draw)
    begins, since = draw.uniform(0.3, 0.8), float(at[0] + draw.uniform(0.5, 2) * HOUR)
    takes, reach = draw.uniform(1, 5) * MINUTE, draw.choice([draw.uniform(0.4, 0.95), 1.2])
    taken = begins * reach * np.clip((at - since) / takes, 0, 1) * (at < since + takes + 5 * MINUTE)
    return at, begins - taken + _wander(at, draw.uniform(0.0005, 0.01), 40, draw), since


def _sawtooth(draw: Generator) -> Made:
    """A collected heap: it fills and is freed again and again, a third of them with a leak beneath."""
    at = _times(12 * HOUR, FINE, draw)
    period, size, low = draw.uniform(2, 25) * MINUTE, draw.uniform(0.1, 0.4), draw.uniform(0.03, 0.2)
    rounds = np.cumsum(np.diff(at, prepend=at[0]) / (period * (1 + _wander(at, 0.1, HOUR, draw))))
    left = low + size * (1 - rounds % 1) + _wander(at, 0.003, 40, draw)
    since = float(at[0] + 3 * HOUR)
    if draw.uniform() < 1 / 3:
        left = left - _grown(at, since, low / draw.uniform(3, 7) / HOUR, 0.15, draw)
    return at, left, since


def _daily(draw: Generator) -> Made:
    """Load that follows the day; half of them grow from day to day."""
    at = _times(3 * DAY, COARSE, draw)
    size, low = draw.uniform(0.1, 0.35), draw.uniform(0.02, 0.15)
    wave = 0.5 + 0.5 * np.cos((at - at[0]) / DAY * 2 * np.pi + draw.uniform(0, 6))
    left = low + size * wave + _wander(at, 0.006, 5 * MINUTE, draw)
    if draw.uniform() < 0.5:
        left = left - _grown(at, float(at[0]), low / draw.uniform(1, 2.5) / DAY, 0.1, draw)
    return at, left, float(at[0])


def _logs(draw: Generator) -> Made:
    """Logs in chunks, rotated after hours; in half of the series nothing rotates them."""
    at = _times(2 * DAY, COARSE, draw)
    begins, lasts = draw.uniform(0.1, 0.5), draw.uniform(6, 40) * HOUR
    taken = _grown(at, float(at[0]), begins / lasts, 0.4, draw)
    if draw.uniform() < 0.5:
        taken = taken % (begins * draw.uniform(0.3, 0.9))
    chunk = draw.uniform(0.001, 0.01)
    return at, begins - np.floor(taken / chunk) * chunk, float(at[0])


def _step(draw: Generator) -> Made:
    """Pods come and go; none of it goes on."""
    at = _times(12 * HOUR, FINE, draw)
    left, level, changes = (
        np.zeros(len(at)),
        draw.uniform(0.2, 0.6),
        draw.uniform(size=len(at)) < FINE / (20 * MINUTE),
    )
    for place in range(len(at)):
        if changes[place]:
            level = float(np.clip(level + draw.normal(0, 0.08), 0.06, 0.8))
        left[place] = level
    return at, left + _wander(at, 0.005, 40, draw), 0.0


def _noise(draw: Generator) -> Made:
    """Noise without a trend, near its threshold."""
    at = _times(12 * HOUR, FINE, draw)
    size = draw.uniform(0.003, 0.02)
    return at, np.maximum(draw.uniform(5, 9) * size + _wander(at, size, draw.uniform(20, 900), draw), 0.001), 0.0


def _warm_up(draw: Generator) -> Made:
    """A cache that fills fast, then ever slower, and never meets the threshold."""
    at = _times(6 * HOUR, FINE, draw)
    begins, since = draw.uniform(0.3, 0.8), at[0] + draw.uniform(0.5, 2) * HOUR
    taken = begins * draw.uniform(0.5, 0.93) * (1 - np.exp(-np.maximum(at - since, 0) / draw.uniform(3, 60) / MINUTE))
    return at, np.maximum(begins - taken + _wander(at, 0.005, 40, draw), 0.001), 0.0


def _slow_fill(draw: Generator) -> Made:
    """A disk that is full after days."""
    at = _times(4 * DAY, COARSE, draw)
    begins, lasts = draw.uniform(0.2, 0.7), draw.uniform(1.2, 3.5) * DAY
    by_day = 1 + 0.4 * np.sin((at - at[0]) / DAY * 2 * np.pi)
    taken = np.cumsum(begins / lasts * by_day * np.diff(at, prepend=at[0]))
    return at, begins - taken + _wander(at, 0.001, 60, draw), float(at[0])


KINDS: Final[dict[str, Callable[[Generator], Made]]] = {
    "leak": _leak,
    "burst": _burst,
    "sawtooth": _sawtooth,
    "daily": _daily,
    "logs": _logs,
    "step": _step,
    "noise": _noise,
    "warm-up": _warm_up,
    "slow fill": _slow_fill,
}
