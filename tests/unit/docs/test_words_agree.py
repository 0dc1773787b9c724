"""Words that a person reads: a number agrees with its noun, and no error has the name of a class of Python."""

import ast
import re
from collections.abc import Callable, Iterator
from typing import Final

from paths import LAYERS, ROOT

NOUNS: Final = (
    "(?:CPUs|nodes|pods|containers|times|images|messages|records|partitions|replicas|files|rows|observations|objects|"
    "entries|ranges|reasons|evictions|forecasts|alerts|silences|kills|letters|Events|clusters|days|hours|minutes|changes)"
)
"""Plurals of what Leadsman counts."""
COUNTED: Final = re.compile(rf" (?:(?!about\b)[a-z]+ )?{NOUNS}\b")
PERHAPS: Final = re.compile(rf"\}}(?:[\"']\s*\w{{0,2}}[\"'])?{COUNTED.pattern}")
"""One of these in a text that is not parsed yet; a text may go on in another literal."""
MAY: Final = {
    "common/amounts.py": "it is the helper",
    "streams/fold/reducer.py": "a failed reducer is a bug of Leadsman, and the report needs the class",
}
"""Files that break a rule, with the reason."""


def uncounted(code: str) -> Iterator[str]:
    """The f-strings that put a number which may be 1 before a plural."""
    if not PERHAPS.search(code):
        return
    for text in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.JoinedStr)):
        for value, after in zip(text.values, text.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(after, ast.Constant) and _may_be_one(value.value):
                shown = ast.unparse(text)
                if COUNTED.match(str(after.value)) and "0/" not in shown:  # the scheduler writes 0/1 nodes
                    yield shown


def _may_be_one(value: ast.expr) -> bool:
    """Constants and texts that a function composed are as their author wrote them."""
    if any(isinstance(each, ast.Name) and each.id.isupper() for each in ast.walk(value)):
        return False
    match value:
        case ast.Call(func=ast.Name(id=name)):
            return name in {"len", "sum", "round", "int"}
        case ast.Name(id="place"):
            return False
    return isinstance(value, ast.Name | ast.Attribute | ast.BinOp | ast.Subscript)


def classes(code: str) -> Iterator[str]:
    """The expressions that show an error's class."""
    if not re.search(r"\b__name__\b|\b(?:error|problem)\s*!r", code):
        return
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(attr="__name__", value=ast.Call(func=ast.Name(id="type"), args=[ast.Name(id=name)])):
                if name in {"error", "problem"}:
                    yield ast.unparse(node)
            case ast.FormattedValue(conversion=114, value=ast.Name(id="error" | "problem")):
                yield ast.unparse(node)


def found_by(look: Callable[[str], Iterator[str]]) -> list[tuple[str, str]]:
    files = (file for layer in LAYERS for file in sorted((ROOT / layer).rglob("*.py")))
    given = ((str(file.relative_to(ROOT)), text) for file in files for text in look(file.read_text()))
    return [each for each in given if each[0] not in MAY]


def test_a_number_agrees_with_its_noun() -> None:
    assert found_by(uncounted) == []


def test_no_error_is_shown_with_its_class() -> None:
    assert found_by(classes) == []


def test_the_ways_of_the_past_would_be_found() -> None:
    assert list(uncounted('f"{free} CPUs are free"; f"{len(names)} running pods"; f"{row.nodes} nodes"'))[2:]
    assert list(uncounted('print(f"{free}"\n    f" CPUs are free")'))
    assert list(uncounted('f"at least {LEAST} times"; f"{counted(free, word)} of pods"')) == []
    assert list(classes('f"{type(problem).__name__}: {problem}"; f"{error!r}"'))[1:]
