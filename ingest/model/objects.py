"""The part of Kubernetes' API objects that Leadsman keeps, with Kubernetes' own names.

Decoding into these types drops every other field: environment variables, commands, foreign annotations
and managed fields never get past this point. Attribute names are the API's in snake case. Shapes are those of
Kubernetes 1.15 to 1.36 (kubernetes-rules.md); what a version lacks has a default.
"""

from datetime import datetime
from typing import TypeAlias

import msgspec

Quantity: TypeAlias = str | int | float
"""A resource quantity as the API prints it ("100m", "2Gi") or as a manifest may have it (2); see `rules.quantity`."""
ResourceList: TypeAlias = dict[str, Quantity]


class _Object(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of the types below."""


class Resources(_Object, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class Container(_Object, frozen=True):
    name: str
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""
    resources: Resources | None = None


class MatchExpression(_Object, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(_Object, frozen=True):
    match_fields: list[MatchExpression] | None = None
    match_expressions: list[MatchExpression] | None = None


class RequiredNodeAffinity(_Object, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(_Object, frozen=True):
    required: RequiredNodeAffinity | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(_Object, frozen=True):
    node_affinity: NodeAffinity | None = None


class Toleration(_Object, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Present(_Object, frozen=True):
    """Something of which it only counts that it is there."""


class EmptyDir(_Object, frozen=True):
    medium: str = ""


class PodVolume(_Object, frozen=True):
    """Of what kind a volume is, as far as the eviction manager counts it (rules: eviction-order)."""

    name: str
    host_path: Present | None = None
    empty_dir: EmptyDir | None = None
    config_map: Present | None = None
    git_repo: Present | None = None


class PodSpec(_Object, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    containers: list[Container] = []
    init_containers: list[Container] | None = None
    overhead: ResourceList | None = None
    resources: Resources | None = None
    """Pod-level resources (1.34 and later by default)."""
    priority: int | None = None
    priority_class_name: str = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    termination_grace_period_seconds: int | None = None
    volumes: list[PodVolume] | None = None


class Condition(_Object, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class ContainerStatus(_Object, frozen=True):
    name: str
    restart_count: int = 0
    allocated_resources: ResourceList | None = None
    resources: Resources | None = None


class PodStatus(_Object, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    qos_class: str = ""
    start_time: datetime | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None


class OwnerReference(_Object, frozen=True):
    kind: str
    name: str
    controller: bool | None = None


class PodAnnotations(_Object, frozen=True, rename=None):
    """The annotations that a rule reads; no other is kept."""

    config_source: str = msgspec.field(default="", name="kubernetes.io/config.source")
    config_mirror: str = msgspec.field(default="", name="kubernetes.io/config.mirror")
    koordinator_resource_status: str = msgspec.field(default="", name="scheduling.koordinator.sh/resource-status")
    koordinator_resource_spec: str = msgspec.field(default="", name="scheduling.koordinator.sh/resource-spec")
    koordinator_numa_topology_spec: str = msgspec.field(
        default="", name="scheduling.koordinator.sh/numa-topology-spec"
    )
    crane_cpu_policy: str = msgspec.field(default="", name="topology.crane.io/cpu-policy")
    crane_topology_result: str = msgspec.field(default="", name="topology.crane.io/topology-result")


class PodLabels(_Object, frozen=True, rename=None):
    """The labels that keep pod groups together (gang scheduling)."""

    pod_group: str = msgspec.field(default="", name="pod-group.scheduling.sigs.k8s.io")
    koordinator_gang: str = msgspec.field(default="", name="gang.scheduling.koordinator.sh/name")


class PodMetadata(_Object, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: list[OwnerReference] | None = None
    annotations: PodAnnotations | None = None
    labels: PodLabels | None = None


class Pod(_Object, frozen=True):
    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeLabels(_Object, frozen=True, rename=None):
    """The labels that a rule reads: the zone key (rules: zone-key) and koordinator's NUMA policies
    (rules: koordinator).
    """

    region: str | None = msgspec.field(default=None, name="topology.kubernetes.io/region")
    zone: str | None = msgspec.field(default=None, name="topology.kubernetes.io/zone")
    beta_region: str | None = msgspec.field(default=None, name="failure-domain.beta.kubernetes.io/region")
    beta_zone: str | None = msgspec.field(default=None, name="failure-domain.beta.kubernetes.io/zone")
    os: str = msgspec.field(default="", name="kubernetes.io/os")
    control_plane: str | None = msgspec.field(default=None, name="node-role.kubernetes.io/control-plane")
    master: str | None = msgspec.field(default=None, name="node-role.kubernetes.io/master")
    koordinator_cpu_bind_policy: str = msgspec.field(default="", name="node.koordinator.sh/cpu-bind-policy")
    koordinator_numa_allocate_strategy: str = msgspec.field(
        default="", name="node.koordinator.sh/numa-allocate-strategy"
    )
    koordinator_numa_topology_policy: str = msgspec.field(default="", name="node.koordinator.sh/numa-topology-policy")


class NodeAnnotations(_Object, frozen=True, rename=None):
    koordinator_raw_allocatable: str = msgspec.field(default="", name="node.koordinator.sh/raw-allocatable")
    koordinator_cpu_normalization_ratio: str = msgspec.field(
        default="", name="node.koordinator.sh/cpu-normalization-ratio"
    )
    koordinator_amplification_ratio: str = msgspec.field(
        default="", name="node.koordinator.sh/resource-amplification-ratio"
    )


class NodeMetadata(_Object, frozen=True):
    name: str
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    labels: NodeLabels | None = None
    annotations: NodeAnnotations | None = None


class Taint(_Object, frozen=True):
    key: str
    value: str = ""
    effect: str = ""


class NodeSpec(_Object, frozen=True):
    unschedulable: bool = False
    taints: list[Taint] | None = None


class NodeSystemInfo(_Object, frozen=True):
    kubelet_version: str = ""
    container_runtime_version: str = ""
    operating_system: str = ""


class NodeStatus(_Object, frozen=True):
    capacity: ResourceList | None = None
    allocatable: ResourceList | None = None
    conditions: list[Condition] | None = None
    node_info: NodeSystemInfo = NodeSystemInfo()


class Node(_Object, frozen=True):
    metadata: NodeMetadata
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ObjectReference(_Object, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSource(_Object, frozen=True):
    component: str = ""
    host: str = ""


class EventSeries(_Object, frozen=True):
    count: int = 0
    last_observed_time: datetime | None = None


class EventAnnotations(_Object, frozen=True, rename=None):
    offending_containers: str = ""
    offending_containers_usage: str = ""
    offending_pod: str = ""
    offending_pod_usage: str = ""
    starved_resource: str = ""


class EventMetadata(_Object, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    annotations: EventAnnotations | None = None


class Event(_Object, frozen=True):
    """An Event of core/v1 or of events.k8s.io/v1; each API's names for the same fields are both here
    (rules: event-fields).
    """

    metadata: EventMetadata
    type: str = ""
    reason: str = ""
    event_time: datetime | None = None
    series: EventSeries | None = None
    reporting_instance: str = ""
    involved_object: ObjectReference | None = None
    message: str | None = None
    source: EventSource | None = None
    first_timestamp: datetime | None = None
    last_timestamp: datetime | None = None
    count: int | None = None
    reporting_component: str = ""
    regarding: ObjectReference | None = None
    note: str | None = None
    reporting_controller: str = ""
    deprecated_source: EventSource | None = None
    deprecated_first_timestamp: datetime | None = None
    deprecated_last_timestamp: datetime | None = None
    deprecated_count: int | None = None


class KubeletConfiguration(_Object, frozen=True):
    """The settings of a kubelet that its analytics need (`/configz`); durations as the kubelet prints them."""

    image_gc_high_threshold_percent: int | None = msgspec.field(default=None, name="imageGCHighThresholdPercent")
    image_gc_low_threshold_percent: int | None = msgspec.field(default=None, name="imageGCLowThresholdPercent")
    image_minimum_gc_age: str = msgspec.field(default="", name="imageMinimumGCAge")
    image_maximum_gc_age: str = msgspec.field(default="", name="imageMaximumGCAge")
    eviction_hard: dict[str, str] | None = None
    eviction_soft: dict[str, str] | None = None
    eviction_soft_grace_period: dict[str, str] | None = None
    eviction_minimum_reclaim: dict[str, str] | None = None
    eviction_pressure_transition_period: str = ""
    eviction_max_pod_grace_period: int | None = None
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
    max_pods: int | None = None
    cgroup_driver: str = ""
    feature_gates: dict[str, bool] | None = None
