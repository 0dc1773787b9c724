"""A Node, as far as it is kept."""

from datetime import datetime

import msgspec

from ingest.model.objects.base import Condition, KeptObject, ResourceList


class NodeAnnotations(KeptObject, frozen=True, rename=None):
    koordinator_raw_allocatable: str = msgspec.field(default="", name="node.koordinator.sh/raw-allocatable")
    koordinator_cpu_normalization_ratio: str = msgspec.field(
        default="", name="node.koordinator.sh/cpu-normalization-ratio"
    )
    koordinator_amplification_ratio: str = msgspec.field(
        default="", name="node.koordinator.sh/resource-amplification-ratio"
    )


class NodeMetadata(KeptObject, frozen=True):
    name: str
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: NodeAnnotations | None = None


class Taint(KeptObject, frozen=True):
    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(KeptObject, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeSystemInfo(KeptObject, frozen=True):
    kubelet_version: str = ""
    container_runtime_version: str = ""
    operating_system: str = ""


class NodeStatus(KeptObject, frozen=True):
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: list[Condition] | None = None
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(KeptObject, frozen=True):
    metadata: NodeMetadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()
