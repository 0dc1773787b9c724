"""A Pod, with the fields that are kept."""

from datetime import datetime
from typing import Final

import msgspec

from ingest.model.numbers import ExitCode, Int32, Int64
from ingest.model.objects.base import Condition, KeptObject, Quantity, ResourceList, Resources

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class ContainerPort(KeptObject, frozen=True):
    container_port: Int32 = 0
    host_port: Int32 = 0
    host_ip: str = msgspec.field(default="", name="hostIP")
    protocol: str = ""


class Container(KeptObject, frozen=True):
    name: str
    restart_policy: str | None = None
    """`Always` on an init container makes it a sidecar."""
    resources: Resources | None = None
    ports: list[ContainerPort] | None = None


class MatchExpression(KeptObject, frozen=True):
    key: str
    operator: str
    values: list[str] | None = None


class NodeSelectorTerm(KeptObject, frozen=True):
    match_fields: list[MatchExpression] | None = None
    match_expressions: list[MatchExpression] | None = None


class RequiredNodeAffinity(KeptObject, frozen=True):
    node_selector_terms: list[NodeSelectorTerm] | None = None


class PreferredNodes(KeptObject, frozen=True):
    weight: Int32 = 0
    preference: NodeSelectorTerm = NodeSelectorTerm()


class NodeAffinity(KeptObject, frozen=True):
    required: RequiredNodeAffinity | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[PreferredNodes] | None = msgspec.field(default=None, name=_PREFERRED)


class LabelSelector(KeptObject, frozen=True):
    match_labels: dict[str, str] | None = None
    match_expressions: list[MatchExpression] | None = None


class PodAffinityTerm(KeptObject, frozen=True):
    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None


class PreferredPods(KeptObject, frozen=True):
    pod_affinity_term: PodAffinityTerm
    weight: Int32 = 0


class PodAffinity(KeptObject, frozen=True):
    """Affinity and anti-affinity between pods."""

    required: list[PodAffinityTerm] | None = msgspec.field(default=None, name=_REQUIRED)
    preferred: list[PreferredPods] | None = msgspec.field(default=None, name=_PREFERRED)


class Affinity(KeptObject, frozen=True):
    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(KeptObject, frozen=True):
    topology_key: str
    max_skew: Int32 = 1
    when_unsatisfiable: str = "DoNotSchedule"
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class Named(KeptObject, frozen=True):
    """A scheduling gate."""

    name: str


class PodResourceClaim(KeptObject, frozen=True):
    """A claim of devices, or a template of one that is made for the pod."""

    name: str
    resource_claim_name: str = ""
    resource_claim_template_name: str = ""


class PodResourceClaimStatus(KeptObject, frozen=True):
    name: str
    resource_claim_name: str | None = None
    """None if none is needed."""


class Toleration(KeptObject, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Present(KeptObject, frozen=True):
    """Only its presence is used."""


class EmptyDir(KeptObject, frozen=True):
    medium: str = ""
    size_limit: Quantity | None = None


class VolumeClaim(KeptObject, frozen=True):
    claim_name: str = ""


class PodVolume(KeptObject, frozen=True):
    """Kind of a volume, for eviction (rules: eviction-order) and the scheduler's check (rules: scheduler-fit)."""

    name: str
    host_path: Present | None = None
    empty_dir: EmptyDir | None = None
    config_map: Present | None = None
    git_repo: Present | None = None
    persistent_volume_claim: VolumeClaim | None = None
    ephemeral: Present | None = None
    gce_persistent_disk: Present | None = None
    aws_elastic_block_store: Present | None = None
    azure_disk: Present | None = None
    cinder: Present | None = None
    vsphere_volume: Present | None = None
    iscsi: Present | None = None
    rbd: Present | None = None


class PodSpec(KeptObject, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""
    containers: list[Container] = msgspec.field(default_factory=list)
    init_containers: list[Container] | None = None
    overhead: ResourceList | None = None
    resources: Resources | None = None
    """Pod-level resources (1.34 and later by default)."""
    restart_policy: str = ""
    priority: Int32 | None = None
    priority_class_name: str = ""
    preemption_policy: str = ""
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    termination_grace_period_seconds: Int64 | None = None
    volumes: list[PodVolume] | None = None
    topology_spread_constraints: list[TopologySpreadConstraint] | None = None
    scheduling_gates: list[Named] | None = None
    resource_claims: list[PodResourceClaim] | None = None
    host_network: bool = False
    runtime_class_name: str = ""


class ContainerTerminated(KeptObject, frozen=True):
    reason: str = ""
    exit_code: ExitCode | None = 0
    """None if a text lacks it."""
    started_at: datetime | None = None
    finished_at: datetime | None = None


class ContainerRunning(KeptObject, frozen=True):
    started_at: datetime | None = None


class ContainerWaiting(KeptObject, frozen=True):
    reason: str = ""
    message: str = ""


class ContainerState(KeptObject, frozen=True):
    """If neither `running` nor `terminated` is set, the container waits to be started."""

    waiting: ContainerWaiting | None = None
    running: ContainerRunning | None = None
    terminated: ContainerTerminated | None = None


class ContainerStatus(KeptObject, frozen=True):
    name: str
    restart_count: Int32 = 0
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
    resource_claim_statuses: list[PodResourceClaimStatus] | None = None
    resize: str = ""
    """State of a resize in kubelets 1.27 to 1.32 with an alpha gate; later versions use a condition."""
    resources: Resources | None = None
    """Pod-level resources (1.36 and later by default)."""
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


class PodMetadata(KeptObject, frozen=True):
    name: str
    namespace: str = "default"
    uid: str = ""
    resource_version: str = ""
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    """End of the grace period, which begins when the deletion is requested."""
    deletion_grace_period_seconds: Int64 | None = None
    owner_references: list[OwnerReference] | None = None
    annotations: PodAnnotations | None = None
    labels: dict[str, str] | None = None


class Pod(KeptObject, frozen=True):
    metadata: PodMetadata
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
