"""The charts of a node: each eviction signal over the range with its thresholds and forecast, as data."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import Final, NamedTuple, TypedDict

from leadsman.web.reading.asked import RowDict, ask
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import unit
from sql.database.open import Database

POINTS: Final = 288
"""Of one line, at most about so many: a day in pieces of five minutes."""
ROLLUP_SECONDS: Final = 300
AHEAD: Final = 0.25
"""A forecast is drawn for no longer than this part of the range."""
_STEPS: Final = (1, 5, 10, 15, 30, 60, 120, ROLLUP_SECONDS)


class ChartData(TypedDict):
    """What the browser draws. Times are seconds since 1970; amounts in the signal's unit."""

    signal: str
    unit: str
    at: list[int]
    lowest: list[int]
    hard: list[int | None]
    """One for each time, or one where it never changed."""
    soft: list[int | None]
    capacity: int
    forecast: list[list[float]]
    """Two points, time and amount, or none."""


class Chart(NamedTuple):
    margin: Margin
    data: ChartData

    @property
    def lowest(self) -> int:
        """Of the range."""
        return min(self.data["lowest"])


def read_charts(db: Database, scope: Scope, near: Mapping[str, Sequence[Margin]]) -> dict[str, list[Chart]]:
    """The charts of each node of `near`, in the order of its margins. Raises DatabaseError."""
    lines = {(row["node"], row["signal"]): row for row in _lines(db, scope, list(near))} if near else {}
    return {
        node: [
            Chart(margin, chart_data(margin, lines[node, margin.signal], scope))
            for margin in margins
            if (node, margin.signal) in lines
        ]
        for node, margins in near.items()
    }


def step_seconds(scope: Scope) -> int:
    """Between two points of a line: from five minutes on the roll-up is read."""
    wanted = scope.seconds / POINTS
    fine = next((step for step in _STEPS if step >= wanted), None)
    return fine or ROLLUP_SECONDS * ceil(wanted / ROLLUP_SECONDS)


def chart_data(margin: Margin, line: RowDict, scope: Scope) -> ChartData:
    """From a row of `charts`."""
    return ChartData(
        signal=margin.signal,
        unit=unit(margin.signal),
        at=list(line["at"]),
        lowest=list(line["lowest"]),
        hard=_constant(line["hard"]),
        soft=_constant(line["soft"]),
        capacity=margin.capacity,
        forecast=_forecast(margin, line["at"][-1], scope),
    )


def _lines(db: Database, scope: Scope, nodes: list[str]) -> list[RowDict]:
    step = step_seconds(scope)
    if step < ROLLUP_SECONDS:
        found = ask(db, "charts", scope, nodes=nodes, step=step)
        if found:
            return found
    # Raw samples are kept for days, roll-ups for months.
    return ask(db, "charts_5m", scope, nodes=nodes, step=max(step, ROLLUP_SECONDS))


def _constant(values: Sequence[int]) -> list[int | None]:
    """One value where it never changed; -1 is none."""
    known = [None if value < 0 else value for value in values]
    return known[:1] if len(set(known)) == 1 else known


def _forecast(margin: Margin, at: int, scope: Scope) -> list[list[float]]:
    seconds, threshold = margin.seconds, margin.threshold
    if seconds is None or threshold is None or margin.met or seconds <= 0:
        return []
    shown = min(seconds, scope.seconds * AHEAD)
    target = margin.hard if seconds == margin.seconds_to_hard else margin.soft
    end = margin.available + ((target or 0) - margin.available) * shown / seconds
    return [[at, margin.available], [round(at + shown), round(end)]]
