"""A rule of Kubernetes has one place, which architecture.md names; SQL reads what Python concluded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from paths import LAYERS, ROOT
from sql.questions.queries import QUERIES
from sql.schema.views import RULES as RULES_OF_VIEWS
from sql.schema.views import VIEWS
from streams.fold.sentences import SENTENCES
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
ASKED: Final = {
    "autoscalers": {"autoscalers"},
    "disk_growth": {"layout"},
    "eviction_order": {"layout", "observed_signals", "processes_count_since", "eviction_compared", "eviction_exceeds"}
    | {"latest_change", *(f"eviction_{part}" for part in ("usage", "request", "discount"))},
    "image_gc": {"nodes_made", "registers"},
    "image_gc_state": {f"image_gc_{part}" for part in ("high", "low", "percent", "verdict", "wanted")},
    "image_pulls": {"duration", "image_gc_percent", "kubelet_start"},
    "kubelet_warnings": {"unguarded", "guard"},
    "last_samples": {"nodes_made"},
    "last_signals": {"nodes_made"},
    "node_imbalance": {"meets", "imbalance", "not_placed"},
    "node_sizing": {"sizing"},
    "nodes_without_new_pods": {"not_placed"},
    "memory_available": {"uncounted_memory", "held_back_memory", "memory_difference"},
    "next_eviction": {"first_threshold"},
    "node_evidence": {"ready_state"},
    "not_ready": {"before_not_ready", "ready_state"},
    "pod_cgroups": {"latest_change"},
    "pod_waits": {"is_waiting"},
    "pressure_history": {"resource_condition"},
    "requests": {"latest_change"},
    "waiting_groups": {"latest_change"},
    "restart_ends": {"whole_cores"},
    "scheduler_tries": {"default_scheduler"},
    "story": {"signal_resource", "settable_signals", "is_low", "was_low", "is_near", "pressures", "pressure_reasons"}
    | {"concerns_machine", "evicted_by", "is_waiting", "kubelet_start", "marked_for_taint", "ready_state"}
    | {"of_no_pod", *SENTENCES},
    "unguarded_file_systems": {"nearly_full"},
    "unguarded_signals": {
        "settable_signals",
        "signal_resource",
        "unguarded_consequence",
        "is_near",
        "without_threshold",
    },
}
"""Questions of each view, and of the saved question of its name, that Python answers, so that SQL does not state
them."""
STATED: Final = re.compile(
    r"intDiv\([^\n]*?\* 100,|'(?:NotIn|DoesNotExist|invalid_capacity|separate_imagefs|split)'|Free', 'inodes'"
    r"|'full-pcpus-only'|'NodeHasInsufficientMemory'|\('DaemonSet', 'Node'\)|\['MemoryPressure'\]"
    r"|(?:>=|<) 20\b|, (?:85|80)\)|imagefs_inodes = |exceeds? .*request >|used > request"
    r"|'Starting'|'Starting kubelet|'TaintManagerEviction'|'machineconfigdaemon'|'default-scheduler'"
    r"|\['pending', 'bound'|ready IS NULL|phase = 'Pending'|coalesce\((?:hard|soft)_threshold, 0\)|\[3600000"
)
"""Parts that those rules had when views stated them."""


def citations() -> Iterator[tuple[Path, str]]:
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*")):
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
    assert found == set(READERS.items())


def test_a_view_that_judges_asks_python_for_the_rule() -> None:
    texts: dict[str, str] = {}
    for file in (*VIEWS.glob("*.sql"), *QUERIES.glob("*.sql")):
        texts[file.stem] = texts.get(file.stem, "") + file.read_text()
    asked = {view: {name for name in RULES_OF_VIEWS if f"{{{name}}}" in text} for view, text in texts.items()}
    assert {view: names for view, names in asked.items() if names} == ASKED
    assert set().union(*ASKED.values()) == set(RULES_OF_VIEWS)


def test_no_sql_states_what_python_is_asked_for() -> None:
    files = [file for layer in LAYERS for file in (ROOT / layer).rglob("*.sql") if "migrations" not in file.parts]
    texts = {file: re.sub(r"^--.*$", "", file.read_text(), flags=re.MULTILINE) for file in files}
    assert {str(file): found[0] for file, text in texts.items() if (found := STATED.search(text))} == {}


def test_the_page_and_the_commands_call_the_place_of_a_rule() -> None:
    own = [(file, rule) for file, rule in CITED if "leadsman" in file.relative_to(ROOT).parts]
    assert [(str(file), rule) for file, rule in own if f"from {PLACES[rule]}" not in file.read_text()] == []
