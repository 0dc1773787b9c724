"""The rows (tables.md), by subject: one NamedTuple a table, its fields in the order and by the names of columns.

All times are aware UTC. Units are in the names; where they are not, a resource's base unit holds: bytes, inodes,
processes, pods, and millicores for cpu. A row replaces an earlier one of the same natural key (`ORDER BY`); where
a finding grows while it is watched, `updated_at` marks its last version.
"""

from streams.fold.findings.eviction import BROKEN_GC, Eviction, EvictionSignal, ImageGc, PressureChange
from streams.fold.findings.nodes import (
    REPEAT_EVERY,
    Alert,
    DeadLetter,
    KubeletSetting,
    NodeEvent,
    NodeFit,
    NodeLease,
    NodeRow,
    NodeStall,
    SettingsWarning,
    SourceError,
)
from streams.fold.findings.numa import (
    LateJoiners,
    NumaAdmissionFailure,
    NumaAlignment,
    NumaAllocation,
    NumaDisagreement,
    NumaPod,
    NumaPodMemoryRow,
    NumaResource,
    NumaSkew,
    NumaUsage,
    NumaWhatif,
)
from streams.fold.findings.pods import (
    CpuThrottling,
    PodBinding,
    PodEnd,
    Resize,
    ScheduledList,
    ScheduledObject,
    SchedulerBlindSpot,
    SchedulingFailure,
    StorageLimit,
)
from streams.fold.findings.row import HIGH_RATE, NEVER_REPLACED, TABLES, Row

__all__ = [
    "BROKEN_GC",
    "HIGH_RATE",
    "NEVER_REPLACED",
    "REPEAT_EVERY",
    "TABLES",
    "Alert",
    "CpuThrottling",
    "DeadLetter",
    "Eviction",
    "EvictionSignal",
    "ImageGc",
    "KubeletSetting",
    "LateJoiners",
    "NodeEvent",
    "NodeFit",
    "NodeLease",
    "NodeRow",
    "NodeStall",
    "NumaAdmissionFailure",
    "NumaAlignment",
    "NumaAllocation",
    "NumaDisagreement",
    "NumaPod",
    "NumaPodMemoryRow",
    "NumaResource",
    "NumaSkew",
    "NumaUsage",
    "NumaWhatif",
    "PodBinding",
    "PodEnd",
    "PressureChange",
    "Resize",
    "Row",
    "ScheduledList",
    "ScheduledObject",
    "SchedulerBlindSpot",
    "SchedulingFailure",
    "SettingsWarning",
    "SourceError",
    "StorageLimit",
]
