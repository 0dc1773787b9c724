"""The rows (tables.md), by subject: one NamedTuple a table, its fields in the order and by the names of columns,
whose comments define them (`sql/schema/migrations/0001_baseline`).

All times are aware UTC. Units are in the names; where they are not, a resource's base unit holds: bytes, inodes,
processes, pods, and millicores for cpu. A row replaces an earlier one of the same natural key (`ORDER BY`); where
a finding grows while it is watched, `updated_at` marks its last version.
"""

from streams.fold.findings.eviction import (
    BROKEN_GC,
    GC_VERDICTS,
    GC_WAS,
    Eviction,
    EvictionSignal,
    ImageGc,
    PressureChange,
    Reclaim,
    frees_too_little,
    gc_counts_for,
    image_gc_head,
)
from streams.fold.findings.nodes import (
    REPEAT_EVERY,
    Alert,
    DeadLetter,
    FileSystemRow,
    KubeletLogLine,
    KubeletSetting,
    MachineMemoryRow,
    NodeEvent,
    NodeFit,
    NodeLease,
    NodeRow,
    NodeStall,
    SettingsWarning,
    SourceError,
    Watch,
    ready_state,
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
    BLIND_ADVICE,
    BLIND_VERDICTS,
    CHANGES,
    KERNEL_KILLS,
    CgroupValuesRow,
    CpuThrottling,
    PodBinding,
    PodEnd,
    Resize,
    ScheduledList,
    ScheduledObject,
    SchedulerBlindSpot,
    SchedulingAttempt,
    SchedulingFailure,
    SchedulingQueue,
    StorageLimit,
    is_waiting,
)
from streams.fold.findings.row import (
    HIGH_RATE,
    NEVER_REPLACED,
    TABLES,
    Row,
    has_flag,
    has_version,
    is_of_time,
    stored_types,
    stored_values,
    version,
)
