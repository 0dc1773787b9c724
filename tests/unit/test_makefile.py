"""`make` sets up .venv with a Python that can, and names what a newcomer's machine lacks."""

import subprocess
from pathlib import Path

import pytest

from paths import ROOT


@pytest.mark.parametrize("made", [False, True])
def test_only_a_venv_that_is_not_there_needs_another_python(tmp_path: Path, made: bool) -> None:
    """`BASE_PYTHON=` is what a machine gives whose python3 is too old, or came without venv, as Ubuntu's does."""
    (tmp_path / ".lock").mkdir()
    (tmp_path / ".lock/all.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    if made:
        (tmp_path / ".venv/bin").mkdir(parents=True)
        for tool in ("python", "uv"):
            (tmp_path / ".venv/bin" / tool).symlink_to("/bin/true")
    making = ["make", "--file", str(ROOT / "Makefile"), "BASE_PYTHON=", ".venv/.runtime"]
    done = subprocess.run(making, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0, "python3-venv" in done.stderr) == (made, not made)
