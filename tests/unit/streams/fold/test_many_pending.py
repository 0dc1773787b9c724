"""An inventory stays cheap for a log that knows tens of thousands of pods."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from ingest.model.objects.base import Condition
from ingest.model.objects.pod import Pod, PodMetadata, PodSpec, PodStatus
from ingest.model.records import InventoryRecord, PodRecord
from streams.analytics.registry import REDUCERS
from streams.fold.findings import PodBinding
from streams.fold.fold import Fold, LogState

pytestmark = pytest.mark.costly

PODS: Final = 12_000
T0: Final = datetime(2026, 7, 1, tzinfo=UTC)
UNSCHEDULABLE: Final = Condition(
    "PodScheduled", "False", "Unschedulable", "0/5000 nodes are available: 5000 Insufficient cpu."
)
MOST_CPU_SECONDS: Final = 8.0
"""It took 0.5, and 13 when each deletion was looked for among all others."""


@pytest.mark.parametrize("left", [0, 1])
def test_an_inventory_costs_the_log_of_many_pending_pods_little(left: int) -> None:
    fold, log = Fold(REDUCERS), LogState()
    uids = [f"uid-{number:05}" for number in range(PODS)]
    for number, uid in enumerate(uids):
        metadata = PodMetadata(f"p{number}", "ns", uid, creation_timestamp=T0)
        pod = Pod(metadata, PodSpec(""), PodStatus("Pending", conditions=[UNSCHEDULABLE]))
        ts = T0 + timedelta(milliseconds=number)
        fold.step(log, PodRecord(ts=ts, cluster="c", node="", change="ADDED", object=pod))
    listed = T0 + timedelta(hours=1)
    inventory = InventoryRecord(ts=listed, cluster="c", node="", resource="pods", keys=tuple(uids[:left]))
    began = time.process_time()
    rows = [each for each in fold.step(log, inventory) if isinstance(each, PodBinding)]
    assert time.process_time() - began < MOST_CPU_SECONDS
    assert [(row.uid, row.change, row.ts) for row in rows] == [(uid, "deleted", listed) for uid in uids[left:]]
    assert fold.step(log, inventory) == []
