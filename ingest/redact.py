"""Secrets leave a live source's objects before anything else sees them. Pure.

What is taken away is nothing that a rule reads: the types of `ingest.objects` have none of it.
"""

import re
from typing import Any, Final

import msgspec

from ingest.objects import EventAnnotations, NodeAnnotations, PodAnnotations
from ingest.observation import Observation

REDACTED: Final = "[redacted]"

_DROPPED_LISTS: Final = frozenset({"command", "args", "httpHeaders", "managedFields"})
"""Commands, also of probes and hooks, and the headers that a probe sends."""
_DROPPED_MAPS: Final = frozenset({"volumeAttributes", "options", "staticPodURLHeader"})
"""What a volume's driver is given, and the headers with which a kubelet asks for static pods."""
_OUTPUT: Final = "terminated"
"""A container's termination message is its own output, or the end of its log."""
_KEPT_ANNOTATIONS: Final = frozenset(
    field.encode_name
    for kept in (PodAnnotations, NodeAnnotations, EventAnnotations)
    for field in msgspec.structs.fields(kept)
)
_TOPOLOGY_ANNOTATION: Final = re.compile(r"([a-z0-9-]+\.)*(koordinator\.sh|crane\.io|node\.k8s\.io)/")
"""Of a NodeResourceTopology: written by node agents about CPUs and memory (domain-reference A5)."""
_SECRET: Final = re.compile(
    r"(?P<url>[a-z][a-z0-9+.-]{0,30}://)[^/\s@\"'?#]{1,2000}@"
    r"|(?P<scheme>\b(?:bearer|basic) )[a-z0-9._~+/=-]{8,}"
    r"|(?P<name>\b[a-z0-9_-]{0,40}(?:password|passwd|secret|token|api[_-]?key|signature|credential)=)[^\s&\"',;]+",
    re.IGNORECASE,
)
"""A URL's user info, an Authorization header, and what a URL's query or a flag calls a secret."""
_HINTS: Final = ("@", "=", "earer ", "EARER ", "asic ", "ASIC ")
_UNTOUCHED: Final = frozenset(
    {"stats/summary", "metrics", "cpu_manager_state", "memory_manager_state", "cpu_topology", "podresources"}
)
"""Numbers and names; a checkpoint's checksum is over its very bytes (A1)."""


def redact(observation: Observation) -> Observation:
    """The same observation without environments, commands, foreign annotations, managed fields and credentials.

    Everything else is kept as it was received. An object that is not JSON is kept whole: it came from no API.
    """
    if observation.resource in _UNTOUCHED and observation.type != "ERROR":
        return observation
    try:
        document = msgspec.json.decode(observation.object)
    except (msgspec.DecodeError, RecursionError):
        return _unreadable(observation)
    cleaned = _clean(document, topology=observation.resource == "noderesourcetopologies")
    return msgspec.structs.replace(observation, object=msgspec.Raw(msgspec.json.encode(cleaned)))
