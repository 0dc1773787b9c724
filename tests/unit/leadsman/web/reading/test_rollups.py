"""The five-minute roll-ups that the page reads, against a model that keeps every row."""

from datetime import datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.rows import T0, dicts, row, store
from profiles import EXAMPLES
from sql.database.open import Database
from streams.fold.findings import EvictionSignal, NodeFit

numbers = st.integers(0, 1 << 40)
maybe = st.none() | numbers
seconds = st.none() | st.floats(0, 1e6)
signal = st.fixed_dictionaries(
    {
        "at": st.integers(0, 899),
        "node": st.sampled_from("ab"),
        "available": numbers,
        "capacity": numbers,
        "hard_threshold": maybe,
        "soft_threshold": maybe,
        "slope_per_second": st.none() | st.floats(-1e9, 1e9),
        "seconds_to_soft": seconds,
        "seconds_to_hard": seconds,
        "hard_met": st.booleans(),
        "soft_met": st.booleans(),
        "gc_first": st.booleans(),
        "thresholds_assumed": st.booleans(),
    }
)
LAST = (
    "available",
    "capacity",
    "hard_threshold",
    "soft_threshold",
    "slope_per_second",
    "seconds_to_soft",
    "seconds_to_hard",
    "gc_first",
    "thresholds_assumed",
)
one_at_a_time = st.lists(signal, min_size=1, max_size=12, unique_by=lambda each: (each["at"], each["node"]))


def stored(drawn: dict[str, Any]) -> EvictionSignal:
    values = {name: value for name, value in drawn.items() if name != "at"}
    return row(EvictionSignal, ts=T0 + timedelta(seconds=drawn["at"]), signal="memory.available", **values)


@settings(max_examples=EXAMPLES * 3 // 20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one_at_a_time, st.integers(0, 12))
def test_signal_history_is_the_lowest_and_the_last_of_each_five_minutes(
    database: Database, drawn: list[dict[str, Any]], cut: int
) -> None:
    """A null of the last sample stays null: no older forecast or threshold takes its place."""
    database.command("TRUNCATE TABLE eviction_signals")
    database.command("TRUNCATE TABLE eviction_signals_5m")
    store(database, *map(stored, drawn[:cut]))
    store(database, *map(stored, drawn[cut:]), *map(stored, drawn[:cut]))
    expected: dict[tuple[str, datetime], list[dict[str, Any]]] = {}
    for each in sorted(drawn, key=lambda one: one["at"]):
        key = (each["node"], T0 + timedelta(seconds=each["at"] // 300 * 300))
        expected.setdefault(key, []).append(each)
    found = {(each["node"], each["ts"]): each for each in dicts(database, "SELECT * FROM signal_history")}
    assert found.keys() == expected.keys()
    for key, samples in expected.items():
        assert found[key]["available_min"] == min(each["available"] for each in samples)
        assert found[key]["hard_met"] == any(each["hard_met"] for each in samples)
        assert {name: found[key][name] for name in LAST} == {name: samples[-1][name] for name in LAST}


def test_fit_history_keeps_the_last_and_the_least_free(database: Database) -> None:
    fits = [(0, 10, 90, 5), (60, 30, 70, None), (299, 20, 80, None), (300, 50, 50, 7)]
    store(
        database,
        *(
            row(
                NodeFit,
                ts=T0 + timedelta(seconds=at),
                node="n",
                resource="cpu",
                requested=requested,
                free=free,
                used=used,
            )
            for at, requested, free, used in fits
        ),
    )
    found = dicts(database, "SELECT requested, used, free_min, used_max FROM fit_history ORDER BY ts")
    assert found == [
        {"requested": 20, "used": None, "free_min": 70, "used_max": 5},
        {"requested": 50, "used": 7, "free_min": 50, "used_max": 7},
    ]
