"""Namespaces, as far as affinity between pods heeds them (rules: scheduler-fit)."""

from ingest.model.objects.base import KeptObject


class _NamespaceMetadata(KeptObject, frozen=True):
    name: str
    uid: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None


class Namespace(KeptObject, frozen=True):
    metadata: _NamespaceMetadata
