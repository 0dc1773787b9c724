"""The commands as a user types them (commands.md).

The capture is documented (rules: recorded-behaviour). `test_replay` looks at its rows, this at how the
commands behave.
"""

import csv
import io
import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import click
import pytest
from click.testing import CliRunner

from bench.generate import write_capture
from components.captures import event, jsonl, node, pod
from components.command import COMMAND, ENVIRONMENT, PROGRESS, leadsman, rows, start, succeeds
from integration.commands.recording import EVICTED
from leadsman.cli.exits import STATUSES
from leadsman.cli.main import app
from paths import NODE_PRESSURE, ROOT
from sql.questions.queries import saved_queries
from waiting import PATIENCE_SECONDS, eventually

REFERENCE: Final = (ROOT / "docs/commands.md").read_text("utf-8")
CONTEXT: Final = click.Context(app, **app.context_settings)
COMMANDS: Final = app.list_commands(CONTEXT)
INTERRUPTED: Final = 130


def command_named(name: str) -> click.Command:
    command = app.get_command(CONTEXT, name)
    assert command is not None
    return command


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_and_an_example_of_itself(name: str) -> None:
    done = CliRunner().invoke(app, [name, "--help"])
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert re.search(rf"Usage: \S+ {name} ", text)
    assert re.search(rf"Examples?: .*\bleadsman {name}\b", text)
    assert " ".join((command_named(name).help or "").split()) in text


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_on_the_page_of_commands(name: str) -> None:
    assert re.search(rf"^\| \[`leadsman {name}`\]", REFERENCE, re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_an_example_is_one_of_its_command(name: str) -> None:
    command = command_named(name)
    below = command.commands.values() if isinstance(command, click.Group) else ()
    known = {option for each in (command, *below) for param in each.params for option in param.opts}
    assert set(re.findall(r"(?<![\w-])--[a-z-]+", command.epilog or "")) <= known


def test_the_page_of_commands_has_every_exit_status_of_the_help() -> None:
    found = re.search(r"Exit status: (.*)\.", " ".join((app.help or "").split()))
    assert found is not None
    shown = re.findall(r"(?:^|; )(\d+) ", found[1])
    assert shown == re.findall(r"^\| (\d+) \|", REFERENCE, re.MULTILINE) == [str(status) for status in STATUSES]


def test_no_command_waits_for_the_client_of_kubernetes_that_does_not_need_it() -> None:
    code = "import sys, leadsman; sys.exit('kubernetes_asyncio' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=ROOT).returncode == 0


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The output of `make demo` with a database of its own, and that database's DSN."""
    makefile = (ROOT / "Makefile").read_text()
    recipe = re.search(r"^demo:.*\n\t@(.+)$", makefile, re.MULTILINE)
    captures = re.search(r"^CAPTURE \?= (.+)$", makefile, re.MULTILINE)
    assert recipe is not None
    assert captures is not None
    dsn = f"chdb://{tmp_path_factory.mktemp('demo') / 'db'}"
    typed = recipe[1].replace("$(VENV)/bin/leadsman", COMMAND).replace("$(CAPTURE)", captures[1])
    command = shlex.split(typed.replace("$(DEMO_DB)", dsn))
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)
    assert PROGRESS.sub("", done.stderr) == ""
    return " ".join(done.stdout.split()), dsn


def test_the_demo_names_each_evicted_pod_and_for_what(demo: tuple[str, str]) -> None:
    reported = re.findall(r"Pod default/(\S+) was evicted: low on ([\w ]+),", demo[0])
    assert len(reported) == len(EVICTED)
    assert {pod: resource.replace(" ", "-") for pod, resource in reported} == EVICTED


def test_the_demo_reports_the_storm_at_admission_as_one_line(demo: tuple[str, str]) -> None:
    assert re.findall(r"(\d+) pods were rejected at admission", demo[0]) == ["69"]


def test_the_demo_reports_both_verdicts_about_image_gc(demo: tuple[str, str]) -> None:
    assert re.search(r"04:17:49 real-node-1 Image GC frees too little: .*\(2 times\)", demo[0])
    assert re.search(r"04:27:12 real-node-1 Image GC failed once at the start: .*Nothing to do\.", demo[0])


def test_the_demo_reports_pressure_and_how_long_it_lasted(demo: tuple[str, str]) -> None:
    assert re.findall(r"(\d\d:\d\d:\d\d) real-node-1 (\w+Pressure) (began|ended)", demo[0]) == [
        ("04:19:11", "MemoryPressure", "began"),
        ("04:20:02", "MemoryPressure", "ended"),
        ("04:20:23", "DiskPressure", "began"),
        ("04:22:56", "DiskPressure", "ended"),
        ("04:24:07", "DiskPressure", "began"),
        ("04:25:29", "DiskPressure", "ended"),
    ]


