"""Explains a node's condition. No table stores these words: views compute them from their columns.

Every function takes values, or columns of a view (`streams.rules.values.expressions`). A column is null where a ratio
or a percentage is not known.
"""

from collections.abc import Callable, Mapping
from typing import Final

from streams.rules.eviction.signals import PID_AVAILABLE, is_low
from streams.rules.values.expressions import Operand, choose, is_null, shared
from streams.rules.values.wording import (
    counted,
    first_of,
    format_bytes,
    format_duration,
    format_number,
    joined,
    percent,
    phrase,
    where_known,
)

_STALLED_ON_MEMORY: Final = 10
_STALLED_ON_IO: Final = 40
_HOUR: Final = 3600
_CPU_STEP: Final = 50
"""Millicores, to a multiple of which CPU is reserved."""
_DROPPED: Final = "a key that is set drops the defaults of all others."


def stalled(resource: Operand, share: Operand) -> Operand:
    """Describe a time in which all tasks of a node waited (PSI)."""
    return phrase("work stalled on ", resource, " for ", share, " of a minute")


def imbalance(cause: Operand, share: Operand, requested_ratio: Operand, mean_ratio: Operand) -> Operand:
    """Explain why pods request far more or less of a node than of others; `share` is of pods, 0 to 1."""
    much = percent(share, 100)
    nowhere = " of its pods can run nowhere else because of their node selector or affinity."
    elsewhere = " of the pods run elsewhere and cannot run here because of their node selector or affinity."
    stay = "and running pods do not move."
    return first_of(
        (cause == "not_ready", "The node is not Ready, so no pods are placed on it."),
        (cause == "cordoned", "The node is cordoned, so no pods are placed on it."),
        (cause == "tainted", "The node has a taint that keeps pods away."),
        (
            cause == "came_back",
            phrase("It was not Ready before; ", much, f" of the pods are older than its return, {stay}"),
        ),
        (cause == "joined_later", phrase(much, f" of the pods are older than the node, {stay}")),
        (
            cause == "was_there_before",
            phrase(much, f" of its pods are older than the first of the emptier nodes, {stay}"),
        ),
        (cause == "took_over", phrase(much, " of its pods were created within an hour after another node was lost.")),
        (cause == "affinity", phrase(much, choose(requested_ratio < mean_ratio, elsewhere, nowhere))),
        (cause == "unknown", "No known fact explains it."),
        otherwise="",
    )


def before_not_ready(
    conditions: Operand, evictions: Operand, memory_full_percent: Operand, io_full_percent: Operand, was_seen: Operand
) -> Operand:
    """Describe the pressure before a node was not Ready: its conditions, and how long work stalled in a minute."""
    memory, io = stalled("memory", percent(memory_full_percent)), stalled("I/O", percent(io_full_percent))
    found = joined(
        "; ",
        conditions,
        choose(evictions == 0, "", counted(evictions, "pod evicted", "pods evicted")),
        choose(memory_full_percent >= _STALLED_ON_MEMORY, memory, ""),
        choose(io_full_percent >= _STALLED_ON_IO, io, ""),
    )
    nothing = (conditions == "") & (evictions == 0)
    first, found = shared(found)
    return first_of((nothing & (was_seen == 0), "unknown"), (first == "", "no pressure was seen"), otherwise=found)


def without_threshold(signal: Operand, thresholds_assumed: Operand) -> Operand:
    return first_of(
        (thresholds_assumed, "No /configz was seen; this kubelet has no default for it."),
        (signal == PID_AVAILABLE, "It has no default, and evictionHard does not set it."),
        otherwise=f"The evictionHard in force lacks or disables it; {_DROPPED}",
    )


def unguarded(reason: Operand, consequence: Operand) -> Operand:
    return phrase(reason, " ", consequence)


