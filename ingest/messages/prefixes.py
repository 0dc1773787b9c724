"""Prefixes of messages of Kubernetes, in the one list that redaction and rules share. Pure."""

import re
from typing import Final

COMBINED: Final = "(combined from similar events): "
REJECTED: Final = ("Pod was rejected: ", "Pod ")
"""Before an admission's message in the pod's status: since 1.26, and before (rules: admission-failures)."""
_SHUTDOWN: Final = "Pod was rejected as "
"""Begins a whole message: "... the node is shutting down."."""
_BEFORE: Final = re.compile(rf"(?:{re.escape(COMBINED)})?(?:{'|'.join(map(re.escape, REJECTED))})?")


def is_kubelet_start(reason: str, message: str) -> bool:
    """Tell whether an Event is the kubelet's own at its start; kube-proxy uses the same reason."""
    return reason == "Starting" and message.removeprefix(COMBINED).strip() == "Starting kubelet."


def prefix_of(message: str) -> str:
    """All that stands before the message itself, empty if nothing does.

    A message of its own can begin as the older one does ("Pod sandbox changed"): who reads it tries it whole first.
    """
    found = _BEFORE.match(message)
    return found[0] if found else ""


def without_rejection(text: str) -> str:
    """An admission's message, from a pod's status as from its Event."""
    if text.startswith(_SHUTDOWN):
        return text
    return next((text.removeprefix(each) for each in REJECTED if text.startswith(each)), text)
