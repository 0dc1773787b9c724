"""Lists every analytic. Import and list a new one here (`docs/recipes/new-analytic.md`)."""

from datetime import timedelta
from typing import Any, Final

from streams.alerting.engine import alert_reducers
from streams.analytics import (
    kubelet_settings,
    node_events,
    node_fit,
    node_stalls,
    nodes,
    pod_acts,
    pod_bindings,
    pod_ends,
    resizes,
    settings_warnings,
    source_errors,
    stateless,
    storage_limits,
    watches,
)
from streams.analytics.eviction import eviction_trend, evictions, pressure_changes, reclaims
from streams.analytics.image_gc import image_gc
from streams.analytics.numa import numa_alignment, numa_cluster, numa_skew
from streams.analytics.scheduling import scheduled_objects, scheduling
from streams.fold import forgetting
from streams.fold.reducer import Reducer

ANALYTICS: Final[tuple[Reducer[Any], ...]] = (
    nodes.REDUCER,
    stateless.KUBELET_LOG,
    stateless.NODE_LEASES,
    node_events.REDUCER,
    node_events.CLUSTER_REDUCER,
    pod_bindings.REDUCER,
    pod_bindings.CLUSTER_REDUCER,
    kubelet_settings.REDUCER,
    source_errors.REDUCER,
    source_errors.CLUSTER_REDUCER,
    watches.REDUCER,
    eviction_trend.REDUCER,
    evictions.REDUCER,
    pressure_changes.REDUCER,
    reclaims.REDUCER,
    image_gc.REDUCER,
    node_fit.REDUCER,
    node_stalls.REDUCER,
    stateless.CPU_THROTTLING,
    stateless.CGROUP_VALUES,
    pod_ends.REDUCER,
    pod_acts.REDUCER,
    resizes.REDUCER,
    settings_warnings.REDUCER,
    storage_limits.REDUCER,
    scheduling.REDUCER,
    scheduled_objects.REDUCER,
    numa_skew.REDUCER,
    numa_cluster.REDUCER,
    numa_alignment.REDUCER,
    stateless.NUMA_USAGE,
    stateless.MACHINE_USAGE,
    forgetting.REDUCER,
)
REDUCERS: Final[tuple[Reducer[Any], ...]] = (*ANALYTICS, *alert_reducers())
"""Every reducer: the analytics, then the alerts over their rows, by the packaged rules."""


def analytics(late_joiner_gap: timedelta) -> tuple[Reducer[Any], ...]:
    """Return every analytic. Nodes that joined at least this long after one another are groups of `late_joiners`."""
    numa = numa_cluster.reducer(late_joiner_gap)
    return tuple(numa if each is numa_cluster.REDUCER else each for each in ANALYTICS)
