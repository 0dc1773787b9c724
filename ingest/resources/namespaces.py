"""Namespaces, whose labels selectors of affinity name (rules: scheduler-fit)."""

from typing import Final

from ingest.model.objects.namespace import Namespace
from ingest.resources.scheduled import scheduled

NAMESPACES: Final = scheduled(
    "namespaces",
    Namespace,
    kinds={"Namespace": r"v1"},
    paths=("/api/v1/namespaces",),
    without="which namespaces a selector of affinity means is not known",
    must_gather=r"cluster-scoped-resources/core/namespaces(?:/[^/]+)?",
)
