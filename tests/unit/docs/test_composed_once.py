"""Alerts, cards and the story call one place for what they say of the same thing."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

from paths import ROOT

FOLDERS: Final = ("streams/alerting", "streams/fold", "leadsman/web/attention")
RUN: Final = 5
"""Words in a row that two folders may not share."""
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
    """The folders by each run of words."""
    found = defaultdict[str, set[str]](set)
    for folder, every in texts.items():
        for text in every:
            words = re.findall(r"[a-z][a-z'-]*", text.lower())
            for first in range(len(words) - RUN + 1):
                found[" ".join(words[first : first + RUN])].add(folder)
    return found


def of_folder(folder: str) -> Iterator[str]:
    return (text for file in sorted((ROOT / folder).rglob("*.py")) for text in written(file.read_text("utf-8")))


def test_no_two_rooms_write_the_same_words() -> None:
    shared = {
        run: folders for run, folders in runs({each: of_folder(each) for each in FOLDERS}).items() if len(folders) > 1
    }
    assert {run: folders for run, folders in shared.items() if run not in MAY} == {}
    assert shared.keys() == MAY.keys(), "an exception that is needed no more"


def test_a_copy_would_be_found() -> None:
    copies = {folder: written('f"Node {n}: no new pods are placed there"') for folder in "ab"}
    assert runs(copies)["new pods are placed there"] == {"a", "b"}
