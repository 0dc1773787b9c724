"""The workflows, checked as GitHub would at the first run: keys, expressions, contexts."""

import subprocess
from pathlib import Path

import pytest

from components.programs.extras import actionlint_program
from paths import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def _lint(file: Path) -> str:
    """Return actionlint's findings; it runs no other linter, whose version would differ by machine."""
    command = [str(actionlint_program()), "-no-color", "-shellcheck=", "-pyflakes=", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT).stdout


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_workflow_is_valid(file: Path) -> None:
    assert _lint(file) == ""


def test_a_wrong_key_and_a_context_that_is_not_there_are_found(tmp_path: Path) -> None:
    text = WORKFLOWS[0].read_text()
    (tmp_path / "w.yml").write_text(text.replace("runs-on:", "run-on:").replace("make audit", "echo ${{ git.ref }}"))
    found = _lint(tmp_path / "w.yml")
    assert 'unexpected key "run-on"' in found
    assert 'undefined variable "git"' in found
