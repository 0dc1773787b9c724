"""Findings as figures: the last of each node, nothing that is old, and a bounded number."""

from datetime import timedelta
from typing import Any

import pytest

from components.rows import T0, row
from streams.alerting import active
from streams.fold import figures
from streams.fold.figures import (
    FIRING,
    GC_FAILING,
    GC_MISSING,
    LEFT_OUT,
    NUMA_SKEW,
    ROOM,
    ROOM_RATIO,
    SAMPLED_AT,
    SECONDS,
    Figures,
)
from streams.fold.findings import REPEAT_EVERY, Alert, EvictionSignal, ImageGc, NodeRow, NumaSkew

MEMORY = "memory.available"
A_MINUTE = timedelta(minutes=1)


def signal(node: str = "n1", **values: Any) -> EvictionSignal:
    """1,000 bytes of 10,000 above the hard threshold."""
    given = {"signal": MEMORY, "available": 1500, "capacity": 10_000, "hard_threshold": 500, "soft_threshold": None}
    return row(EvictionSignal, node=node, **{**given, "seconds_to_hard": None, "seconds_to_soft": None, **values})


def found(*rows: object) -> Figures:
    taken = Figures()
    for each in rows:
        taken.take(each)
    return taken


def test_room_is_given_for_each_threshold_and_seconds_only_if_it_approaches() -> None:
    values = found(signal(soft_threshold=2000, soft_met=True, seconds_to_hard=90.0)).values()
    hard, soft = ("c", "n1", MEMORY, "hard"), ("c", "n1", MEMORY, "soft")
    assert values[ROOM] == {hard: 1000.0, soft: -500.0}
    assert values[ROOM_RATIO] == {hard: 0.1, soft: -0.05}
    assert values[SECONDS] == {hard: 90.0, soft: 0.0}
    assert values[SAMPLED_AT] == {("c", "n1"): T0.timestamp()}
    assert found(signal()).values()[SECONDS] == {}


def test_the_newest_row_counts_in_any_order() -> None:
    old, new = signal(), signal(available=700, ts=T0 + A_MINUTE)
    assert found(new, old).values()[ROOM] == found(old, new).values()[ROOM] == {("c", "n1", MEMORY, "hard"): 200.0}


def test_a_node_that_is_silent_or_deleted_has_no_figures() -> None:
    later = signal("n2", ts=T0 + 10 * A_MINUTE)
    assert {key[1] for key in found(signal(), later).values()[ROOM]} == {"n2"}
    skew = row(NumaSkew, scope="node", node="n1", skew_ratio=0.5)
    deleted = row(NodeRow, node="n1", deleted=True)
    values = found(signal(), skew, deleted).values()
    assert (values[ROOM], values[NUMA_SKEW]) == ({}, {})


def test_with_too_many_nodes_only_the_nearest_have_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "MOST_NODES", 1)
    near, far = signal("near", available=600), signal("far")
    skews = [row(NumaSkew, scope="node", node=f"n{each}", skew_ratio=each / 10) for each in (1, 3, 2)]
    values = found(far, near, *skews).values()
    assert {key[1] for key in values[ROOM]} == {"near"}
    assert values[LEFT_OUT] == {("c",): 1.0}
    assert values[NUMA_SKEW] == {("c", "n3"): 0.3}


@pytest.mark.parametrize(
    ("verdict", "minutes", "fails"),
    [("persistent", 0, True), ("recovered", 0, False), ("benign_startup", 0, False), ("persistent", 61, False)],
)
def test_image_gc_fails_until_it_recovers_or_no_failure_repeats(verdict: str, minutes: int, *, fails: bool) -> None:
    gc = row(ImageGc, node="n1", verdict=verdict, last_at=T0, wanted_bytes=100, freed_bytes=30)
    values = found(gc, signal(ts=T0 + minutes * A_MINUTE)).values()
    assert values[GC_FAILING] == ({("c", "n1", verdict): 1.0} if fails else {})
    assert values[GC_MISSING] == ({("c", "n1"): 70.0} if fails else {})


def test_alerts_are_counted_while_they_fire() -> None:
    firing = [row(Alert, fingerprint=f, alertname="A", severity="warning", status="firing") for f in "abc"]
    resolved = firing[0]._replace(status="resolved", ts=T0 + A_MINUTE)
    assert found(*firing, resolved).values()[FIRING] == {("c", "A", "warning"): 2.0}


def test_figures_of_reassigned_partitions_are_dropped() -> None:
    taken = Figures()
    for node, at in (("gone", 0.0), ("here", 601.0)):
        taken.take(signal(node), at)
        taken.take(row(NumaSkew, scope="node", node=node, skew_ratio=0.5), 0.0)
    taken.take(row(Alert, fingerprint="a", alertname="A", severity="warning", status="firing"), 0.0)
    taken.drop(601.0)
    values = taken.values()
    assert {key[1] for key in values[ROOM]} == {key[1] for key in values[NUMA_SKEW]} == {"here"}
    assert values[FIRING] == {("c", "A", "warning"): 1.0}
    taken.drop(2 * REPEAT_EVERY.total_seconds() + 1)
    assert taken.values()[FIRING] == {}
    assert vars(active)["REPEAT_EVERY"] is REPEAT_EVERY


def test_figures_of_silent_nodes_are_forgotten_even_without_scrapes() -> None:
    taken = Figures()
    for number in range(100):  # clusters that end, one in 5 minutes
        for each in (signal(cluster=f"c{number}"), row(NumaSkew, cluster=f"c{number}", scope="node", node="n1")):
            taken.take(each, 300.0 * number)
    assert {key[0] for key in taken.values()[ROOM]} <= {f"c{number}" for number in range(95, 100)}
    assert sum(map(len, taken._rows.values())) <= 2 * 5


def test_numa_findings_of_a_cluster_without_samples_are_kept() -> None:
    taken = found(row(NumaSkew, scope="node", node="n1", skew_ratio=0.5))
    taken.take(signal(cluster="sampled"), 1e6)
    taken.drop(1e6)
    assert taken.values()[NUMA_SKEW] == {("c", "n1"): 0.5}
