"""A Pod, as far as it is kept."""

from datetime import datetime

import msgspec

from ingest.model.objects.base import Condition, KeptObject, Quantity, ResourceList, Resources


class Container(KeptObject, frozen=True):
    name: str
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""
    resources: Resources | None = None


class MatchExpression(KeptObject, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(KeptObject, frozen=True):
    match_fields: list[MatchExpression] | None = None
    match_expressions: list[MatchExpression] | None = None


class RequiredNodeAffinity(KeptObject, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(KeptObject, frozen=True):
    required: RequiredNodeAffinity | None = msgspec.field(
        default=None, name="requiredDuringSchedulingIgnoredDuringExecution"
    )


class Affinity(KeptObject, frozen=True):
    node_affinity: NodeAffinity | None = None


class Toleration(KeptObject, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Present(KeptObject, frozen=True):
    """Only its presence matters."""


class EmptyDir(KeptObject, frozen=True):
    medium: str = ""
    size_limit: Quantity | None = None


class PodVolume(KeptObject, frozen=True):
    """Of what kind a volume is, as far as the eviction manager counts it (rules: eviction-order)."""

    name: str
    host_path: Present | None = None
    empty_dir: EmptyDir | None = None
    config_map: Present | None = None
    git_repo: Present | None = None


class PodSpec(KeptObject, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    containers: list[Container] = msgspec.field(default_factory=list)
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


class ContainerTerminated(KeptObject, frozen=True):
    reason: str = ""
    exit_code: int = 0
    finished_at: datetime | None = None


class ContainerRunning(KeptObject, frozen=True):
    started_at: datetime | None = None


class ContainerState(KeptObject, frozen=True):
    """With neither, the container waits to be started."""

    running: ContainerRunning | None = None
    terminated: ContainerTerminated | None = None


class ContainerStatus(KeptObject, frozen=True):
    name: str
    restart_count: int = 0
    state: ContainerState | None = None
    last_state: ContainerState | None = None
    allocated_resources: ResourceList | None = None
    resources: Resources | None = None


class PodStatus(KeptObject, frozen=True):
    phase: str = ""
    reason: str = ""
    message: str = ""
    qos_class: str = ""
    start_time: datetime | None = None
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resources: Resources | None = None
    """Of the pod itself (1.36 and later by default)."""
    allocated_resources: ResourceList | None = None


class OwnerReference(KeptObject, frozen=True):
    kind: str
    name: str
    controller: bool | None = None


class PodAnnotations(KeptObject, frozen=True, rename=None):
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


class PodLabels(KeptObject, frozen=True, rename=None):
    """The labels that keep pod groups together (gang scheduling)."""

    pod_group: str = msgspec.field(default="", name="pod-group.scheduling.sigs.k8s.io")
    koordinator_gang: str = msgspec.field(default="", name="gang.scheduling.koordinator.sh/name")


class PodMetadata(KeptObject, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    owner_references: list[OwnerReference] | None = None
    annotations: PodAnnotations | None = None
    labels: PodLabels | None = None


class Pod(KeptObject, frozen=True):
    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
