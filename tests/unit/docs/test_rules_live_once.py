"""A rule of Kubernetes has one place, which architecture.md names; SQL reads what Python concluded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from paths import FLOORS, ROOT
from unit.docs.test_references import RULES

ARCHITECTURE: Final = (ROOT / "docs" / "architecture.md").read_text()
ROW: Final = re.compile(
    r"^\| `((?:streams\.rules|ingest|sql)\.\w+)` \| ([a-z0-9-]+(?:, [a-z0-9-]+)*) \|$", re.MULTILINE
)
PLACES: Final = {rule: place for place, rules in ROW.findall(ARCHITECTURE) for rule in rules.split(", ")}
READERS: Final = {
    "refused_pods": "admission-texts",
    "restart_ends": "exclusive-cpus",
    "scheduled_now": "scheduler-volumes",
}
"""Views that cite a rule of a place in Python, and read what it concluded."""
TWICE: Final = {
    "eviction_order": ("eviction-order", "test_eviction_order_agrees_with_the_rule_for_every_signal_and_layout"),
    "image_gc_state": ("image-gc-loop", "test_image_gc_state_agrees_with_the_rule"),
}
"""Views that compute such a rule again, and the test that compares both. No view is added here: it reads a table."""


def citations() -> Iterator[tuple[Path, str]]:
    for floor in FLOORS:
        for file in sorted((ROOT / floor).rglob("*")):
            if file.suffix in {".py", ".sql"} and "migrations" not in file.parts:
                for found in RULES.finditer(file.read_text()):
                    yield from ((file, rule) for rule in re.findall(r"[a-z0-9-]{3,}", found[1]))


CITED: Final = tuple(citations())


def test_every_rule_that_code_cites_has_one_place() -> None:
    named = [rule for _, rules in ROW.findall(ARCHITECTURE) for rule in rules.split(", ")]
    assert sorted(named) == sorted({rule for _, rule in CITED})


@pytest.mark.parametrize(("rule", "place"), PLACES.items())
def test_the_place_of_a_rule_implements_it(rule: str, place: str) -> None:
    folder = ROOT / place.replace(".", "/")
    assert any(folder in file.parents for file, cited in CITED if cited == rule), f"nothing in {place} cites {rule}"


def test_no_sql_computes_a_rule_that_has_its_place_in_python() -> None:
    found = {(file.stem, rule) for file, rule in CITED if file.suffix == ".sql" and PLACES[rule] != "sql.schema"}
    assert found == {*READERS.items(), *((view, rule) for view, (rule, _) in TWICE.items())}


def test_the_page_and_the_commands_call_the_place_of_a_rule() -> None:
    own = [(file, rule) for file, rule in CITED if "leadsman" in file.relative_to(ROOT).parts]
    assert [(str(file), rule) for file, rule in own if f"from {PLACES[rule]}" not in file.read_text()] == []


@pytest.mark.parametrize("test", [test for _, test in TWICE.values()])
def test_what_is_computed_twice_is_compared(test: str) -> None:
    assert f"def {test}(" in (ROOT / "tests/unit/sql/schema/test_views.py").read_text()
