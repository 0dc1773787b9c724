"""Texts that Kubernetes writes for people: messages, quantities, durations, CPU lists, checkpoints."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Final, get_args

from common.durations import InvalidDuration, parse_duration
from fakes.checkpoints import write_cpu_manager_state, write_memory_manager_state
from fuzz.target import Target, as_text, texts_of
from ingest.messages import reasons
from ingest.model.cpuset import InvalidCpuSet, format_cpuset, parse_cpuset
from streams.rules.events import messages
from streams.rules.eviction import messages as messages_eviction
from streams.rules.image_gc import messages as messages_image_gc
from streams.rules.numa.cpu_checkpoint import (
    BadCheckpoint,
    checksum,
    parse_cpu_manager_state,
)
from streams.rules.numa.memory_checkpoint import (
    memory_checksum,
    parse_memory_manager_state,
)
from streams.rules.pod_ends import causes
from streams.rules.scheduling import message as scheduling_message
from streams.rules.values.quantity import (
    INT64_MAX,
    NANO,
    Format,
    InvalidQuantity,
    base_units,
    format_quantity,
    millicores,
    nano_units,
)

MOST_CPUS: Final = 65_536
LARGEST: Final = INT64_MAX * NANO
"""Nano-units; what was written in binary is read as no more."""
REASONS: Final = (
    "TopologyAffinityError",
    "SMTAlignmentError",
    "UnexpectedAdmissionError",
    "Evicted",
    "OutOfcpu",
    "OutOfmemory",
    "FreeDiskSpaceFailed",
    "InvalidDiskCapacity",
    "ImageGCFailed",
    "NodeHasDiskPressure",
    "Starting",
)


def check_messages(data: bytes) -> None:
    """No text makes a parser of the kubelet's messages raise, and no number of one is beyond 64 bits."""
    text = as_text(data[1:])
    reason = REASONS[sum(data[:1]) % len(REASONS)]
    reported = (
        messages_eviction.parse_evicted(text),
        messages_image_gc.parse_image_gc(reason, text),
        messages_image_gc.parse_error(text),
        messages.parse_node_status(reason, text),
        reasons.is_kubelet_start(reason, text),
        causes.kubelet_end(reason, text, None),
        causes.restarted_by_probe(text),
    )
    assert all(abs(number) <= INT64_MAX for number in _numbers(reported))


def check_scheduling(data: bytes) -> None:
    """No text makes the parser of the scheduler's messages raise, and its sum is that of its reasons."""
    found = scheduling_message.parse(as_text(data))
    if found is not None:
        assert found.reason_sum == sum(found.reasons.values())
        assert all(abs(number) <= INT64_MAX for number in _numbers(found))


def check_quantity(data: bytes) -> None:
    """A quantity is refused as one, or is printed as Kubernetes does, and that has the same value."""
    text = as_text(data)
    try:
        nanos = nano_units(text)
    except InvalidQuantity:
        return
    assert abs(base_units(text)) <= INT64_MAX + 1
    assert abs(millicores(text)) <= INT64_MAX + 1
    if abs(nanos) <= LARGEST:
        for form in get_args(Format):
            assert nano_units(format_quantity(Fraction(nanos, NANO), form)) == nanos


def check_duration(data: bytes) -> None:
    """A duration is refused as one, or is one that Go can hold."""
    try:
        seconds = parse_duration(as_text(data))
    except InvalidDuration:
        return
    assert abs(seconds) <= 2**63 / 10**9


def check_cpuset(data: bytes) -> None:
    """A CPU list is refused as one, or names a bounded number of CPUs and is printed as the same set."""
    try:
        cpus = parse_cpuset(as_text(data))
    except InvalidCpuSet:
        return
    assert len(cpus) <= MOST_CPUS
    printed = format_cpuset(cpus)
    assert parse_cpuset(printed) == cpus
    assert format_cpuset(parse_cpuset(printed)) == printed


def check_cpu_checkpoint(data: bytes) -> None:
    """A file of the CPU manager is refused as one, or is written with a checksum that is read back the same."""
    try:
        state = parse_cpu_manager_state(as_text(data))
    except BadCheckpoint:
        return
    again = parse_cpu_manager_state(write_cpu_manager_state(state))
    assert checksum(again) == checksum(state)
    assert again.all_cpus() == state.all_cpus()


def check_memory_checkpoint(data: bytes) -> None:
    """A file of the memory manager is refused as one, or is written and read back the same."""
    try:
        state = parse_memory_manager_state(as_text(data))
    except BadCheckpoint:
        return
    again = parse_memory_manager_state(write_memory_manager_state(state))
    assert memory_checksum(again) == memory_checksum(state)


def _numbers(value: Any) -> Iterable[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, dict):
        yield from _numbers(tuple(value.values()))
    elif isinstance(value, tuple):
        for each in value:
            yield from _numbers(each)


def _messages() -> Iterable[bytes]:
    texts = texts_of("streams/rules/events/test_messages", "streams/rules/image_gc/test_thresholds")
    return [bytes([at % len(REASONS)]) + text for at, text in enumerate(texts)]


TARGETS: Final = (
    Target("messages", check_messages, _messages),
    Target("scheduling", check_scheduling, lambda: texts_of("streams/rules/scheduling/test_message")),
    Target("quantity", check_quantity, lambda: texts_of("streams/rules/values/test_quantity")),
    Target("duration", check_duration, lambda: texts_of("common/test_durations")),
    Target("cpuset", check_cpuset, lambda: texts_of("ingest/model/test_cpuset")),
    Target("cpu_checkpoint", check_cpu_checkpoint, lambda: texts_of("streams/rules/numa/test_cpu_checkpoint")),
    Target("memory_checkpoint", check_memory_checkpoint, lambda: texts_of("streams/rules/numa/test_cpu_checkpoint")),
)
