"""A pod that waits, nodes and complete lists, as rows."""

from typing import Any

import msgspec

from components.rows import T0, row
from ingest.model.objects.pod import Pod
from ingest.model.records import InventoryRecord, PodRecord
from streams.analytics import pod_bindings
from streams.analytics.scheduling.scheduled_objects import REDUCER
from streams.fold.findings import NodeFit, NodeRow, PodBinding, Row, ScheduledList


def seen(pod: dict[str, Any], cluster: str = "c") -> PodBinding:
    """Return the record that the pipeline makes of the pod's object."""
    made = msgspec.convert(pod, Pod, strict=False)
    record = PodRecord(ts=T0, cluster=cluster, node=made.spec.node_name, change="ADDED", object=made)
    (binding,) = pod_bindings.step(pod_bindings.State(), record)[1]
    assert isinstance(binding, PodBinding)
    return binding


def listed(resource: str, *uids: str, cluster: str = "c", ts: Any = T0, until: str = "") -> Row:
    record = InventoryRecord(ts=ts, cluster=cluster, resource=resource, keys=uids, until=until)
    (found,) = REDUCER.step(REDUCER.state(), record)[1]
    assert isinstance(found, ScheduledList)
    return found


def node(name: str, cluster: str = "c", minor: int = 36, **labels: str) -> NodeRow:
    known = {"kubelet_version": f"v1.{minor}.0", "ready": True, "allocatable": {"cpu": 8000, "pods": 10}}
    return row(NodeRow, cluster=cluster, node=name, labels=labels, **known)


def room(*names: str) -> list[Row]:
    return [row(NodeFit, node=name, resource="pods", allocatable=10, requested=0, free=10, pods=0) for name in names]
