"""The documents are complete: pages in the nav, settings, and markup that every renderer shows alike."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pydantic
import pytest

from leadsman.run.settings import Settings
from paths import ROOT

DOCS: Final = ROOT / "docs"
README_LINES: Final = 120


def text_of(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def nav_of(entries: Any) -> Iterator[str]:
    """The pages of a nav, whatever sections they are in."""
    for entry in entries:
        for value in [entry] if isinstance(entry, str) else entry.values():
            if isinstance(value, str):
                yield value
            else:
                yield from nav_of(value)


def settings_of(model: type[pydantic.BaseModel], prefix: str = "") -> Iterator[str]:
    """The names of all settings, with dots."""
    for name, field in model.model_fields.items():
        inner = [each for each in (field.annotation, *_arguments(field.annotation)) if _is_model(each)]
        if inner:
            yield from settings_of(inner[0], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}"


def _arguments(annotation: Any) -> tuple[Any, ...]:
    return getattr(annotation, "__args__", ())


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel)


def test_the_nav_lists_every_page() -> None:
    nav = tomllib.loads(text_of("zensical.toml"))["project"]["nav"]
    assert sorted(nav_of(nav)) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(text_of("README.md").splitlines()) <= README_LINES


def test_every_setting_is_on_the_page_for_operators() -> None:
    page = text_of("docs/sre.md")
    listed = {
        name for row in re.findall(r"^\| (`[a-z].*?`) \|", page, re.MULTILINE) for name in re.findall(r"`(.*?)`", row)
    }
    assert set(settings_of(Settings)) - listed == set()


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_a_list_or_table_has_a_blank_line_before_it(page: Path) -> None:
    """Or the site shows it as a paragraph, although other renderers do not."""
    text = re.sub(r"^(`{3,}).*?^\1", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    glued = re.findall(r"^(?![-|#>\s\d]).+\n(?:- |\d+\. |\|).*", text, re.MULTILINE)
    assert glued == []
