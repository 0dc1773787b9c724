"""Formats numbers and names for people in an alert."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from common.amounts import size
from common.text import plain
from streams.fold.titles import capital

SHOWN: Final = 3
NAME: Final = 120
"""Maximum number of characters of a name."""

_SENTENCE: Final = 1000
"""Maximum number of characters of an explanation."""
EVICTION_ADVICE: Final = {
    "memory": "Pods over their memory request are evicted first: lowest priority, then largest excess",
    "ephemeral-storage": (
        "Free space on the node's file system: logs, emptyDir volumes, images, and files outside pods. Pods over "
        "their ephemeral-storage request are evicted first"
    ),
    "inodes": "Find what creates many small files on the node. Low priority is evicted first, then most inodes",
    "pids": "Find the process that forks. Low priority is evicted first, then most processes",
}
"""Advice for a resource that runs out, and which pods the kubelet evicts first."""

_SOURCES: Final = {
    "nodes": "all nodes together",
    "cpu_manager_state": "the CPU manager's checkpoint",
    "podresources": "the kubelet's podresources service",
    "koordinator": "koordinator's annotations",
    "volcano": "Volcano's Numatopology",
    "kubelet_metrics": "the kubelet's metrics",
    "noderesourcetopology": "a NodeResourceTopology object",
    "crane": "Crane's NodeResourceTopology object",
    "pod_spec": "the requests of pods",
}
_FIDELITIES: Final = {
    "exact": ", with CPU ids",
    "count": ", as counts without CPU ids",
    "none": ", without NUMA nodes",
}


def name(text: str) -> str:
    """Escape and shorten a name from a cluster."""
    return plain(text, NAME)


def amount(value: int, resource: str) -> str:
    """Format an amount of an eviction's resource: bytes, inodes or process ids."""
    return size(value) if resource in {"memory", "ephemeral-storage"} else f"{value} {resource}"


def shorten_list(names: Iterable[str], separator: str = ", ", *, count: int | None = None) -> str:
    """List the first names and the number of others; `count` is the total if `names` has only some."""
    every = list(names)
    shown, more = every[:SHOWN], (len(every) if count is None else count) - SHOWN
    text = separator.join(map(name, shown))
    return f"{text} and {more} more" if more > 0 else text


def timestamp(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC"


def numa_evidence(source: str, fidelity: str) -> str:
    """Return a sentence that names the source of NUMA numbers."""
    known = _SOURCES.get(source, name(source.replace("_", " ")))
    return f"Known from {known}{_FIDELITIES.get(fidelity, '')}."


def place(cluster: str, node: str) -> str:
    """Name the node, or the cluster if an alert is not about a single node."""
    return f"Node {name(node)}" if node else f"Cluster {name(cluster)}"


def without_news(summary: str, description: str, since: datetime) -> tuple[str, str]:
    """Change the text of an alert that ends as unknown: nothing was received since a time."""
    shown = f"No data since {since:%Y-%m-%d %H:%M:%S} UTC"
    return f"{shown}: {summary}", f"{description} {shown}: its current state is unknown."


def sentence(text: str) -> str:
    """Return an explanation as a sentence with a space after it; empty if there is no explanation."""
    if not text:
        return ""
    shown = plain(text, _SENTENCE)
    return f"{capital(shown).rstrip('.')}. "
