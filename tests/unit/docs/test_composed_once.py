"""Alerts, cards and the story call one place for what they say of the same thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from paths import ROOT

ROOMS: Final = ("streams/alerting", "streams/fold", "leadsman/web/attention")
RUN: Final = 5
"""Words in a row that two rooms may not share."""
MAY: Final = {
    "the default of that kubelet": "why an alert cannot fire, beside what a threshold is",
    "use more than they request": "a step, and a possible cause",
}


def written(code: str) -> Iterator[str]:
    """The texts of a module without its docstrings."""
    tree = ast.parse(code)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def runs(texts: Mapping[str, Iterator[str]]) -> dict[str, set[str]]:
    """The rooms by each run of words."""
    found = defaultdict[str, set[str]](set)
    for room, every in texts.items():
        for text in every:
            words = re.findall(r"[a-z][a-z'-]*", text.lower())
            for first in range(len(words) - RUN + 1):
                found[" ".join(words[first : first + RUN])].add(room)
    return found


def of_room(room: str) -> Iterator[str]:
    return (text for file in sorted((ROOT / room).rglob("*.py")) for text in written(file.read_text("utf-8")))


def test_no_two_rooms_write_the_same_words() -> None:
    shared = {run: rooms for run, rooms in runs({room: of_room(room) for room in ROOMS}).items() if len(rooms) > 1}
    assert {run: rooms for run, rooms in shared.items() if run not in MAY} == {}
    assert shared.keys() == MAY.keys(), "an exception that is needed no more"


def test_a_copy_would_be_found() -> None:
    copies = {room: written('f"Node {n}: no new pods are placed there"') for room in "ab"}
    assert runs(copies)["new pods are placed there"] == {"a", "b"}
