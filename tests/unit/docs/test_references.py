"""Every page, section, module, file and make target that code or a document cites exists."""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from ingest.model.topics import topics
from paths import LAYERS, ROOT

_FOLDERS: Final = (*LAYERS, "docs", "deploy", "examples", "tests", ".ci")
_NAMES: Final = ("*.py", "*.sql", "*.md", "*.yaml", "*.toml", "*.j2", "Makefile", "Dockerfile", "run")
_OTHERS: Final = re.compile(r"/(?:found|released)/|compose-spec|/__pycache__/")

_LAYER: Final = "|".join(LAYERS)
PAGE: Final = re.compile(r"(?<![\w/.<>:-])((?:[\w.-]+/)*[\w-]+\.md)((?:#[a-z0-9-]+(?:, )?)*)")
RULES: Final = re.compile(r"(?<!\w )\brules: ([a-z0-9-]+(?:,\s+(?:# |-- )?[a-z0-9-]+)*)")
"""Sections of the page of rules, as code cites them."""
LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
MODULE: Final = re.compile(rf"(?<![\w./$-])((?:{_LAYER})(?:\.[A-Za-z_]\w*)+)(?![\w/-])")
PATH: Final = re.compile(rf"(?<![\w./-])((?:{_LAYER}|docs|deploy|tests|examples)/[\w./-]*\w)")
FILE: Final = re.compile(r"`([\w-]+\.(?:py|sql))`")
TARGET: Final = re.compile(r"(?:`|^)make ([a-z][a-z-]*)", re.MULTILINE)
CODE: Final = r"[A-H](?:10|[1-9])(?:\.[1-9])?"
ELSEWHERE: Final = re.compile(
    r"domain[ -]reference|\b(?:style|house|design|wording)\.md|[Cc]ontract [12]\b|(?<!kubernetes )\bissue \d{1,2}\b"
    rf"|\[V\]|(?<![\w.@'\"/=-]){CODE}(?![\w'\"%-])|[(,;] ?[GH]\)"
)
"""Documents that are not in the repository, and the codes of their sections."""
CITING: Final = (PAGE, RULES, MODULE, PATH, TARGET, ELSEWHERE)
"""Patterns of what a comment may cite."""
_TOPICS: Final = frozenset({"leadsman.flat", *(topic.name for topic in topics())})
_NOT_MODULES: Final = (".md", ".yaml", ".dev")
"""Files and hosts that look like modules."""


class Prose(NamedTuple):
    """Return the texts for people in a file: its comments and docstrings, or all of a document, at its first line."""

    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}"


@cache
def files() -> tuple[Path, ...]:
    inside = (path for folder in _FOLDERS for name in _NAMES for path in (ROOT / folder).rglob(name))
    beside = (path for name in _NAMES for path in ROOT.glob(name))
    return tuple(sorted(path for path in {*inside, *beside} if path.is_file() and not _OTHERS.search(str(path))))


@cache
def prose() -> tuple[Prose, ...]:
    return tuple(each for path in files() for each in _prose(path))


def _prose(path: Path) -> Iterator[Prose]:
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        yield Prose(path, 1, text)
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield Prose(path, node.lineno, node.value.value)
    if not any(map(_cites, text.splitlines())):
        return  # to find the comments takes longer than to parse
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield Prose(path, token.start[0], token.string)


def _cites(line: str) -> bool:
    """Tell whether anything behind a number sign, which may begin a comment, cites something."""
    _, sign, behind = line.partition("#")
    return bool(sign) and any(pattern.search(sign + behind) for pattern in CITING)


