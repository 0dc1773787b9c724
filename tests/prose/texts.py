"""The texts that people read, by part: documents, help, docstrings and comments."""

import ast
import re
import tokenize
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Final, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from paths import LAYERS, ROOT, TESTS
from prose.rules import Kind

_DOCUMENTS: Final = ("*.md", "docs/**/*.md", "streams/alerting/runbooks/*.md", "deploy/**/*.md", ".github/**/*.md")
_OFF: Final = re.compile(r"<!-- prose (off: \S.*|on) -->")
"""Between these a text is not judged; the reason stands behind "off"."""


_KINDS: Final = {"heading_open": Kind.HEADING, "th_open": Kind.CELL, "td_open": Kind.CELL}


class Text(NamedTuple):
    """A paragraph, cell, heading or docstring, with its place and part."""

    part: str
    place: str
    kind: Kind
    text: str


def texts() -> Iterator[Text]:
    """Every text of the repository that is judged."""
    for pattern in _DOCUMENTS:
        for path in sorted(ROOT.glob(pattern)):
            yield from document(path.read_text("utf-8"), str(path.relative_to(ROOT)))
    for layer in (*LAYERS, TESTS.name):
        for path in sorted((ROOT / layer).rglob("*.py")):
            yield from docstrings(path.read_text("utf-8"), path.relative_to(ROOT))
            if layer != TESTS.name:
                yield from comments(path.read_text("utf-8"), path.relative_to(ROOT))


def document(source: str, name: str) -> Iterator[Text]:
    """The paragraphs, cells and headings of a Markdown document; a command's help counts as paragraphs too."""
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    judged, kind, line = True, Kind.PROSE, 1
    for token in tokens:
        line = token.map[0] + 1 if token.map else line
        if switch := _OFF.match(token.content.strip()):
            judged = switch[1] == "on"
        if token.type.endswith("_open"):
            kind = _KINDS.get(token.type, Kind.PROSE)
        elif judged and token.type == "inline":
            yield Text(name, f"{name}:{line}", kind, _plain(token))
        elif judged and token.type == "fence" and token.info == "text" and name == "docs/commands.md":
            yield from _help(token.content, name, line)


def _plain(token: Token) -> str:
    parts = {"code_inline": "§", "softbreak": " ", "hardbreak": " ", "image": "", "html_inline": ""}
    return "".join(parts.get(child.type, child.content) for child in token.children or ())


def _help(text: str, name: str, line: int) -> Iterator[Text]:
    """The prose of a command's help: its paragraphs, and the column behind the options."""
    above = re.split(r"\n(?:Options|Commands):", text, maxsplit=1)[0]
    for paragraph in re.split(r"\n\s*\n", above)[1:]:
        if not paragraph.lstrip().startswith(("leadsman ", "kubectl ", "docker ")):
            yield Text(name, f"{name}:{line}", Kind.CELL, " ".join(paragraph.split()))
    cells = re.findall(r"^  (?:-|\S+  ).*?(?:  |\n {10,})(\S.*(?:\n {10,}\S.*)*)", text[len(above) :], re.MULTILINE)
    for cell in cells:
        yield Text(name, f"{name}:{line}", Kind.CELL, " ".join(cell.split()))


def docstrings(source: str, path: Path) -> Iterator[Text]:
    """Every docstring and every string under an assignment, by the package that holds it."""
    part, is_test = ".".join(path.parts[:-1][:2]), path.parts[0] == TESTS.name
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            first, *others = (
                " ".join(re.sub(r"`[^`]*`|\(rules: [^)]*\)", "§", paragraph).split())
                for paragraph in re.split(r"\n\s*\n", node.value.value.strip())
            )
            place = f"{path}:{node.lineno}"
            yield Text(part, place, Kind.TEST if is_test else Kind.DOCSTRING, first)
            if not is_test:
                yield from (Text(part, place, Kind.PROSE, each) for each in others)


def comments(source: str, path: Path) -> Iterator[Text]:
    """Every comment, by the package that holds it; the codes of `noqa` and `type: ignore` are not prose."""
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            prose = re.sub(r"#\s*(?:noqa|type|fmt|nosec)[^#]*", "", token.string).lstrip("# ")
            yield Text(".".join(path.parts[:-1][:2]), f"{path}:{token.start[0]}", Kind.COMMENT, prose)
