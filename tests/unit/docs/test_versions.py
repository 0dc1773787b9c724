"""The pages of versions and of accuracy: complete, and every test that they name is on."""

import json
import re
from typing import Final

import pytest

from named import off
from paths import ROOT, TESTS

_RULES: Final = (ROOT / "docs/kubernetes-rules.md").read_text("utf-8")
_VERSIONS: Final = (ROOT / "docs/kubernetes-versions.md").read_text("utf-8")
_OF_THE_RANGE: Final = re.compile(r"(?<!times )\b1\.(?:2[4-9]|3[0-6])\b(?!\.[0-9])")


@pytest.mark.parametrize("page", ["kubernetes-versions.md", "accuracy.md"])
def test_every_named_test_exists_and_is_on(page: str) -> None:
    names = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / page).read_text("utf-8")))
    assert names
    assert off(names) == set()


def test_every_row_of_a_version_has_a_test() -> None:
    rows = [line for line in _VERSIONS.splitlines() if line.startswith("| ") and not line.startswith("| rule ")]
    assert len(rows) > 40
    assert [row for row in rows if not re.search(r"`test_\w+` \|$", row)] == []


def test_every_rule_that_names_a_version_is_on_the_page() -> None:
    sections = {part.split("\n", 1)[0]: part for part in re.split(r"\n### ", _RULES)[1:]}
    versioned = {title for title, text in sections.items() if _OF_THE_RANGE.search(text)}
    linked = set(re.findall(r"\]\(kubernetes-rules\.md#([\w-]+)\)", _VERSIONS))
    assert {title for title in versioned if title.lower().replace(" ", "-") not in linked} == set()


def test_every_public_report_has_a_row_with_its_address_answer_and_command() -> None:
    reports = {
        json.loads(path.read_text("utf-8"))["report"]: path.parent.name
        for path in (TESTS / "field/cases").glob("*/facts.json")
    }
    section = (ROOT / "docs/accuracy.md").read_text("utf-8").split("## Against public reports")[1].split("\n## ")[0]
    rows = dict(
        re.findall(r"^\| \[[^]]+\]\(([^)]+)\) \| [^|]{20,} \| `leadsman (\w+) [^`]+` \|$", section, re.MULTILINE)
    )
    assert {reports.get(each, each) for each in reports.keys() ^ rows.keys()} == set()
    assert set(rows.values()) <= {"look", "query", "fit"}
