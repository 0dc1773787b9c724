"""The first action on a falling signal is found, and since when a soft threshold is met."""

from datetime import datetime, timedelta

import pytest

from components.alert_log import signal
from components.rows import T0, summary
from ingest.model.objects.node import KubeletConfiguration
from ingest.model.records import Record, SettingsRecord
from streams.analytics.eviction.eviction_trend import REDUCER, _acts_first
from streams.fold.findings import EvictionSignal
from streams.fold.fold import Fold, LogState

HARD = signal(seconds_to_hard=300.0)
ALLOCATABLE = signal("allocatableMemory.available", seconds_to_hard=200.0)
DISK = signal("nodefs.available", seconds_to_hard=300.0)
IMAGES = signal("imagefs.available", seconds_to_hard=200.0)


@pytest.mark.parametrize(
    ("row", "others", "first"),
    [
        (HARD, [], "hard"),
        (HARD._replace(seconds_to_soft=100.0, soft_grace_seconds=90.0), [], "soft"),
        (HARD._replace(seconds_to_soft=100.0, soft_grace_seconds=210.0), [], "hard"),
        (HARD, [ALLOCATABLE], "allocatableMemory.available"),
        (HARD, [ALLOCATABLE._replace(seconds_to_hard=400.0)], "hard"),
        (HARD, [IMAGES], "hard"),
        (DISK, [IMAGES], "imagefs.available"),
        (DISK, [IMAGES._replace(capacity=1)], "hard"),  # a disk of its own
        (DISK._replace(gc_first=True), [IMAGES], "image_gc"),
    ],
)
def test_pods_are_evicted_once_for_all_signals_of_a_resource(
    row: EvictionSignal, others: list[EvictionSignal], first: str
) -> None:
    assert _acts_first(row, [row, *others]) == first


def _settings(at: float, soft: str) -> SettingsRecord:
    config = KubeletConfiguration(
        eviction_hard={"memory.available": "1"},
        eviction_soft={"memory.available": soft},
        eviction_soft_grace_period={"memory.available": "90s"},
    )
    return SettingsRecord(ts=T0 + timedelta(seconds=at), cluster="c", node="n", config=config)


def _sample(at: float, available: int = 50) -> Record:
    memory = {"memory_available_bytes": available, "memory_working_set_bytes": 1000 - available}
    return summary(T0 + timedelta(seconds=at), "n", (), **memory).folded()


@pytest.mark.parametrize(
    ("given", "since"),
    [
        ([_sample(0), _sample(10)], 0),
        ([_sample(0), _sample(10, available=100), _sample(20)], 20),  # exactly the threshold is not below it
        ([_sample(0), _sample(300), _sample(600)], 0),
        ([_sample(0), _sample(301)], 301),  # nobody knows what was between
        ([_sample(0), _settings(5, "200"), _sample(10)], 10),  # of another threshold
        ([_sample(0), _settings(5, "100"), _sample(10)], 0),
    ],
)
def test_a_soft_threshold_is_met_since_the_first_of_the_samples_in_a_row(given: list[Record], since: float) -> None:
    fold, log, found = Fold([REDUCER]), LogState(), list[datetime | None]()
    for record in (_settings(-1, "100"), *given):
        rows = [each for each in fold.step(log, record) if isinstance(each, EvictionSignal)]
        found += [row.soft_met_since for row in rows if row.signal == "memory.available"]
    assert found[-1] == T0 + timedelta(seconds=since)
