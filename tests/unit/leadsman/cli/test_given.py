"""A mistake in a command line is told before any work: nothing heavy is imported for it, and nothing is made."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest

from leadsman.cli.exits import EXIT_NO_DATABASE, EXIT_NO_KUBECONFIG, EXIT_NO_SOURCE, EXIT_USAGE
from leadsman.cli.given import ReadableFile
from leadsman.cli.surplus import suggestion
from paths import ROOT
from unit.leadsman.cli.test_lazy import HEAVY

ASKED: Final = """
import json, sys
from leadsman.cli.main import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    print(json.dumps([end.code, sorted(sys.modules)]))
"""
SOURCES: Final = ("look", "replay", "inspect", "backtest", "simulate-scheduler")
NO_FILE: Final = "nope.json: no such file or folder"


def answered(folder: Path, *arguments: str) -> tuple[int, str, set[str]]:
    """The status, what was told, and the heavy packages that were imported; in a folder that stays as it is."""
    (folder / "empty.json").touch()
    (folder / "other").mkdir()
    (folder / "other" / "notes.txt").write_text("nothing")
    before = sorted(folder.rglob("*"))
    command = [sys.executable, "-c", ASKED, *arguments]
    environment = {"PYTHONPATH": str(ROOT), "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    assert sorted(folder.rglob("*")) == before
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return status, done.stderr, HEAVY & {*modules}


@pytest.mark.parametrize("command", SOURCES)
@pytest.mark.parametrize(
    ("path", "reported"),
    [
        ("nope.json", NO_FILE),
        ("https://gist.example/dump.json", "dump.json: an address cannot be read. Download it"),
        ("empty.json", "empty.json: the file is empty"),
        ("other", "other: this folder has nothing that Leadsman reads"),
    ],
)
def test_a_source_that_cannot_be_read_costs_nothing(command: str, path: str, reported: str, tmp_path: Path) -> None:
    status, error, heavy = answered(tmp_path, command, path)
    assert (status, heavy) == (EXIT_NO_SOURCE, set())
    assert reported in error


@pytest.mark.parametrize(
    ("arguments", "status", "reported"),
    [
        ("replay empty.json --speed x", EXIT_USAGE, "'x' is not a speed"),
        ("replay other nope.json", EXIT_NO_SOURCE, "other: this folder has nothing that Leadsman reads"),
        ("look --for x", EXIT_USAGE, "not a duration"),
        ("look --config nope.yaml", EXIT_USAGE, "nope.yaml: cannot be read: No such file"),
        ("up --config other", EXIT_USAGE, "other: cannot be read: Is a directory"),
        ("backtest other/notes.txt --rules nope.yaml", EXIT_USAGE, "nope.yaml: cannot be read"),
        ("query nope", EXIT_USAGE, "there is no saved query 'nope'"),
        ("query nodes --db chdb://nope", EXIT_NO_DATABASE, "there is no database yet"),
        ("query nodes --db mysql://nope", EXIT_USAGE, "begins with chdb:, http: or https:"),
        ("digest", EXIT_NO_DATABASE, "there is no database yet"),
        ("fit -f nope", EXIT_USAGE, "No such file"),
        ("fit --cpu x", EXIT_USAGE, "'x' is not a Kubernetes quantity"),
        ("capture -o x --keep 0", EXIT_USAGE, "not in the range"),
        ("look --kubeconfig nope", EXIT_NO_KUBECONFIG, "kubeconfig nope does not exist"),
        ("up --kubeconfig other:nope", EXIT_NO_KUBECONFIG, "kubeconfig other:nope is not a file"),
        ("watch --kubeconfig nope", EXIT_NO_KUBECONFIG, "kubeconfig nope does not exist"),
        ("look --kubelet-ca nope", EXIT_USAGE, "--kubelet-ca nope: cannot be read: No such file"),
        ("mcp --http --token-file nope", EXIT_USAGE, "--token-file nope: cannot be read: No such file"),
    ],
)
def test_a_wrong_argument_costs_nothing(arguments: str, status: int, reported: str, tmp_path: Path) -> None:
    ended, error, heavy = answered(tmp_path, *arguments.split())
    assert (ended, heavy - {"rich"}) == (status, set())
    assert reported in error


@pytest.mark.parametrize("command", ["look", "up", "watch", "capture -o now.jsonl"])
def test_a_missing_default_kubeconfig_costs_no_client_and_no_database(command: str, tmp_path: Path) -> None:
    """The settings could name another one, so they are read."""
    status, error, heavy = answered(tmp_path, *command.split())
    assert (status, heavy - {"pydantic"}) == (EXIT_NO_KUBECONFIG, set())
    assert "kubeconfig ~/.kube/config does not exist: name a file by --kubeconfig" in error


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (
            "query evicted_pods worker-5",
            "(worker-5). Did you mean --node worker-5, --namespace worker-5 or --cluster worker-5?",
        ),
        ("query nodes worker-5", "(worker-5). Did you mean --node worker-5 or --cluster worker-5?"),
        ("query --sql x one two", "(two). Did you mean --node two, --namespace two or --cluster two?"),
        ("fit shop/web-0", "(shop/web-0). Did you mean --pod shop/web-0?"),
        ("query nodes $(id)", "Did you mean --node '$(id)' or --cluster '$(id)'?"),
        ("query nodes empty.json", "(empty.json). To ask about a file, replay it first: leadsman replay empty.json"),
        ("completion bash nope", "(nope)\n"),
    ],
)
def test_a_word_that_a_command_does_not_expect_has_the_option_that_takes_it(
    arguments: str, reported: str, tmp_path: Path
) -> None:
    """A question has the options of its parameters: which nodes there are has no namespace."""
    status, error, _ = answered(tmp_path, *arguments.split())
    assert status == EXIT_USAGE
    assert reported in error


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("my node",), "(my node). Did you mean --node 'my node' or --cluster 'my node'?"),
        (("my node", "other"), "(my node other). Did you mean --node 'my node' or --cluster 'my node'?"),
        (("one", "two"), "(one two). Did you mean --node one or --cluster one?"),
        (("", "two"), "( two)\n"),
        (("a" * 290,), f"({'a' * 200}"),
        (("ü" * 150,), f"({'ü' * 150})"),
        (("empty.json/a",), "Did you mean --node empty.json/a"),
    ],
)
def test_a_hint_has_the_whole_word_of_a_shell_and_any_word_is_a_mistake(
    words: tuple[str, ...], reported: str, tmp_path: Path
) -> None:
    """A file's name has at most 255 bytes, and no file is below another one."""
    status, error, _ = answered(tmp_path, "query", "nodes", *words)
    assert status == EXIT_USAGE
    assert reported in error


