"""Reclaims: an eviction whose cause is unknown leaves open how an attempt ended."""

from datetime import timedelta

import pytest

from components.rows import T0, row
from ingest.model.objects.event import Event, EventMetadata, ObjectReference
from ingest.model.records import EventRecord
from streams.analytics.eviction.reclaims import REDUCER
from streams.fold.findings import Eviction, PressureChange, Reclaim, Row
from streams.fold.reducer import LogFindings


@pytest.mark.parametrize(
    ("causes", "outcome"),
    [
        ([], "no_eviction_seen"),
        (["unknown"], "unknown"),
        (["unknown", "limit"], "no_eviction_seen"),
        (["unknown", "pressure"], "evicted"),
    ],
)
def test_no_eviction_is_not_claimed_beside_one_without_a_reason(causes: list[str], outcome: str) -> None:
    event = Event(
        metadata=EventMetadata("n.1", "default", uid="e"),
        reason="EvictionThresholdMet",
        message="Attempting to reclaim memory",
        involved_object=ObjectReference("Node", name="n"),
        first_timestamp=T0,
        last_timestamp=T0,
    )
    state, _ = REDUCER.step(REDUCER.state(), EventRecord(ts=T0, cluster="c", node="n", change="ADDED", object=event))
    named = {"unknown": "", "pressure": "memory", "limit": "ephemeral-storage"}
    found: list[Row] = [
        row(Eviction, ts=T0 + timedelta(seconds=5), uid="u", cause=each, resource=named[each]) for each in causes
    ]
    found.append(row(PressureChange, ts=T0 + timedelta(minutes=5), condition="MemoryPressure", status=False))
    last: dict[int, Reclaim] = {}
    for number, each in enumerate(found):
        state, rows = REDUCER.step(state, LogFindings(T0 + timedelta(minutes=number), "n", False, (each,)))
        last |= {given.version: given for given in rows if isinstance(given, Reclaim)}
    assert last[max(last)].outcome == outcome
