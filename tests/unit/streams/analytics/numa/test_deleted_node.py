"""A node that is deleted leaves no container that holds CPUs or devices."""

from typing import Any

from components.rows import T0
from ingest.model.objects.node import Node, NodeMetadata
from ingest.model.podresources import ContainerResources, DeviceResources, PodResources
from ingest.model.records import NodeRecord, PodResourcesRecord
from streams.analytics.registry import REDUCERS
from streams.fold.findings import NumaAlignment
from streams.fold.fold import Fold, LogState


def test_what_its_containers_held_is_gone_with_the_node() -> None:
    log, fold = LogState(), Fold(REDUCERS)
    held = ContainerResources(name="c", devices=(DeviceResources(resource_name="gpu", numa_nodes=(1,)),))
    pods = (PodResources(name="p", namespace="d", containers=(held,)),)
    fold.step(log, PodResourcesRecord(ts=T0, cluster="c", node="n", pods=pods))
    node = Node(NodeMetadata("n", uid="u"))
    found: list[Any] = fold.step(log, NodeRecord(ts=T0, cluster="c", node="n", change="DELETED", object=node))
    (row,) = (each for each in found if isinstance(each, NumaAlignment))
    assert (row.pod, row.explanation) == ("p", "gone")
