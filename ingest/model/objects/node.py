"""Nodes, the settings of their kubelets, and namespaces, with the fields that are kept (rules: scheduler-fit)."""

from datetime import datetime

import msgspec

from ingest.model.numbers import Int32, Int64
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
    time_added: datetime | None = None


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


class KubeletConfiguration(KeptObject, frozen=True):
    """The settings of a kubelet that its analytics need (`/configz`); durations as the kubelet prints them."""

    image_gc_high_threshold_percent: Int32 | None = msgspec.field(default=None, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: Int32 | None = msgspec.field(default=None, name="imageGCLowThresholdPercent")
    image_minimum_gc_age: str = msgspec.field(default="", name="imageMinimumGCAge")
    image_maximum_gc_age: str = msgspec.field(default="", name="imageMaximumGCAge")
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] | None = None
    eviction_soft_grace_period: dict[str, str] | None = None
    eviction_minimum_reclaim: dict[str, str] | None = None
    eviction_pressure_transition_period: str = ""
    eviction_max_pod_grace_period: Int32 | None = None
    merge_default_eviction_settings: bool | None = None
    cpu_manager_policy: str = ""
    cpu_manager_policy_options: dict[str, str] | None = None
    memory_manager_policy: str = ""
    topology_manager_policy: str = ""
    topology_manager_scope: str = ""
    topology_manager_policy_options: dict[str, str] | None = None
    reserved_system_cpus: str = msgspec.field(default="", name="reservedSystemCPUs")
    system_reserved: dict[str, str] | None = None
    kube_reserved: dict[str, str] | None = None
    enforce_node_allocatable: list[str] | None = None
    max_pods: Int32 | None = None
    cgroup_driver: str = ""
    system_reserved_cgroup: str = ""
    kube_reserved_cgroup: str = ""
    cpu_cfs_quota: bool | None = msgspec.field(default=None, name="cpuCFSQuota")
    cpu_cfs_quota_period: str = msgspec.field(default="", name="cpuCFSQuotaPeriod")
    pod_pids_limit: Int64 | None = None
    container_log_max_size: str = ""
    container_log_max_files: Int32 | None = None
    memory_throttling_factor: float | None = None
    feature_gates: dict[str, bool] | None = None


class _NamespaceMetadata(KeptObject, frozen=True):
    name: str
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None


class Namespace(KeptObject, frozen=True):
    metadata: _NamespaceMetadata
