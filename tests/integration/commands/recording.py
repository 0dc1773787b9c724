"""Reads the capture of a node under pressure: its Events and the pods' own status."""

from typing import Final

EVICTED: Final = {
    "hog-775668d95b-wcnzb": "memory",
    "hog-775668d95b-22tc2": "ephemeral-storage",
    "pinned": "ephemeral-storage",
    "best": "ephemeral-storage",
    "burst": "ephemeral-storage",
    "filler-66d86cc6d4-p8xrj": "ephemeral-storage",
}
"""The pods that the kubelet evicted under pressure, and the resource that the node was low on."""
