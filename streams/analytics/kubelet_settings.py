"""The settings of each kubelet when they were first seen and when they changed: table `kubelet_settings`."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from common.durations import parse_duration
from ingest.model.records import SettingsRecord
from streams.fold.findings import KubeletSetting
from streams.fold.reducer import Output, Reducer
from streams.rules.eviction.thresholds import DEFAULT_PRESSURE_TRANSITION_SECONDS, effective_thresholds
from streams.rules.image_gc.thresholds import DEFAULT_HIGH_PERCENT, DEFAULT_LOW_PERCENT

IMAGE_MINIMUM_GC_AGE_SECONDS: Final = 120.0
CPU_QUOTA_PERIOD_SECONDS: Final = 0.1
DEFAULT_MAX_PODS: Final = 110


class State(msgspec.Struct, frozen=True):
    last: KubeletSetting | None = None


def step(state: State, record: SettingsRecord) -> tuple[State, Sequence[Output]]:
    row = _row(record)
    if state.last is not None and row == state.last._replace(ts=row.ts):
        return state, ()
    return State(row), (row,)


def _row(record: SettingsRecord) -> KubeletSetting:
    config = record.config
    effective_thresholds(config)
    high, low = config.image_gc_high_threshold_percent, config.image_gc_low_threshold_percent
    return KubeletSetting(
        *record.row_key,
        image_gc_high_percent=DEFAULT_HIGH_PERCENT if high is None else high,
        image_gc_low_percent=DEFAULT_LOW_PERCENT if low is None else low,
        image_minimum_gc_age_seconds=_seconds(config.image_minimum_gc_age, IMAGE_MINIMUM_GC_AGE_SECONDS),
        image_maximum_gc_age_seconds=_seconds(config.image_maximum_gc_age, 0.0),
        eviction_hard=_sort_by_name(config.eviction_hard),
        eviction_soft=_sort_by_name(config.eviction_soft),
        eviction_soft_grace_seconds={
            signal: parse_duration(text) for signal, text in _sort_by_name(config.eviction_soft_grace_period).items()
        },
        eviction_minimum_reclaim=_sort_by_name(config.eviction_minimum_reclaim),
        eviction_pressure_transition_seconds=_seconds(
            config.eviction_pressure_transition_period, DEFAULT_PRESSURE_TRANSITION_SECONDS
        ),
        eviction_max_pod_grace_seconds=config.eviction_max_pod_grace_period or 0,
        cpu_manager_policy=config.cpu_manager_policy or "none",
        memory_manager_policy=config.memory_manager_policy or "None",
        topology_manager_policy=config.topology_manager_policy or "none",
        topology_manager_scope=config.topology_manager_scope or "container",
        reserved_cpus=config.reserved_system_cpus,
        system_reserved=_sort_by_name(config.system_reserved),
        kube_reserved=_sort_by_name(config.kube_reserved),
        cpu_manager_policy_options=_sort_by_name(config.cpu_manager_policy_options),
        topology_manager_policy_options=_sort_by_name(config.topology_manager_policy_options),
        enforce_node_allocatable=list(config.enforce_node_allocatable or ()),
        system_reserved_cgroup=config.system_reserved_cgroup,
        kube_reserved_cgroup=config.kube_reserved_cgroup,
        cgroup_driver=config.cgroup_driver or "cgroupfs",
        max_pods=DEFAULT_MAX_PODS if config.max_pods is None else config.max_pods,
        pod_pids_limit=config.pod_pids_limit if (config.pod_pids_limit or 0) > 0 else None,
        cpu_quota_enforced=config.cpu_cfs_quota is not False,
        cpu_quota_period_seconds=_seconds(config.cpu_cfs_quota_period, CPU_QUOTA_PERIOD_SECONDS),
        intended_by=record.intended_by,
    )


def _seconds(text: str, default: float) -> float:
    return parse_duration(text) if text else default


def _sort_by_name(values: Mapping[str, str] | None) -> dict[str, str]:
    return dict(sorted((values or {}).items()))


REDUCER: Final = Reducer(
    name="kubelet_settings", version=3, log="node", takes=(SettingsRecord,), state=State, step=step
)
