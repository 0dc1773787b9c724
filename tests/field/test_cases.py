"""Public reports as the dumps that their authors had: every fact of each, and in whatever order they are read."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from field.folding import Stored, shown
from ingest.files.yaml_documents import yaml_parts
from paths import EXAMPLES, TESTS

CASES = sorted(path.parent for path in (TESTS / "field/cases").glob("*/facts.json"))
SPLIT = [path for path in CASES if path.name[:2] not in {"01", "02", "04", "09", "14", "19", "21", "22"}]
ENDED = [path for path in SPLIT if path.name[:2] in {"05", "06", "07", "08", "10", "13"}]
_APART = {"dead_letters"}
"""Their positions are in the files."""


def case(folder: Path) -> tuple[list[Path], list[dict[str, Any]]]:
    told = json.loads((folder / "facts.json").read_text())
    if told["input"] == ".":
        return sorted(each for each in folder.iterdir() if each.name != "facts.json"), told["facts"]
    return [folder / told["input"]], told["facts"]


@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.name)
def test_a_public_report_is_answered_right(folder: Path) -> None:
    paths, facts = case(folder)
    stored = Stored()
    stored.replay(*paths)
    for fact in facts:
        found = stored.of(fact["table"], fact["where"])
        if "count" in fact:
            assert len(found) == fact["count"], fact
        wanted = fact.get("is", {})
        assert not wanted or found, fact
        for row in found:
            assert shown(row, wanted) == wanted, fact.get("why", fact["table"])


def objects(paths: list[Path]) -> list[dict[str, Any]]:
    """All objects of the API in some dumps, and what kubelets answered."""
    files = [each for path in paths for each in ([path] if path.is_file() else sorted(path.rglob("*.json")))]
    found: list[dict[str, Any]] = []
    for file in files:
        text = file.read_bytes()
        if file.suffix == ".yaml":
            found += [json.loads(part.raw) for part in yaml_parts(text)]
            continue
        whole = json.loads(text)
        found += whole.get("items", [whole])
    return [each for each in found if "kind" in each or "node" in each]


SOURCES = {folder.name: objects(case(folder)[0]) for folder in SPLIT} | {
    "troubled-cluster": objects([EXAMPLES / "troubled-cluster.json"])
}


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_neither_order_nor_files_nor_passes_change_what_a_dump_implies(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    found = SOURCES[data.draw(st.sampled_from(sorted(SOURCES)))]
    folder = tmp_path_factory.mktemp("dump")
    whole = written(folder / "whole.json", found)
    order = data.draw(st.permutations(range(len(found))))
    files = data.draw(st.integers(1, 3))
    parts = [written(folder / f"{n}.json", [found[i] for i in order[n::files]]) for n in range(files)]
    once, split = Stored(), Stored()
    once.replay(whole)
    split.replay(*data.draw(st.permutations(parts)))
    assert split.comparable() == once.comparable()


@pytest.mark.parametrize("folder", ENDED, ids=lambda folder: folder.name)
def test_a_look_at_a_part_before_leaves_one_row_for_each_end(folder: Path, tmp_path: Path) -> None:
    """Pods first, then Events, then all: what came later completes or corrects it."""
    found = objects(case(folder)[0])
    once, often = Stored(), Stored()
    once.replay(written(tmp_path / "all.json", found))
    for kinds in ({"Pod"}, {"Event"}, {"Node", "Pod", "Event"}):
        often.replay(written(tmp_path / "part.json", [each for each in found if each.get("kind") in kinds]))
    often.replay(tmp_path / "all.json")
    assert often.comparable()["pod_ends"] == once.comparable()["pod_ends"]


def written(path: Path, items: list[dict[str, Any]]) -> Path:
    path.write_text("\n".join(json.dumps(each) for each in items))
    return path
