"""Formats amounts, times and signals for people."""

from datetime import datetime
from re import match
from typing import Final

from common import amounts
from common.durations import in_words
from streams.fold.titles import amount_of, capital
from streams.rules.eviction.signals import PID_AVAILABLE

KINDS: Final = {
    "alert": "Alert",
    "silence": "Silence",
    "eviction": "Eviction",
    "limit": "Own limit",
    "rejection": "Rejection",
    "pod_end": "Pod end",
    "pressure": "Pressure",
    "unguarded": "No threshold",
    "image_gc": "Image GC",
    "numa": "NUMA",
    "scheduler": "Scheduler",
    "node": "Node",
    "stall": "Stall",
    "settings": "Settings",
    "pending": "Pending",
    "warning": "Warning",
    "kubelet": "Kubelet",
    "unknown": "Not known",
}
"""The kinds of a story's lines, in the order of lanes."""
STRATEGIES: Final = {
    "most_allocated": "Most allocated",
    "least_allocated": "Least allocated",
    "distribute_evenly": "Distribute evenly",
    "spread_by_pcpus": "Spread by physical cores",
    "full_pcpus_only": "Full physical cores only",
    "gang": "Keep pod groups together",
}

_EXCEPTIONS: Final = {
    "ConnectionRefusedError": "connection refused",
    "ConnectionResetError": "connection reset",
    "ServerDisconnectedError": "the connection was closed before an answer",
    "CertificateError": "its certificate is not trusted",
    "gaierror": "its name has no address",
    "TimeoutError": "no answer in time",
    "ConnectorError": "it cannot be reached",
}
"""Words for exceptions of Python and its libraries, most specific first. Older captures contain the raw names."""


def unit(signal: str) -> str:
    """Return the unit of a signal: bytes, inodes or processes."""
    if signal == PID_AVAILABLE:
        return "processes"
    return "inodes" if signal.endswith("inodesFree") else "bytes"


def amount(value: float | None, signal: str) -> str:
    """Format an amount of a signal, such as 14.4 GiB or 12.6 M inodes."""
    return "unknown" if value is None else amount_of(value, signal)


def size(value: float | None) -> str:
    return "unknown" if value is None else amounts.size(value)


def count(value: float | None) -> str:
    return "unknown" if value is None else amounts.count(value)


def resource(value: float | None, name: str) -> str:
    """Format an amount of a resource of node_fit; cpu is in millicores."""
    if value is None:
        return "unknown"
    if name == "cpu":
        return amounts.cpus(value)
    return size(value) if name in {"memory", "ephemeral-storage"} or name.startswith("hugepages-") else count(value)


def duration(seconds: float | None) -> str:
    return "unknown" if seconds is None else in_words(seconds)


def percent(ratio: float | None) -> str:
    return "unknown" if ratio is None else f"{ratio * 100:.0f} %"


def clock(at: datetime) -> str:
    return f"{at:%H:%M:%S}"


def timestamp(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S}"


def short(at: datetime) -> str:
    """Format day and time without the year, such as 21 Nov 04:11."""
    return f"{at.day} {at:%b %H:%M}"


def plainly(error: str) -> str:
    """Return a source's error in words, without Python's exceptions."""
    if not match(r"[\w.]+(Error|Exception)[(:]", error):
        return error
    words = (text for name, text in _EXCEPTIONS.items() if f"{name}(" in error or f"{name}:" in error)
    return next(words, f"it could not be read ({error})")


def sentence(text: str) -> str:
    """Return a text with a capital and a full stop; findings also store texts that are part of a longer one."""
    text = capital(text.strip())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
