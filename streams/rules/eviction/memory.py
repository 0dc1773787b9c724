"""Compares `memory.available` with what `free` prints (rules: eviction-signals)."""

from streams.rules.values.expressions import Amount, choose, most


def uncounted_memory(usage: Amount, total: Amount, free: Amount, anonymous: Amount, file: Amount) -> Amount:
    """Return the bytes in use that the kubelet's usage lacks: the kernel's own, where it sums memory and page cache.

    Older kubelets count everything that is not free. The usage was read seconds apart, so the nearer sum decides.
    """
    is_all = abs(usage - (total - free)) < abs(usage - (anonymous + file))
    return choose(is_all, 0, most(total - free - anonymous - file, 0))


def held_back_memory(
    free: Amount, active_file: Amount, inactive_file: Amount, slab: Amount, available: Amount
) -> Amount:
    """Return the bytes of these that MemAvailable excludes."""
    return most(free + active_file + inactive_file + slab - available, 0)
