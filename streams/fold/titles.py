"""Composes parts of sentences that cards, alerts and lines of the story share.

Counts are of pods, kills or rows; `seconds` is the time from the first to the last, and is left out for a single one.
Amounts are in the unit of their signal: bytes, inodes or processes.
"""

from typing import Final

from common.amounts import count, counted, size
from common.durations import in_words
from streams.rules.eviction.signals import RESOURCES

NO_REASON: Final = "No reason of its kubelet was seen."
"""Text after "not Ready", if only an Event or a table shows it."""
_COUNTED: Final = {"inodes": "inodes", "pids": "processes"}
OUTSIDE_PODS: Final = "Pods use almost none of it: look for processes and files outside pods."
"""Text after an eviction for a shortage that no pod explains."""
WORD_ALONE: Final = (
    "Only the word Evicted was seen, or a line of a log that does not say why: a node ran low, a pod exceeded its "
    "own limit, or a kubelet under pressure rejected a pod."
)
"""Text after an eviction for an unknown cause."""
READ_MESSAGES: Final = "Read the message of each pod: kubectl describe pod"
OUT_OF_MEMORY: Final = "The node ran out of memory"
CONTAINER_GC_FAILS: Final = "Garbage collection of containers fails"


def pods_evicted(pods: int, seconds: float | None = None) -> str:
    return f"{counted(pods, 'pod')} evicted{_within(pods, seconds)}"


def for_own_limits(pods: int) -> str:
    """Return the text after `pods_evicted`."""
    return f"for {'its own limit' if pods == 1 else 'their own limits'}"


def pods_rejected(pods: int, seconds: float | None = None) -> str:
    return f"{counted(pods, 'pod')} rejected at admission{_within(pods, seconds)}"


def oom_kills(kills: int, seconds: float | None = None) -> str:
    return f"{counted(kills, 'OOM kill')}{_within(kills, seconds)}"


def no_report(nodes: int = 1) -> str:
    return "its kubelet does not report" if nodes == 1 else "their kubelets do not report"


def pods_unknown(nodes: int = 1) -> str:
    """Return the text after `no_report`."""
    return f"It is unknown whether {'its' if nodes == 1 else 'their'} pods run."


def ready_unknown(node: str) -> str:
    """Say that a node, named as `the node` or `it`, has the status Unknown in its condition Ready."""
    return f"whether {node} is Ready is unknown: {no_report()}"


def reported(message: str) -> str:
    """Return the reason why a node is not Ready, from the message of its condition, without a full stop."""
    return f"Its kubelet reports: {message}." if message else NO_REASON


def capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def amount_of(value: float, signal: str) -> str:
    """Return an amount of a signal, for example `14.4 GiB` or `12.6 M inodes`."""
    kind = _COUNTED.get(RESOURCES.get(signal, ""))
    return f"{count(value)} {kind}" if kind else size(value)


def near(signal: str, available: int, threshold: int | None, *, is_hard: bool, when: str) -> str:
    """Return a signal's amount and threshold; `when` says when it will meet that, empty if it is below."""
    limit = f"{'hard' if is_hard else 'soft'} threshold"
    limit += "" if threshold is None else f" of {amount_of(threshold, signal)}"
    ahead = f"{limit} met {when}" if when else f"below the {limit}"
    return f"{amount_of(available, signal)} available, {ahead}"


def free_cpus(free: int | None, fits: int | None) -> str:
    """Describe a node's free exclusive CPUs, and the most on one NUMA node; None is unknown."""
    are = "an unknown number of CPUs is free" if free is None else counted(free, "CPU is free", "CPUs are free")
    return f"{are}, at most {'an unknown number' if fits is None else fits} of them on one NUMA node"


def _within(times: int, seconds: float | None) -> str:
    return "" if seconds is None or times == 1 else f" within {in_words(seconds)}"
