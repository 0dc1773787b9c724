"""Warnings about a kubelet's settings end when what they rest on ends, also where only time passes."""

from datetime import timedelta
from typing import Any, Final

import msgspec
import pytest

from components.rows import T0
from ingest.model.objects.node import KubeletConfiguration, Node
from ingest.model.records import NodeRecord, Record, SettingsRecord
from streams.analytics.settings_warnings import REDUCER, SETTLED_AFTER, State
from streams.fold.findings import SettingsWarning

MINUTE: Final = timedelta(minutes=1)
ALL: Final = {"cpu": "4", "memory": "8Gi"}


def _settings(at: timedelta, **config: Any) -> SettingsRecord:
    given = {"evictionHard": {"memory.available": "1Mi"}, "enforceNodeAllocatable": ["pods"], **config}
    return SettingsRecord(ts=T0 + at, cluster="c", node="n", config=msgspec.convert(given, KubeletConfiguration))


def _node(at: timedelta, began: timedelta | None = None, allocatable: dict[str, str] | None = None) -> NodeRecord:
    pressure = {"type": "MemoryPressure", "status": "True", "lastTransitionTime": T0 + (began or timedelta())}
    conditions = [] if began is None else [pressure]
    status = {"capacity": ALL, "allocatable": allocatable or ALL, "conditions": conditions}
    raw = msgspec.json.encode({"metadata": {"name": "n", "uid": "u"}, "status": status})
    return NodeRecord(
        ts=T0 + at, cluster="c", node="n", change="MODIFIED", object=msgspec.json.decode(raw, type=Node)
    )


def _warned(*records: Record) -> list[tuple[timedelta, str, bool]]:
    """Return the rows of two rules: how long after T0, the rule, and whether it holds."""
    state, found = State(), []
    for each in records:
        state, rows = REDUCER.step(state, each)
        state = msgspec.msgpack.decode(msgspec.msgpack.encode(state), type=State)
        found += [row for row in rows if isinstance(row, SettingsWarning)]
    rules = {"oscillation", "allocatable_differs"}
    return [(row.ts - T0, row.rule, row.holds) for row in found if row.rule in rules]


@pytest.mark.parametrize("changed", [False, True])
def test_a_swing_ends_a_day_after_it_although_nothing_changes_any_more(changed: bool) -> None:
    changes = [_settings(MINUTE, maxPods=9)] if changed else []
    swings = [_node(minutes * MINUTE, minutes * MINUTE) for minutes in (2, 12, 22)]
    still = [_node(hours * 60 * MINUTE) for hours in (1, 24, 25, 26)]
    assert _warned(_settings(timedelta()), *changes, *swings, *still) == [
        (22 * MINUTE, "oscillation", True),
        (25 * 60 * MINUTE, "oscillation", False),
    ]


def test_a_difference_counts_once_a_change_has_settled() -> None:
    less = {"cpu": "3", "memory": "8Gi"}
    settles = 2 * MINUTE + SETTLED_AFTER
    times = (2 * MINUTE, settles - timedelta(seconds=1), settles, settles + MINUTE)
    records = [_settings(timedelta()), _node(MINUTE), *(_node(at, allocatable=less) for at in times)]
    assert _warned(*records) == [(settles, "allocatable_differs", True)]