def unresolved(
    pattern: re.Pattern[str], exists: Callable[[Path, re.Match[str]], bool], suffix: str = ""
) -> list[str]:
    """Citations by a pattern that lead nowhere, with their places."""
    return [
        f"{each.path.relative_to(ROOT)}:{each.line + each.text.count(chr(10), 0, found.start())}: {found[0]}"
        for each in prose()
        if each.path.suffix.endswith(suffix)
        for found in pattern.finditer(each.text)
        if not exists(each.path, found)
    ]


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as every renderer makes them."""
    text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings)


def found_page(name: str, cited_in: Path) -> Path | None:
    places = (cited_in.parent / name, ROOT / name, ROOT / "docs" / name)
    return next((place.resolve() for place in places if place.is_file()), None)


def page_exists(cited_in: Path, found: re.Match[str]) -> bool:
    page = found_page(found[1], cited_in)
    if page is None and "recipes" in cited_in.parts:
        return f"New file `{found[1]}`:" in cited_in.read_text("utf-8")
    return page is not None and set(re.findall(r"#([a-z0-9-]+)", found[2])) <= anchors(page)


def rules_exist(_: Path, found: re.Match[str]) -> bool:
    return set(re.findall(r"[a-z0-9-]{3,}", found[1])) <= anchors(ROOT / "docs/kubernetes-rules.md")


def link_exists(cited_in: Path, found: re.Match[str]) -> bool:
    target, _, anchor = found[1].partition("#")
    if re.match(r"[a-z]+:", target):
        return True
    page = cited_in.parent / target if target else cited_in
    return page.exists() and (not anchor or anchor in anchors(page))


def module_exists(cited_in: Path, found: re.Match[str]) -> bool:
    """A module, a package, or a name that one defines; a recipe names modules that it creates."""
    if found[1] in _TOPICS or found[1].endswith(_NOT_MODULES) or "recipes" in cited_in.parts:
        return True
    place = ROOT
    for part in found[1].split("."):
        if (place / part).is_dir():
            place /= part
        elif (place / f"{part}.py").is_file():
            place /= f"{part}.py"
        else:
            source = place if place.is_file() else place / "__init__.py"
            return source.is_file() and re.search(rf"\b{part}\b", source.read_text("utf-8")) is not None
    return True


def path_exists(cited_in: Path, found: re.Match[str]) -> bool:
    """A recipe names files that it creates; the test that follows it finds them."""
    path = found[1]
    return (
        "NNNN" in path
        or "recipes" in cited_in.parts
        or any((place / path).exists() for place in (ROOT, cited_in.parent))
    )


def file_exists(_: Path, found: re.Match[str]) -> bool:
    return any(path.name == found[1] for path in files())


def target_exists(_: Path, found: re.Match[str]) -> bool:
    return re.search(rf"^{found[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE) is not None


@pytest.mark.parametrize(
    ("pattern", "exists", "suffix"),
    [
        pytest.param(PAGE, page_exists, "", id="pages and their sections"),
        pytest.param(RULES, rules_exist, "", id="rules"),
        pytest.param(LINK, link_exists, ".md", id="links between documents"),
        pytest.param(MODULE, module_exists, "", id="modules"),
        pytest.param(PATH, path_exists, "", id="paths"),
        pytest.param(FILE, file_exists, ".md", id="files"),
        pytest.param(TARGET, target_exists, "", id="targets of make", marks=pytest.mark.costly),
    ],
)
def test_every_citation_exists(
    pattern: re.Pattern[str], exists: Callable[[Path, re.Match[str]], bool], suffix: str
) -> None:
    missing = unresolved(pattern, exists, suffix)
    assert not missing, "\n".join(missing)


def test_no_document_outside_the_repository_is_cited() -> None:
    elsewhere = unresolved(ELSEWHERE, lambda _, __: False)
    assert not elsewhere, "\n".join(elsewhere)


def test_citations_are_found_at_all() -> None:
    """A pattern that matches nothing would resolve everything."""
    texts = [each.text for each in prose()]
    for pattern in (PAGE, RULES, LINK, MODULE, PATH, FILE, TARGET):
        assert any(pattern.search(text) for text in texts), pattern.pattern
    example = PAGE.search("(kubernetes-rules.md#eviction-order, #eviction-loop)")
    assert example is not None
    assert page_exists(ROOT / "README.md", example)
    for text in ("kubernetes-rules.md#no-such-rule", "no-such-page.md"):
        missing = PAGE.search(text)
        assert missing is not None
        assert not page_exists(ROOT / "README.md", missing)
    rule = RULES.search("as the kubelet does (rules: eviction-order, no-such-rule).")
    assert rule is not None
    assert not rules_exist(ROOT, rule)
    module = MODULE.search("`streams.no_such_module.thing`")
    assert module is not None
    assert not module_exists(ROOT, module)
    assert all(ELSEWHERE.search(text) for text in ("(F4)", "domain-reference C4", "contract 1", "(A8, C5)", "D4 [V]"))
