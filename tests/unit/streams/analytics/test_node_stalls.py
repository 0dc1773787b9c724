"""Shares of the time that cannot be (rules: psi-and-swap)."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, summary
from streams.analytics.node_stalls import REDUCER, State
from streams.fold.findings import NodeStall

SECOND = 10**9


@pytest.mark.parametrize(("later", "percent"), [(11, 100), (1000, None)])
def test_more_than_all_of_the_time_is_not_known(later: int, percent: float | None) -> None:
    """A total in microseconds, as once was stored, before one in nanoseconds; whole seconds explain a little."""
    state = State()
    for seconds, total in ((0, 0), (10, later)):
        waits: dict[str, Any] = {
            "memory_psi_full_total_nanoseconds": total * SECOND,
            "io_psi_full_total_nanoseconds": seconds * SECOND,
        }
        state, rows = REDUCER.step(state, summary(T0 + timedelta(seconds=seconds), "n", **waits).folded())
    (stall,) = rows
    assert isinstance(stall, NodeStall)
    assert (stall.memory_full_percent, stall.io_full_percent) == (percent, 100)
