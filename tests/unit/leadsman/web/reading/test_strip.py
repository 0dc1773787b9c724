"""The strip of a day: which day, and the least room in it."""

from datetime import timedelta

import pytest

from components.node_lines import node_line
from components.rows import T0, row, store
from leadsman.web.reading.charts import read_strip, strip_scope
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.scope import Scope, Span
from sql.database.open import Database
from streams.fold.findings import EvictionSignal

HOUR = timedelta(hours=1)
SPAN = Span("c", T0, T0 + 72 * HOUR)


@pytest.mark.parametrize(
    ("since", "until", "strip"),
    [
        (71, 72, (48, 72)),  # the last hour: the day that ends with it
        (30, 32, (19, 43)),  # in the middle of a day
        (0, 1, (0, 12.5)),  # nothing was observed before
        (10, 60, (10, 60)),  # longer than a day: itself
        (80, 81, (57, 81)),  # after the last observation
    ],
)
def test_the_range_is_in_a_day_that_has_observations(since: int, until: int, strip: tuple[float, float]) -> None:
    span = SPAN._replace(last_at=SPAN.last_at - timedelta(seconds=1))
    around = strip_scope(Scope("c", T0 + since * HOUR, T0 + until * HOUR), span)
    assert ((around.since - T0) / HOUR, (around.until - T0) / HOUR) == pytest.approx(strip)


def test_a_nodes_line_shows_the_least_room_above_any_threshold(database: Database) -> None:
    """Memory has 1/8 of what is above its soft threshold, the disk is 1/10 below its hard one; PIDs have none."""
    signals = {
        "memory.available": (30, 100, 10, 20),
        "nodefs.available": (1, 100, 10, None),
        "pid.available": (0, 100, None, None),
    }
    margins = []
    for minutes, (signal, (available, capacity, hard, soft)) in enumerate(signals.items()):
        margins.append(Margin(signal, available, capacity, hard, soft, False, False, None, None, False, False))
        for at in {0, 5 * minutes}:
            store(database, row(EvictionSignal, ts=T0 + timedelta(minutes=at), node="n", signal=signal,
                                available=available, capacity=capacity, hard_threshold=hard,
                                soft_threshold=soft))  # fmt: skip
    scope = Scope("c", T0, T0 + HOUR)
    line = read_strip(database, scope, SPAN, node_line("n", margins=tuple(margins))).line
    assert line is not None
    assert dict(zip(line.at, line.lowest, strict=True)) == {
        int(T0.timestamp()): -100,
        int(T0.timestamp()) + 300: -100,
    }


def test_without_samples_it_has_no_line(database: Database) -> None:
    assert read_strip(database, Scope("c", T0, T0 + HOUR), SPAN, node_line("n")).line is None