def test_what_the_demo_says_to_ask_next_can_be_asked(demo: tuple[str, str]) -> None:
    reported, dsn = demo
    suggested = re.findall(
        rf"LEADSMAN_DB={re.escape(dsn)} {re.escape(COMMAND)} query (?!every saved)([a-z_]+) ", reported
    )
    assert len(suggested) >= 3
    assert set(suggested) <= {query.name for query in saved_queries()}
    assert "every saved question" in reported
    first, *others = suggested
    typed = ["/bin/sh", "-c", f"{shlex.quote(COMMAND)} query {first}"]
    asked = subprocess.run(
        typed, check=False, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT | {"LEADSMAN_DB": dsn}
    )
    assert (asked.returncode, asked.stderr) == (0, "")
    answers = [asked.stdout, *(succeeds("query", name, db=dsn) for name in others)]
    assert "".join(answers).count("real-node-1") > len(suggested)


def test_an_answer_is_the_same_as_table_json_and_csv(demo: tuple[str, str]) -> None:
    sql = "SELECT pod, resource, predicted_rank, ts FROM evictions WHERE cause = {cause:String} ORDER BY ts, pod"
    asked = ("query", "--sql", sql, "--param", "cause=pressure")
    objects = json.loads(succeeds(*asked, "-o", "json", db=demo[1]))
    assert {each["pod"]: each["resource"] for each in objects} == EVICTED
    assert objects[0]["ts"] == "2026-11-21T04:19:29Z"
    lines = list(csv.DictReader(io.StringIO(succeeds(*asked, "-o", "csv", db=demo[1]))))
    assert [line["pod"] for line in lines] == [each["pod"] for each in objects]
    assert [int(line["predicted_rank"]) for line in lines] == [each["predicted_rank"] for each in objects]
    heading, *table, counted = succeeds(*asked, db=demo[1]).splitlines()
    assert heading.split() == ["pod", "resource", "predicted_rank", "ts"]
    assert [line.split()[0] for line in table] == [each["pod"] for each in objects]
    assert counted == f"{len(objects)} rows"


def test_a_saved_query_takes_a_parameter(demo: tuple[str, str]) -> None:
    found = json.loads(succeeds("query", "fit", "--param", "resource=memory", "-o", "json", db=demo[1]))
    assert {each["resource"] for each in found} == {"memory"}


def test_query_alone_lists_every_saved_query_with_its_line() -> None:
    printed = CliRunner().invoke(app, ["query"], env={"COLUMNS": "400"}).stdout
    queries = saved_queries()
    assert len(queries) >= 15
    shown = " ".join(printed.split())
    for query in queries:
        assert f"{query.name} {query.description}" in shown


def test_inspect_reports_what_a_capture_holds_and_writes_nothing(tmp_path: Path) -> None:
    reported = succeeds("inspect", NODE_PRESSURE, cwd=tmp_path)
    assert "975 observations, 1 node" in reported
    assert "from 2026-11-21T04:17:07Z to 2026-11-21T04:29:00Z" in reported
    assert "real-node-1  v1.36.3" in reported
    assert list(tmp_path.iterdir()) == []


def test_migrating_again_applies_nothing_and_sets_how_long_samples_stay(tmp_path: Path) -> None:
    first = succeeds("migrate", db=tmp_path / "db")
    assert first.startswith("applied 0001_baseline\n")
    again = succeeds("migrate", "--keep-samples-days", "14", "--keep-rollups-days", "0", db=tmp_path / "db")
    assert again.splitlines() == [
        "the schema is up to date",
        "raw samples are kept 14 days after they were stored",
        "five-minute roll-ups are kept forever",
    ]
    kept = rows(
        "SELECT name FROM system.tables WHERE create_table_query LIKE '%TTL landed_at + toIntervalDay(14)%'",
        tmp_path / "db",
    )
    assert ("pod_samples",) in kept
    assert ("pod_samples_5m",) not in kept
    digest = succeeds("digest", db=tmp_path / "db").splitlines()
    assert all(re.fullmatch(r"[a-z_0-9]+ 0 0{16}", line) for line in digest)


def test_since_is_inclusive_and_until_is_not(tmp_path: Path) -> None:
    written = tmp_path / "capture.jsonl"
    written.write_text(jsonl(pod(f"12:00:0{number}", f"p-{number}", "n", type_="ADDED") for number in (1, 2, 3)))
    between = ("--since", "2026-07-01T14:00:02+02:00", "--until", "2026-07-01T12:00:03")
    reported = succeeds("replay", written, *between, db=tmp_path / "db")
    assert "2 observations outside --since and --until skipped." in reported
    assert rows("SELECT pod FROM pod_bindings", tmp_path / "db") == [("p-2",)]


