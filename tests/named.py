"""Tests that documents name: whether there is one of that name, and whether it is on."""

import ast
import re
from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

from paths import TESTS

_OFF: Final = re.compile(r"\b(?:skip|xfail)\b")
"""Not `skipif`: what no machine of a kind can do is tried on the others."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def off(names: Collection[str]) -> set[str]:
    """The names of which no test is on. Modules that have none of them are not parsed, which takes longer than to
    search them.
    """
    wanted = re.compile(rf"^(?:async )?def (?:{'|'.join(names)})\(", re.MULTILINE)
    texts = (path.read_text("utf-8") for path in TESTS.rglob("test_*.py"))
    found = (each for text in texts if wanted.search(text) for each in functions(ast.parse(text)))
    return {*names} - {each.name for each in found if is_on(each)}


def functions(tree: ast.Module) -> Iterator[Function]:
    yield from (each for each in tree.body if isinstance(each, Function))


def is_on(function: Function) -> bool:
    return not any(_OFF.search(ast.unparse(decorator)) for decorator in function.decorator_list)
