"""Faust's own command shows the agents and tables of a worker, as docs/agents.md lists them."""

import subprocess
import sys
from pathlib import Path

import pytest

from ingest.model.topics import topics
from paths import ROOT

pytestmark = pytest.mark.costly

FAUST = Path(sys.executable).with_name("faust")
PAGE = (ROOT / "docs" / "agents.md").read_text()


def rows(command: str) -> dict[str, str]:
    """First column of what the command prints, and the rest of the line."""
    done = subprocess.run(
        [FAUST, "-A", "leadsman.faust", command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines() if "|" in line
    ]
    return {name: " ".join(others) for name, *others in cells if name != "name"}


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("agents", {"@analyse-nodes": topics().nodes.name, "@analyse-clusters": topics().cluster.name}),
        ("tables", {"node-logs": topics().nodes.name, "cluster-logs": topics().cluster.name}),
    ],
)
def test_fausts_command_shows_each_with_its_topic(command: str, expected: dict[str, str]) -> None:
    found = rows(command)
    assert found.keys() == expected.keys()
    for name, topic in expected.items():
        assert topic in found[name]
        assert f"`{name.removeprefix('@')}`" in PAGE
