"""Matches label and node selectors like the scheduler (rules: scheduler-fit)."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from ingest.model.objects.pod import LabelSelector, MatchExpression, NodeSelectorTerm
from streams.rules.values.expressions import Operand

NODE_NAME: Final = ":name"
"""Stands for the field metadata.name of a node beside its labels: no label has a colon."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,63}")
_INT64: Final = range(-(1 << 63), 1 << 63)


class Requirement(msgspec.Struct, frozen=True, array_like=True, gc=False):
    key: str
    operator: str
    values: list[str] = []


NOTHING: Final = [Requirement("", "In")]
"""A missing selector, which selects nothing."""
Terms: TypeAlias = list[list[Requirement]]
"""Terms, of which a node must meet one, with all its requirements."""


def selector(labels_selector: LabelSelector | None) -> list[Requirement]:
    """Return requirements that must all be met; an empty list selects everything."""
    if labels_selector is None:
        return NOTHING
    labels = [Requirement(key, "In", [value]) for key, value in sorted((labels_selector.match_labels or {}).items())]
    return [*labels, *map(_requirement, labels_selector.match_expressions or ())]


def node_terms(labels: Mapping[str, str] | None, terms: Sequence[NodeSelectorTerm] | None) -> Terms | None:
    """Return the terms of affinity with the node selector in each; None if any node fits."""
    wanted = selector(LabelSelector(match_labels=dict(labels or {})))
    if terms is None:
        return [wanted] if wanted else None
    return [[*wanted, *_term(term)] for term in terms if term.match_expressions or term.match_fields]


def matches(requirements: Sequence[Requirement], labels: Mapping[str, str]) -> bool:
    return all(_is_met(each, labels.get(each.key)) for each in requirements)


def meets_any(terms: Terms | None, labels: Mapping[str, str]) -> bool:
    """Tell whether labels meet any term; without terms, any node does."""
    return terms is None or any(matches(term, labels) for term in terms)


def _requirement(expression: MatchExpression) -> Requirement:
    return Requirement(expression.key, expression.operator, expression.values or [])


def _term(term: NodeSelectorTerm) -> Iterator[Requirement]:
    yield from map(_requirement, term.match_expressions or ())
    for field in term.match_fields or ():
        is_name = field.key == "metadata.name"
        yield Requirement(NODE_NAME, field.operator, field.values or []) if is_name else NOTHING[0]


OPERATORS: Final[Mapping[str, Callable[[Operand, Operand], Operand]]] = {
    "In": lambda is_there, is_listed: is_there & is_listed,
    "NotIn": lambda is_there, is_listed: (is_there & is_listed) == 0,
    "Exists": lambda is_there, _: is_there,
    "DoesNotExist": lambda is_there, _: is_there == 0,
}
"""Tests of a label by operator: from whether it is there, and whether its value is among the wanted ones."""
COMPARISONS: Final[Mapping[str, Callable[[Operand, Operand], Operand]]] = {
    "Gt": lambda have, bound: have > bound,
    "Lt": lambda have, bound: have < bound,
}
"""Tests of the number in a label and of the only wanted value, by operator."""


def _is_met(wanted: Requirement, value: str | None) -> bool:
    if operator := OPERATORS.get(wanted.operator):
        return bool(operator(value is not None, value in wanted.values))
    comparison = COMPARISONS.get(wanted.operator)
    have, bound = _number(value), _number(wanted.values[0] if len(wanted.values) == 1 else None)
    return comparison is not None and have is not None and bound is not None and bool(comparison(have, bound))


def _number(text: str | None) -> int | None:
    found = _INTEGER.fullmatch(text or "")
    return int(found[0]) if found and int(found[0]) in _INT64 else None
