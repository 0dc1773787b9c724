"""How views match selectors, as streams/rules/scheduling/selectors.py does (rules: scheduler-fit)."""

from typing import Final

MEETS: Final = """\
(labels, wanted) -> arrayAll(
    r -> multiIf(
        r.2 = 'In', mapContains(labels, r.1) AND has(r.3, labels[r.1]),
        r.2 = 'NotIn', NOT (mapContains(labels, r.1) AND has(r.3, labels[r.1])),
        r.2 = 'Exists', mapContains(labels, r.1),
        r.2 = 'DoesNotExist', NOT mapContains(labels, r.1),
        r.2 = 'Gt' AND length(r.3) = 1, ifNull(toInt64OrNull(labels[r.1]) > toInt64OrNull(r.3[1]), 0),
        r.2 = 'Lt' AND length(r.3) = 1, ifNull(toInt64OrNull(labels[r.1]) < toInt64OrNull(r.3[1]), 0),
        0),
    wanted)"""
"""An expression that tests whether labels meet all requirements, which are triples of key, operator and values."""
