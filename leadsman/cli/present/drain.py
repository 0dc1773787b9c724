"""Formats the answer of `leadsman simulate-drain` for people and for programs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from common.amounts import counted
from common.text import plain
from leadsman.cli.present.tables import of_text, raw_rows
from sql.database.open import Result
from sql.questions.cells import CELL, Column
from sql.questions.drain import Drain
from streams.questions.drain import Fate, Outcome, summary

_WORDS: Final[Mapping[Outcome, tuple[str, str]]] = {
    "refused": ("cannot be evicted", "cannot be evicted"),
    "ends": ("ends for good", "end for good"),
    "no_room": ("finds no room", "find no room"),
    "unknown": ("may find room", "may find room"),
    "in_turn": ("moves in turn", "move in turn"),
    "moves": ("moves", "move"),
    "leaving": ("is leaving", "are leaving"),
    "stays": ("stays", "stay"),
}


def drain_document(drain: Drain, fates: Sequence[Fate]) -> dict[str, Any]:
    """Return the answer for programs: cluster, as_of, budgets_are_listed, and the fields of each `Fate`."""
    return {
        "cluster": drain.known.cluster,
        "as_of": drain.known.as_of,
        "budgets_are_listed": drain.budgets_are_listed,
        "pods": [each._asdict() for each in fates],
    }


def drain_lines(drain: Drain, fates: Sequence[Fate]) -> Iterator[str]:
    when = f", as known at {drain.known.as_of:%Y-%m-%d %H:%M:%S} UTC" if drain.known.as_of else ""
    counts = [f"{number} {_WORDS[outcome][number > 1]}" for outcome, number in summary(fates).items()]
    what = f"{counted(len(fates), 'pod')}: {', '.join(counts)}." if fates else "no pods."
    yield f"Cluster {plain(drain.known.cluster) or '(none)'}{when}: {what}"
    if not drain.budgets_are_listed:
        read = counted(len(drain.cluster.budgets), "PodDisruptionBudget was", "PodDisruptionBudgets were")
        yield f"{read} read, and no complete list of them: there may be others, which refuse more pods."


def drain_rows(fates: Sequence[Fate]) -> Result:
    return raw_rows(Fate._fields, fates)


def drain_columns(fates: Sequence[Fate]) -> list[Column]:
    """Return a line for each pod: what happens to it, where it could go, and why."""
    names = ("node", "pod", "outcome", "to", "controller", "why")
    return of_text(names, ([plain(cell, CELL) for cell in _cells(each)] for each in fates))


def _cells(fate: Fate) -> tuple[str, ...]:
    pod = f"{fate.namespace}/{fate.pod}"
    return (fate.node, pod, _WORDS[fate.outcome][0], fate.to or "-", fate.controller or "-", fate.why or "-")
