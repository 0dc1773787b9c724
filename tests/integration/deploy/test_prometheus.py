"""The rules for Prometheus, checked and tested by its own promtool."""

import subprocess

import pytest

from components.programs.cache import require
from components.programs.extras import promtool_program
from paths import ROOT

RULES = ROOT / "deploy/prometheus"


@pytest.mark.parametrize(
    "arguments",
    [("check", "rules", "leadsman.rules.yaml", "findings.rules.yaml"), ("test", "rules", "findings.test.yaml")],
)
def test_promtool_accepts_the_rules(arguments: tuple[str, ...]) -> None:
    require(promtool_program)
    done = subprocess.run([promtool_program(), *arguments], cwd=RULES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
