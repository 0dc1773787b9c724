"""Tests that documents name: whether there is one of that name, and whether it is on."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from typing import Final, TypeAlias

from paths import TESTS

_OFF: Final = re.compile(r"\b(?:skip|xfail)\b")
"""Not `skipif`: what no machine of a kind can do is tried on the others."""

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def known() -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for path in TESTS.rglob("test_*.py"):
        for function in functions(ast.parse(path.read_text("utf-8"))):
            found.setdefault(function.name, []).append(function)
    return found


def functions(tree: ast.Module) -> Iterator[Function]:
    yield from (each for each in tree.body if isinstance(each, Function))


def is_on(function: Function) -> bool:
    return not any(_OFF.search(ast.unparse(decorator)) for decorator in function.decorator_list)