def test_what_kubectl_saved_becomes_rows(tmp_path: Path) -> None:
    """`kubectl get -o json` of a List, and a `cluster-info dump` folder, in one replay."""
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
    saved = {"Node": node("12:00:00", "n-list"), "Pod": pod("12:00:01", "p-list", "n-list", status=evicted)}
    items = [{"apiVersion": "v1", "kind": kind, **each["object"]} for kind, each in saved.items()]
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    (tmp_path / "get.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [*items, secret]}))
    dump = tmp_path / "dump"
    (dump / "default").mkdir(parents=True)
    started = event("12:00:05", "e", "Starting", "Starting kubelet.", node="n-dump")["object"]
    for path, kind, item in (
        (dump / "nodes.json", "NodeList", node("12:00:00", "n-dump")["object"]),
        (dump / "default" / "pods.json", "PodList", pod("12:00:00", "p-dump", "n-dump")["object"]),
        (dump / "default" / "events.json", "EventList", started),
    ):
        path.write_text(json.dumps({"kind": kind, "apiVersion": "v1", "items": [item]}))
    (dump / "default" / "logs.txt").write_text("not read")
    reported = succeeds("replay", tmp_path / "get.json", dump, "--cluster", "shop", db=tmp_path / "db")
    assert "Skipped kinds that Leadsman does not use: 1 Secret." in reported
    assert "Pod default/p-list was evicted" in reported
    found = rows(
        """
        SELECT DISTINCT 'node', cluster, node FROM nodes
        UNION ALL SELECT DISTINCT 'pod', cluster, pod FROM pod_bindings
        UNION ALL SELECT 'event', cluster, reason FROM node_events
        UNION ALL SELECT 'evicted', cluster, pod FROM evictions
        """,
        tmp_path / "db",
    )
    assert sorted(found) == [
        ("event", "shop", "Starting"),
        ("evicted", "shop", "p-list"),
        ("node", "shop", "n-dump"),
        ("node", "shop", "n-list"),
        ("pod", "shop", "p-dump"),
        ("pod", "shop", "p-list"),
    ]


def wait_for_rows(db: Path, running: "subprocess.Popen[str]") -> None:
    """Wait until the engine has written the first part of the largest table, in the middle of the replay."""

    def has_rows() -> bool:
        assert running.poll() is None, "it ended before it could be stopped"
        return any((db / "data/default/pod_samples").glob("2*_*_*_*"))

    eventually("the first part of the table is written", has_rows, every_seconds=0.005)


@pytest.fixture(scope="module")
def long_capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture with more than twice what the lander holds at once."""
    path = tmp_path_factory.mktemp("long") / "long.jsonl"
    write_capture(path, nodes=5, pods=40, samples=300)
    return path


@pytest.fixture(scope="module")
def whole_digest(long_capture: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a digest of its rows, replayed in one go."""
    db = tmp_path_factory.mktemp("whole") / "db"
    succeeds("replay", long_capture, "--quiet", db=db)
    digest = succeeds("digest", db=db)
    assert re.search(r"^pod_samples 60000 ", digest, re.MULTILINE)
    return digest


def test_a_replay_that_was_killed_is_finished_by_the_next_as_if_it_had_not_been(
    long_capture: Path, whole_digest: str, tmp_path: Path
) -> None:
    with start("replay", long_capture, "--quiet", db=tmp_path / "killed") as killed:
        try:
            wait_for_rows(tmp_path / "killed", killed)
        finally:
            killed.kill()
    assert killed.returncode == -signal.SIGKILL
    assert rows("SELECT count() BETWEEN 1 AND 59999 FROM pod_samples", tmp_path / "killed") == [(1,)]
    succeeds("replay", long_capture, "--quiet", db=tmp_path / "killed")
    assert succeeds("digest", db=tmp_path / "killed") == whole_digest


def test_ctrl_c_ends_a_replay_in_one_line(long_capture: Path, tmp_path: Path) -> None:
    with start("replay", long_capture, db=tmp_path / "db") as stopped:
        try:
            wait_for_rows(tmp_path / "db", stopped)
            stopped.send_signal(signal.SIGINT)
            output, errors = stopped.communicate(timeout=PATIENCE_SECONDS)
        finally:
            stopped.kill()
    assert (stopped.returncode, output) == (INTERRUPTED, "")
    reported = "leadsman: interrupted; stored data stays, and the same command resumes the rest\n"
    assert PROGRESS.sub("", errors) == reported


def test_a_reader_that_goes_away_is_no_error(demo: tuple[str, str]) -> None:
    sql = "SELECT number FROM numbers(200000)"
    with subprocess.Popen(
        [COMMAND, "query", "--sql", sql, "-o", "csv", "--db", demo[1]],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
    ) as asked:
        assert asked.stdout is not None
        assert asked.stderr is not None
        assert asked.stdout.readline() == b"number\n"
        asked.stdout.close()
        assert asked.stderr.read() == b""


def test_a_module_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "leadsman", "query"], check=True, capture_output=True, cwd=ROOT)
    assert b"evicted_pods" in done.stdout


def test_quiet_prints_nothing_when_all_is_well(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(jsonl([pod("12:00:01", "p", "n")]))
    done = leadsman("replay", "-q", path, db=tmp_path / "db")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