def test_a_word_with_a_zero_byte_or_in_a_closed_folder_is_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell cannot pass a zero byte, and the root user may read every folder."""
    ctx = click.Context(click.Command("query", params=[click.Option(["--db"]), click.Option(["--node"])]))
    ctx.params["name"] = "nodes"
    assert suggestion("a\x00b", ctx) == r"Did you mean --node 'a\x00b'?"

    def closed(path: Path) -> bool:
        raise PermissionError(str(path))

    monkeypatch.setattr(Path, "exists", closed)
    assert suggestion("closed/a", ctx) == "Did you mean --node closed/a?"


def test_a_file_that_may_not_be_read_is_reported_as_such(tmp_path: Path) -> None:
    (tmp_path / "loop.json").symlink_to("loop.json")  # cannot be opened, by root neither
    status, error, _ = answered(tmp_path, "replay", "loop.json")
    assert status == EXIT_NO_SOURCE
    assert "loop.json: cannot be opened: Too many levels of symbolic links" in error


def test_a_pipe_that_was_named_is_not_read_before_its_time(tmp_path: Path) -> None:
    """To open it would wait for its writer, or take what a second reader needs."""
    os.mkfifo(tmp_path / "token")
    assert ReadableFile().convert(str(tmp_path / "token"), None, None) == tmp_path / "token"
