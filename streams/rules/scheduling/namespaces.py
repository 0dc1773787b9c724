"""Selects the namespaces of affinity terms, by their labels (rules: scheduler-fit)."""

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from ingest.model.objects.namespace import Namespace
from streams.rules.scheduling.constraints import Constraints, NeighbourTerm
from streams.rules.scheduling.selectors import matches

Namespaces: TypeAlias = Mapping[str, Mapping[str, str]]
"""The labels of each."""


class NamespaceFacts(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    labels: dict[str, str] = {}


def namespace_facts(of: Namespace) -> NamespaceFacts:
    return NamespaceFacts(of.metadata.labels or {})


def with_names(constraints: Constraints, namespaces: Namespaces, *, complete: bool) -> Constraints:
    """With the names of the namespaces that its terms select; `complete` where no other matters."""
    terms = (constraints.affinity, constraints.anti_affinity)
    if not any(term.namespace_selector for of in terms for term in of):
        return constraints
    affinity, anti_affinity = ([_with_names(term, namespaces, complete=complete) for term in of] for of in terms)
    return msgspec.structs.replace(constraints, affinity=affinity, anti_affinity=anti_affinity)


def _with_names(term: NeighbourTerm, namespaces: Namespaces, *, complete: bool) -> NeighbourTerm:
    if not term.namespace_selector:
        return term
    found = [name for name, labels in namespaces.items() if matches(term.namespace_selector, labels)]
    return msgspec.structs.replace(term, namespaces=[*term.namespaces, *found], unknown_namespaces=not complete)
