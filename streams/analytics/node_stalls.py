"""Reports the share of time in which nodes stall on memory or I/O, and swap: `node_stalls` (rules: psi-and-swap)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from ingest.model.records import SampleRecord
from ingest.model.samples import NodeSample
from streams.fold.findings import NodeStall
from streams.fold.reducer import Output, Reducer

WINDOW_SECONDS: Final = 60.0
"""Shares cover the last minute, or as much as samples cover; a longer gap restarts the measurement."""
QUIET_PERCENT: Final = 1.0
"""Below this share, and without swapping, there are no rows, except one that ends the stall."""
_NANOSECONDS: Final = 1_000_000_000
_POSSIBLE_PERCENT: Final = 200.0
"""Maximum of a share, above 100 because times are whole seconds.

Above this, the counter's unit changed, so the share is unknown.
"""


class Reading(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The counters of a sample, since boot; None if it has none."""

    seconds: float
    memory_some: int | None
    memory_full: int | None
    io_some: int | None
    io_full: int | None
    major_faults: int | None


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    readings: tuple[Reading, ...] = ()
    """Readings of the last minute."""
    stalls: bool = False
    """True if the last row reported a stall or swapping."""


def step(state: State, record: SampleRecord) -> tuple[State, Sequence[Output]]:
    sample = record.sample
    now = Reading(
        record.ts.timestamp(),
        sample.memory_psi_some_total_nanoseconds,
        sample.memory_psi_full_total_nanoseconds,
        sample.io_psi_some_total_nanoseconds,
        sample.io_psi_full_total_nanoseconds,
        sample.memory_major_page_faults,
    )
    start = now.seconds - WINDOW_SECONDS
    kept = tuple(each for each in state.readings if start <= each.seconds < now.seconds)
    readings = (*kept, now)
    row = _row(record, sample, kept[0] if kept else now, now)
    stalls = _is_news(row)
    return State(readings, stalls), (row,) if stalls or state.stalls else ()


def _is_news(row: NodeStall) -> bool:
    shares = (row.memory_some_percent, row.memory_full_percent, row.io_some_percent, row.io_full_percent)
    return any(each is not None and each >= QUIET_PERCENT for each in shares) or (
        bool(row.swap_usage_bytes) and (row.major_faults_per_second or 0.0) >= 1.0
    )


def _row(record: SampleRecord, sample: NodeSample, start: Reading, now: Reading) -> NodeStall:
    seconds = now.seconds - start.seconds
    return NodeStall(
        *record.row_key,
        _percent(start.memory_some, now.memory_some, seconds),
        _percent(start.memory_full, now.memory_full, seconds),
        _percent(start.io_some, now.io_some, seconds),
        _percent(start.io_full, now.io_full, seconds),
        sample.swap_usage_bytes,
        sample.swap_available_bytes,
        _rate(start.major_faults, now.major_faults, seconds),
        seconds,
    )


def _percent(before: int | None, after: int | None, seconds: float) -> float | None:
    rate = _rate(before, after, seconds)
    percent = None if rate is None else rate * 100 / _NANOSECONDS
    return None if percent is None or percent > _POSSIBLE_PERCENT else min(100.0, percent)


def _rate(before: int | None, after: int | None, seconds: float) -> float | None:
    """Return the rate; None if either is missing, or if the counter restarted, for example after a boot."""
    return None if before is None or after is None or after < before or seconds <= 0 else (after - before) / seconds


REDUCER: Final = Reducer(name="node_stalls", version=2, log="node", takes=(SampleRecord,), state=State, step=step)
