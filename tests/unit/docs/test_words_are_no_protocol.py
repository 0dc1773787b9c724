"""Sentences are for people: a program reads fields, and none takes its own words apart."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from paths import LAYERS, ROOT

WORDS: Final = frozenset(
    {
        "advice",
        "description",
        "ending",
        "evidence",
        "explanation",
        "problem",
        "remark",
        "summary",
        "title",
        "what",
        "why",
    }
)
"""Fields and columns that hold sentences of ours."""
PARSERS: Final = frozenset(
    {"count", "endswith", "find", "index", "partition", "removeprefix", "rpartition", "split", "startswith"}
)
OF_RE: Final = frozenset({"findall", "finditer", "fullmatch", "match", "search", "split"})
OF_SQL: Final = re.compile(
    r"\b(?:startsWith|endsWith|position\w*|match|extract\w*|replaceRegexp\w+|splitBy\w+|hasSubstr\w*|multiSearch\w+)"
    rf"\((?:'[^']*', )?(?:\w+\.)?(?:about|{'|'.join(sorted(WORDS))})\b"
)


def taken_apart(code: str) -> Iterator[str]:
    """The calls in Python that look for a part of a sentence."""
    for call in (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)):
        if isinstance(call.func, ast.Attribute):
            if call.func.attr in PARSERS and named(call.func.value) in WORDS:
                yield ast.unparse(call)
            if call.func.attr in OF_RE and any(named(each) in WORDS for each in call.args):
                yield ast.unparse(call)


def named(value: ast.expr) -> str:
    """The field that a value is: `row.what`, `row["what"]` or `what`."""
    match value:
        case ast.Attribute(attr=name) | ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return name
    return ""


def files(suffix: str) -> Iterator[Path]:
    return (file for layer in LAYERS for file in sorted((ROOT / layer).rglob(f"*{suffix}")))


def test_no_program_parses_sentences_of_ours() -> None:
    found = [(str(file.relative_to(ROOT)), call) for file in files(".py") for call in taken_apart(file.read_text())]
    assert found == []


def test_no_sql_parses_sentences_of_ours() -> None:
    found = [
        (str(file.relative_to(ROOT)), call) for file in files(".sql") for call in OF_SQL.findall(file.read_text())
    ]
    assert found == []


def test_the_ways_of_the_past_would_be_found() -> None:
    assert (
        len(list(taken_apart('_HEAD.search(self.what); alert.summary.partition(":"); row["why"].startswith("a")')))
        == 3
    )
    assert OF_SQL.search("if(startsWith(about, 'ended with'), '', 'was ')")
    assert OF_SQL.search("extract(r.explanation, '[0-9]+')")
