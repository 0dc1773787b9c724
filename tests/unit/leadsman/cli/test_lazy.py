"""A command costs what it needs: its module, and the packages behind it, are imported when it is called."""

import json
import subprocess
import sys
from collections.abc import Set as AbstractSet
from typing import Final

import click
import pytest
from click.testing import CliRunner

from leadsman.cli.main import SECTIONS, app
from paths import ROOT

CONTEXT: Final = click.Context(app, **app.context_settings)
NAMES: Final = app.list_commands(CONTEXT)
HEAVY: Final = {
    *("aiohttp", "aiokafka", "chdb", "clickhouse_connect", "faust", "grpc", "jinja2", "kubernetes_asyncio"),
    *("numpy", "pandas", "pyarrow", "pydantic", "rich"),
}


def heavy_after(code: str, heavy: AbstractSet[str] = HEAVY) -> set[str]:
    """Return the heavy packages that a fresh interpreter has imported."""
    show = f"import json, sys; {code}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", show], check=True, capture_output=True, text=True, cwd=ROOT)
    return {*heavy} & set(json.loads(done.stdout))


def test_the_command_line_itself_imports_nothing_heavy() -> None:
    assert heavy_after("import leadsman.cli.main") == set()


def test_no_command_imports_anything_heavy_before_its_arguments_are_right() -> None:
    modules = ", ".join(f"leadsman.cli.{name.replace('-', '_')}" for name in NAMES if name != "agent")
    assert heavy_after(f"import {modules}") == set()


def test_a_saved_question_needs_nothing_that_reads_what_a_cluster_says() -> None:
    assert heavy_after("import sql.questions.queries", {"prometheus_client", "ingest.normalize.redact"}) == set()


def test_tables_and_answers_for_programs_need_no_console() -> None:
    assert heavy_after("import leadsman.cli.present.tables", {"rich.console"}) == set()


def test_a_dump_of_objects_needs_no_reader_of_pasted_text() -> None:
    dump = "examples/troubled-cluster.json"
    read = f"from pathlib import Path; from ingest.files.ahead import read_ahead; list(read_ahead([Path('{dump}')]))"
    texts = {f"ingest.files.texts.{name}" for name in ("kubelet_log", "logs", "pasted", "scheduler_log", "tables")}
    assert heavy_after(read, texts) == set()
    assert heavy_after(f"{read}; from ingest.files import texts; texts.is_pasted(b'')", texts) == {
        "ingest.files.texts.pasted",
        "ingest.files.texts.tables",
    }


def test_every_module_with_a_command_is_listed_and_no_other() -> None:
    files = {file.stem.replace("_", "-") for file in (ROOT / "leadsman/cli").glob("*.py")}
    helpers = {
        "--init--",
        "console",
        "database",
        "exits",
        "given",
        "live",
        "main",
        "options",
        "piped",
        "since",
        "surplus",
    }
    assert files - set(NAMES) == helpers
    assert len(NAMES) == len(set(NAMES))
    assert set(NAMES) <= files


@pytest.mark.parametrize("name", NAMES)
def test_a_command_is_called_as_it_is_listed(name: str) -> None:
    command = app.get_command(CONTEXT, name)
    assert command is not None
    assert command.name == name


def test_the_help_shows_each_command_under_its_heading_on_one_line_of_a_terminal() -> None:
    shown = CliRunner().invoke(app, ["--help"], terminal_width=80).stdout.splitlines()
    for heading, lines in SECTIONS.items():
        at = shown.index(f"{heading}:")
        assert [line.split(maxsplit=1) for line in shown[at + 1 : at + 1 + len(lines)]] == [
            [name, line] for name, line in lines.items()
        ]


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("grpc", ("agent", "--node", "n", "--once"), "agent"),
        ("chdb", ("query", "nodes", "--db", "chdb://{}"), "embedded"),
        ("chdb", ("digest", "--db", "chdb://{}"), "embedded"),
        ("chdb", ("serve", "--db", "chdb://{}"), "embedded"),
    ],
)
def test_a_command_whose_extra_is_missing_names_it_in_one_sentence(
    package: str, arguments: tuple[str, ...], extra: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    given = [each.format(tmp_path_factory.mktemp("db")) for each in arguments]
    code = f"""import sys
sys.modules[{package!r}] = None
sys.argv = ["leadsman", *{given!r}]
from leadsman.__main__ import main
main()"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pipx install --force '.[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_package_that_no_extra_brings_is_a_defect_and_not_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "leadsman.cli.digest", None)
    assert isinstance(CliRunner().invoke(app, ["digest"]).exception, ModuleNotFoundError)


def test_commands_are_completed_without_any_of_them() -> None:
    code = "from leadsman.cli.main import app; from leadsman.cli.completion import for_kubectl"
    assert heavy_after(f"{code}; assert 'simulate-scheduler' in for_kubectl(app, 'x', [], 'si')") == set()
