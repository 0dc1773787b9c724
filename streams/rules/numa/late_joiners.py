"""The late-joiner effect: nodes that joined later hold fewer exclusive CPUs (glossary.md#numa)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from statistics import fmean
from typing import Final, NamedTuple

GROUP_GAP: Final = timedelta(hours=6)
"""Nodes that joined at least this long after one another are in different groups. A rollout, or a delivery of
machines, takes minutes to a few hours, and the next one comes on another shift.
"""
_FEWEST: Final = 3
"""Number of nodes below which a rank correlation means nothing."""


class Aged(NamedTuple):
    """A node by its age; tuples sort from the oldest on."""

    created_at: datetime
    node: str
    ratio: float
    """Its exclusive CPUs over those that are allocatable exclusively."""


class AgeGroup(NamedTuple):
    nodes: tuple[str, ...]
    first_created_at: datetime
    ratio: float
    """The mean of its nodes' ratios."""


class LateJoiners(NamedTuple):
    rank_correlation: float | None
    """Spearman's, of a node's age and its ratio: 1 if each older node is fuller. None for fewer than 3 nodes, or
    where all are equally old or equally full.
    """
    groups: tuple[AgeGroup, ...]
    """Groups from the oldest to the youngest."""

    @property
    def gap_ratio(self) -> float | None:
        """The oldest group's ratio minus the youngest's; None if there is one group."""
        return self.groups[0].ratio - self.groups[-1].ratio if len(self.groups) > 1 else None


def late_joiners(nodes: Sequence[Aged], group_gap: timedelta = GROUP_GAP) -> LateJoiners:
    """Relate the ratios of `nodes` to their ages; the order of `nodes` does not matter."""
    ordered = sorted(nodes)
    groups: list[list[Aged]] = []
    for aged in ordered:
        if groups and aged.created_at - groups[-1][-1].created_at < group_gap:
            groups[-1].append(aged)
        else:
            groups.append([aged])
    return LateJoiners(
        rank_correlation=_spearman(
            [-aged.created_at.timestamp() for aged in ordered], [aged.ratio for aged in ordered]
        ),
        groups=tuple(
            AgeGroup(tuple(a.node for a in group), group[0].created_at, fmean(a.ratio for a in group))
            for group in groups
        ),
    )


def _spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    if len(left) < _FEWEST:
        return None
    x, y = _ranks(left), _ranks(right)
    mean = (len(x) + 1) / 2
    covariance = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    spread: float = sum((a - mean) ** 2 for a in x) * sum((b - mean) ** 2 for b in y)
    return covariance / spread**0.5 if spread else None


def _ranks(values: Sequence[float]) -> list[float]:
    """Rank values from 1; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=values.__getitem__)
    ranks = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for i in order[first : last + 1]:
            ranks[i] = (first + last) / 2 + 1
        first = last + 1
    return ranks
