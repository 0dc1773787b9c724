"""Tables of commands on narrow terminals. A backtest opens its own engine, and a process can have only one."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner

from leadsman.cli.main import app
from paths import EXAMPLES, NODE_PRESSURE


@pytest.mark.parametrize(
    ("command", "heading"),
    [
        (("fit", "--cpu", "4", "--exclusive", "--cluster", "late-joiners"), "why"),
        (("fit", "-f", str(EXAMPLES / "deployment.yaml"), "--cluster", "late-joiners"), "why"),
        (("backtest", str(NODE_PRESSURE)), "what"),
    ],
    ids=("fit", "fit of a manifest", "backtest"),
)
@pytest.mark.parametrize("columns", [80, 100])
def test_a_narrow_terminal_has_a_table_with_the_explanation(
    command: Sequence[str], heading: str, columns: int, demo_folder: Path
) -> None:
    """Not records one under another; the columns that are left out are named."""
    environment = {"COLUMNS": str(columns), "LEADSMAN_DB": f"chdb://{demo_folder}"}
    shown = CliRunner(env=environment).invoke(app, [*command]).stdout.splitlines()
    assert "[1]" not in shown
    assert [line for line in shown if line.split()[-1:] == [heading]]
    assert [line for line in shown if line.startswith("more with -o wide: ")]
    whole = CliRunner(env={**environment, "COLUMNS": None}).invoke(app, [*command]).stdout
    assert "more with -o wide" not in whole
