"""The process ends with the command's status, whatever it printed before."""

import subprocess
import sys

import pytest

from paths import ROOT


@pytest.mark.parametrize(
    ("arguments", "status", "printed"),
    [
        (("--help",), 0, "simulate-scheduler"),
        (("query",), 0, "evicted_pods"),
        ((), 2, ""),
        (("nonesuch",), 2, ""),
        (("inspect", "/nonesuch"), 4, ""),
        (("query", "nodes", "--db", "chdb:///nonesuch"), 5, ""),
    ],
)
def test_what_was_printed_arrives_and_the_status_is_the_command_s(
    arguments: tuple[str, ...], status: int, printed: str
) -> None:
    """Into a pipe, which is buffered as a whole: the process does not wait for the interpreter to end."""
    done = subprocess.run(
        [sys.executable, "-m", "leadsman", *arguments], check=False, capture_output=True, text=True, cwd=ROOT
    )
    assert done.returncode == status
    assert printed in done.stdout
    assert bool(done.stdout) == (status == 0)
    assert bool(done.stderr) == (status != 0)
