"""A Node, as far as it is kept."""

from datetime import datetime

import msgspec

from ingest.model.objects.base import Condition, KeptObject, ResourceList


class NodeLabels(KeptObject, frozen=True, rename=None):
    """The labels that a rule reads: the zone key (rules: zone-key), the node pool (rules: node-pool) and
    koordinator's NUMA policies (rules: koordinator).
    """

    region: str | None = msgspec.field(default=None, name="topology.kubernetes.io/region")
    zone: str | None = msgspec.field(default=None, name="topology.kubernetes.io/zone")
    beta_region: str | None = msgspec.field(default=None, name="failure-domain.beta.kubernetes.io/region")
    beta_zone: str | None = msgspec.field(default=None, name="failure-domain.beta.kubernetes.io/zone")
    os: str = msgspec.field(default="", name="kubernetes.io/os")
    control_plane: str | None = msgspec.field(default=None, name="node-role.kubernetes.io/control-plane")
    master: str | None = msgspec.field(default=None, name="node-role.kubernetes.io/master")
    karpenter_pool: str = msgspec.field(default="", name="karpenter.sh/nodepool")
    eks_group: str = msgspec.field(default="", name="eks.amazonaws.com/nodegroup")
    eksctl_group: str = msgspec.field(default="", name="alpha.eksctl.io/nodegroup-name")
    gke_pool: str = msgspec.field(default="", name="cloud.google.com/gke-nodepool")
    aks_pool: str = msgspec.field(default="", name="kubernetes.azure.com/agentpool")
    kops_group: str = msgspec.field(default="", name="kops.k8s.io/instancegroup")
    koordinator_cpu_bind_policy: str = msgspec.field(default="", name="node.koordinator.sh/cpu-bind-policy")
    koordinator_numa_allocate_strategy: str = msgspec.field(
        default="", name="node.koordinator.sh/numa-allocate-strategy"
    )
    koordinator_numa_topology_policy: str = msgspec.field(default="", name="node.koordinator.sh/numa-topology-policy")


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
    labels: NodeLabels | None = None
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