def guard(signal: Operand) -> Operand:
    """Say what sets a threshold; mergeDefaultEvictionSettings has none for a signal without a default."""
    or_merged = choose(
        signal == PID_AVAILABLE, f"; {_DROPPED}", ", or mergeDefaultEvictionSettings (1.33 and later)."
    )
    return phrase("Set ", signal, " in evictionHard", or_merged)


def memory_difference(
    memory_available_bytes: Operand,
    inactive_file_bytes: Operand,
    uncounted_bytes: Operand,
    active_file_bytes: Operand,
    reclaimable_slab_bytes: Operand,
) -> Operand:
    """Explain `memory.available` and MemAvailable, in bytes; the first is null if it was not sampled."""
    left_out = phrase(" and ", format_bytes(uncounted_bytes), " of kernel memory that does not count as used")
    unknown = "; no statistics of the kubelet within a minute are known"
    return phrase(
        *(
            "Besides free memory, memory.available counts ",
            format_bytes(inactive_file_bytes),
            " of inactive file pages",
        ),
        choose(is_null(memory_available_bytes), unknown, choose(uncounted_bytes > 0, left_out, "")),
        *(". MemAvailable counts these pages, ", format_bytes(active_file_bytes), " of active ones, and "),
        *(format_bytes(reclaimable_slab_bytes), " of slab, minus the kernel's own reserve."),
    )


def nearly_full(
    available_bytes: Operand, capacity_bytes: Operand, inodes_free: Operand, inodes: Operand, images_known: Operand
) -> Operand:
    """Warn of a file system that is nearly full and has no eviction signal; otherwise empty."""

    def few_inodes(few: Operand) -> Operand:
        return choose(is_low(few, inodes), phrase(format_number(few), " of ", format_number(inodes), " inodes"), "")

    few_bytes = phrase(format_bytes(available_bytes), " of ", format_bytes(capacity_bytes))
    left = choose(is_low(available_bytes, capacity_bytes), few_bytes, where_known(inodes_free, few_inodes))
    unless = choose(images_known, "", ", unless images are on it")
    first, left = shared(left)
    return choose(first == "", "", phrase(left, " left: the kubelet evicts and deletes nothing for it", unless, "."))


def sizing(
    outside_pods: Operand,
    step: Operand,
    advised_reserved: Operand,
    fastest_fall: Operand,
    advised_threshold: Operand,
    measured_seconds: Operand,
) -> Operand:
    """Show the arithmetic behind the advice of `node_sizing`; null is not known."""

    def shown(value: Operand) -> Operand:
        return choose(step == _CPU_STEP, phrase(format_number(value), "m"), format_bytes(value))

    def reserve(most: Operand) -> Operand:
        used = phrase(
            "Reserve: at most ", shown(most), " was used outside of pods; times 1.25, rounded up to a multiple of "
        )
        return phrase(used, choose(step == _CPU_STEP, "50m", "64 MiB"), ", is ", shown(advised_reserved), ".")

    def threshold(most: Operand) -> Operand:
        times = "times 2, rounded up to a multiple of 16 MiB, at least 100 MiB, is "
        fell = phrase("Threshold: what is available fell by at most ", format_bytes(most), " in 10 s; ", times)
        return phrase(fell, format_bytes(advised_threshold), ".")

    reckoned = joined(" ", where_known(outside_pods, reserve), where_known(fastest_fall, threshold))
    briefly = phrase("Unknown: measured for ", format_duration(measured_seconds), ", which is less than an hour.")
    unknown = choose(measured_seconds < _HOUR, briefly, "Unknown: what pods use together was not measured.")
    first, reckoned = shared(reckoned)
    return choose(first == "", unknown, reckoned)


REASONS: Final[Mapping[str, Callable[..., Operand]]] = {
    each.__name__: each
    for each in (
        *(imbalance, before_not_ready, without_threshold, unguarded, guard, memory_difference, nearly_full, sizing),
    )
}
"""The functions by name, which is their placeholder in a view."""
