"""Lists the resources of the capture format. The order puts a dump's causes before their effects."""

from collections.abc import Mapping
from typing import Any, Final

from ingest.resources.agent import (
    CGROUP_VALUES,
    CPU_MANAGER_STATE,
    CPU_THROTTLING,
    CPU_TOPOLOGY,
    MACHINE_USAGE,
    MEMORY_MANAGER_STATE,
    NUMA_USAGE,
    PODRESOURCES,
)
from ingest.resources.events import EVENTS
from ingest.resources.kubelet import CONFIGZ, METRICS
from ingest.resources.kubelet_log import KUBELET_LOG
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.nodes import NODE_LEASES, NODES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource, KubeletResource, NodeResource, Resource
from ingest.resources.scheduled import BUDGETS, NAMESPACES, RESOURCE_CLAIMS, STORAGE
from ingest.resources.scheduler_cache import SCHEDULER_CACHE
from ingest.resources.scheduler_log import SCHEDULER_LOG
from ingest.resources.stats_summary import STATS_SUMMARY

TABLE: Final[tuple[Resource[Any], ...]] = (
    NODES,
    NODE_LEASES,
    CONFIGZ,
    CPU_MANAGER_STATE,
    MEMORY_MANAGER_STATE,
    CPU_TOPOLOGY,
    NODE_RESOURCE_TOPOLOGIES,
    PODS,
    EVENTS,
    KUBELET_LOG,
    STATS_SUMMARY,
    METRICS,
    PODRESOURCES,
    NUMA_USAGE,
    MACHINE_USAGE,
    CPU_THROTTLING,
    CGROUP_VALUES,
    SCHEDULER_LOG,
    SCHEDULER_CACHE,
    NAMESPACES,
    *STORAGE,
    *RESOURCE_CLAIMS,
    BUDGETS,
)

BY_NAME: Final[Mapping[str, Resource[Any]]] = {resource.name: resource for resource in TABLE}
WATCHED: Final[tuple[ApiResource[Any], ...]] = tuple(each for each in TABLE if isinstance(each, ApiResource))
OF_NODES: Final[tuple[NodeResource[Any], ...]] = tuple(each for each in TABLE if isinstance(each, NodeResource))
TIMELESS: Final = frozenset(each.name for each in OF_NODES if each.timeless)
SCHEDULED: Final = frozenset(each.name for each in (NAMESPACES, *STORAGE, *RESOURCE_CLAIMS, BUDGETS))
"""Names of the resources that the scheduler and the eviction API read in addition to nodes and pods."""
POLLED: Final[tuple[KubeletResource[Any], ...]] = tuple(
    sorted((each for each in TABLE if isinstance(each, KubeletResource)), key=lambda each: each.seconds)
)
"""The most frequent request comes first, so that a kubelet's restart is known before its settings are due."""
