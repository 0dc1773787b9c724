"""Sources that report different numbers of exclusive CPUs, and keep doing so."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from streams.analytics.numa.state import Pending, State
from streams.fold.findings import NumaDisagreement, NumaSkew
from streams.fold.reducer import Output

DISAGREES_AFTER: Final = timedelta(minutes=2)
"""Exporters follow the kubelet by up to a minute; a shorter difference is a delay, not a disagreement."""


def with_pending(state: State, found: Mapping[tuple[int, str], tuple[int, int]], ts: datetime) -> State:
    """With the differences that stand now, by NUMA node and source, each since it began."""
    pending = {}
    for (numa, source), (mine, its) in found.items():
        key = f"{source}/{numa}"
        known = state.pending.get(key)
        same = known is not None and (known.mine, known.its) == (mine, its)
        pending[key] = (
            known if known is not None and same else Pending(numa, source, mine, its, ts, is_reported=False)
        )
    return state if pending == state.pending else msgspec.structs.replace(state, pending=pending)


def due_disagreements(state: State, ts: datetime) -> tuple[State, list[Output]]:
    """The rows of those that have stood for long enough, each once."""
    due = [key for key, each in state.pending.items() if not each.is_reported and ts - each.since >= DISAGREES_AFTER]
    if not due or state.shown.skew is None:
        return state, []
    rows: list[Output] = [_disagreement(state, state.pending[key], state.shown.skew) for key in sorted(due)]
    pending = {key: each._replace(is_reported=each.is_reported or key in due) for key, each in state.pending.items()}
    return msgspec.structs.replace(state, pending=pending), rows


def _disagreement(state: State, each: Pending, believed: NumaSkew) -> NumaDisagreement:
    return NumaDisagreement(
        cluster=state.cluster,
        ts=each.since,
        node=state.node,
        numa_node=each.numa_node,
        source_a=believed.source,
        value_a=each.mine,
        source_b=each.source,
        value_b=each.its,
        explanation=f"{believed.source} ({believed.fidelity}) is believed; {each.source} reports another number of "
        f"exclusive CPUs for over {DISAGREES_AFTER.seconds // 60} minutes",
    )
