"""The heads of sentences about several rows, which cards, alerts and folded lines of the timeline share.

Counts are of pods, kills or rows; `seconds` is the time from the first to the last, and is left out of a single one.
"""

from common.amounts import counted
from common.durations import in_words


def pods_evicted(pods: int, seconds: float | None = None) -> str:
    return f"{counted(pods, 'pod')} evicted{_within(pods, seconds)}"


def for_own_limits(pods: int) -> str:
    """Follows `pods_evicted`."""
    return f"for {'its own limit' if pods == 1 else 'their own limits'}"


def pods_rejected(pods: int, seconds: float | None = None) -> str:
    return f"{counted(pods, 'pod')} rejected at admission{_within(pods, seconds)}"


def oom_kills(kills: int, seconds: float | None = None) -> str:
    return f"{counted(kills, 'OOM kill')}{_within(kills, seconds)}"


def _within(times: int, seconds: float | None) -> str:
    return "" if seconds is None or times == 1 else f" within {in_words(seconds)}"
