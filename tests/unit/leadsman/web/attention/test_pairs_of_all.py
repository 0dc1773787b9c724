"""Every type of rows and every alert has a pair (holds, is over), or is named as what cannot be over."""

from typing import Final

from streams.alerting.rules_file import ALERTS
from streams.fold.findings import (
    TABLES,
    Alert,
    CgroupValuesRow,
    CpuThrottling,
    DeadLetter,
    Eviction,
    FileSystemRow,
    KubeletLogLine,
    KubeletSetting,
    MachineMemoryRow,
    NodeLease,
    NodeStall,
    NumaAdmissionFailure,
    NumaAlignment,
    NumaAllocation,
    NumaDisagreement,
    NumaPod,
    NumaPodMemoryRow,
    NumaResource,
    NumaUsage,
    NumaWhatif,
    Reclaim,
    ScheduledList,
    ScheduledObject,
    SchedulerBlindSpot,
    SchedulingAttempt,
    SchedulingQueue,
    SettingsWarning,
    SourceError,
    StorageLimit,
    Watch,
)
from unit.leadsman.web.attention.test_over import PAIRS
from unit.leadsman.web.attention.test_over_elsewhere import ALERTS as PAIRED

OCCURRENCES: Final = frozenset(
    {Eviction, KubeletLogLine, NumaAdmissionFailure, Reclaim, SchedulerBlindSpot, SourceError, DeadLetter}
)
"""They happen and do not last: `test_over_in_cards` proves that no card of them is in the present tense."""
MEASURES: Final = frozenset(
    {CpuThrottling, NodeLease, NodeStall, NumaAlignment, NumaAllocation, NumaDisagreement, NumaPod, NumaPodMemoryRow}
    | {CgroupValuesRow, FileSystemRow, MachineMemoryRow, NumaResource, NumaUsage, NumaWhatif}
    | {SchedulingAttempt, SchedulingQueue}
)
"""Each has the time at which it was so, and no card of its own."""
FACTS: Final = frozenset({KubeletSetting, ScheduledList, ScheduledObject, StorageLimit, Watch})
"""They say what something is, not that it is wrong."""
WITH_HOLDS: Final = frozenset({SettingsWarning})
"""Its rows say themselves whether it holds, and it has no card."""
HAPPENS: Final = frozenset(
    {"PodsEvicted", "PodsRejected", "TopologyAdmissionRunaway", "ContainersOOMKilled", "PressureOscillation"}
    | {"ContainerGCFailed", "SchedulerBlindSpot", "DeadLetters", "RetentionNear", "StreamStalled"}
)
"""Alerts of occurrences, which are resolved after `keep_firing`, as the test of each shows (`test_over_in_cards`)."""
OF_SAMPLES: Final = frozenset(
    {"EvictionTooLate", "NodeStalls", "SwapThrashing", "NUMAFragmented", "NUMAMisaligned", "RestartEndsPods"}
)
"""Alerts of states without a card of their own: `_of_alerts` shows them, and each one's own test ends it."""


def test_every_type_of_rows_has_a_pair_or_cannot_be_over() -> None:
    paired = {type(each) for pair in PAIRS for each in (*pair.holds, *pair.ends)}
    alone = OCCURRENCES | MEASURES | FACTS | WITH_HOLDS
    assert TABLES.keys() == paired | alone
    assert paired & alone == set()
    assert Alert in paired


def test_every_alert_has_a_pair_or_is_of_an_occurrence() -> None:
    names = {alert.name for alert in ALERTS}
    assert names == set(PAIRED.values()) | HAPPENS | OF_SAMPLES
    assert set(PAIRED.values()) & (HAPPENS | OF_SAMPLES) == set()
