"""Users meet clear errors for bad input (capture-format.md#damage, writing.md#messages).

The expected exit statuses are those of `leadsman --help` (commands.md).
"""

import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from components.captures import Json, event, jsonl, node, pod
from components.command import Done, leadsman, rows, succeeds
from leadsman.cli.main import app
from paths import ROOT
from sql.database.open import connect

INCOMPLETE, NO_SOURCE, NO_DATABASE, SCHEMA, QUERY, USAGE, HELD = 3, 4, 5, 6, 7, 2, 14
HOSTILE_POD: Final = "'; DROP TABLE evictions; --"
ESCAPE_POD: Final = "\x1b[31mred\x1b[0m\x07\u202e"
MARKUP_POD: Final = "[red]bold[/red]"
DEPTH: Final = 10_000


def bad_lines() -> dict[str, bytes]:
    """Bad lines of each capture, by the `error_type` that they must get."""
    deep = json.dumps(pod("12:00:02", "deep", "n", metadata={"annotations": "HERE"})).encode()
    return {
        "not_json": b"Error from server (Forbidden): nodes is forbidden",
        "unknown_resource": json.dumps(pod("12:00:02", "p", "n") | {"resource": "bananas"}).encode(),
        "wrong_type": json.dumps(pod("12:00:02", "p", "n", metadata={"name": 7})).encode(),
        "missing_field": json.dumps({"ts": "2026-07-01T12:00:02Z", "cluster": "c"}).encode(),
        "wrong_value": json.dumps(pod("12:00:02", "p", "n") | {"ts": "yesterday"}).encode(),
        "not_utf8": b'{"ts": "2026-07-01T12:00:02Z", "cluster": "\xff\xfe"}',
        "too_deep": deep.replace(b'"HERE"', b"[" * DEPTH + b"]" * DEPTH),
    }


def good(name: str, clock: str) -> Json:
    return pod(clock, name, "n", type_="ADDED")


def capture(case: str, line: bytes) -> bytes:
    """Line 1 is good, line 2 is bad, line 3 is good again."""
    before, after = jsonl([good(f"{case}-before", "12:00:01")]), jsonl([good(f"{case}-after", "12:00:03")])
    return before.encode() + line + b"\n" + after.encode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A capture for each kind of bad line; one that is cut off, a bomb, and one with an object of 5 MB."""
    folder = tmp_path_factory.mktemp("bad")
    for case, line in bad_lines().items():
        (folder / f"{case}.jsonl").write_bytes(capture(case, line))
    cut = capture("cut_off", jsonl([good("lost", "12:00:02")]).encode().strip())
    (folder / "cut_off.jsonl").write_bytes(cut[:-40])
    (folder / "huge.jsonl").write_bytes(
        jsonl([pod("12:00:02", "huge", "n", metadata={"annotations": {"x": "y" * 5_000_000}})]).encode()
    )
    with gzip.open(folder / "bomb.jsonl.gz", "wb") as bomb:
        bomb.write(jsonl([good("bomb-before", "12:00:01")]).encode())
        for _ in range(100):
            bomb.write(b"0" * (1 << 20))
    return folder


@pytest.fixture(scope="module")
def replayed(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """All of them, and a wrong file among them, in one replay: the database, and how the command ended."""
    db = tmp_path_factory.mktemp("replayed") / "db"
    (folder / "wrong").mkdir(exist_ok=True)
    picture = folder / "wrong" / "logo.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    return db, leadsman("replay", *sorted(folder.glob("*.jsonl*")), picture, db=db)


@pytest.fixture(scope="module")
def letters(replayed: tuple[Path, Done]) -> dict[str, tuple[str, str, str, str]]:
    """Error type, position, reason and the beginning of the payload of each file's dead letter."""
    found = rows("SELECT source, error_type, position, reason, leftUTF8(payload, 50) FROM dead_letters", replayed[0])
    assert len({row[0] for row in found}) == len(found)
    return {row[0]: (row[1], row[2], row[3], row[4]) for row in found}


@pytest.mark.parametrize("case", [*bad_lines(), "cut_off"])
def test_a_bad_line_is_a_dead_letter_with_its_file_line_and_bytes(
    case: str, folder: Path, letters: dict[str, tuple[str, str, str, str]]
) -> None:
    path = folder / f"{case}.jsonl"
    line = 3 if case == "cut_off" else 2
    error_type, position, reason, payload = letters[str(path)]
    assert (error_type, position) == (case, f"{path}:{line}")
    assert reason
    assert payload == path.read_bytes().splitlines()[line - 1].decode(errors="replace")[:50]


def test_a_bomb_is_not_unpacked(folder: Path, letters: dict[str, tuple[str, str, str, str]]) -> None:
    path = folder / "bomb.jsonl.gz"
    assert letters[str(path)][:2] == ("bomb", f"{path}:2")


def test_every_good_line_around_the_bad_ones_is_kept(replayed: tuple[Path, Done]) -> None:
    wanted = {f"{case}-{where}" for case in bad_lines() for where in ("before", "after")}
    wanted |= {"cut_off-before", "lost", "bomb-before", "huge"}
    assert {pod for (pod,) in rows("SELECT pod FROM pod_bindings", replayed[0])} == wanted


def test_a_wrong_file_is_named_and_does_not_keep_the_others_from_being_replayed(replayed: tuple[Path, Done]) -> None:
    _, done = replayed
    assert done.returncode == INCOMPLETE
    assert "logo.png: it has no observations and no Kubernetes objects: binary; save the objects" in done.stderr
    assert "1 bomb" in done.stderr
    assert "1 too_deep" in done.stderr


def test_a_cut_off_capture_is_reported_with_file_line_and_what_to_do(folder: Path, tmp_path: Path) -> None:
    done = leadsman("replay", folder / "cut_off.jsonl", db=tmp_path / "db")
    assert done.returncode == INCOMPLETE
    assert f"1 cut_off; the first at {folder / 'cut_off.jsonl'}:3: " in done.stderr
    assert done.stderr.rstrip().endswith("query dead_letters")
    assert done.stderr.count("\n") == 1
    assert "3 observations read" in done.stdout


def batched(names: Iterable[str], size: int) -> list[list[str]]:
    """The names in portions, for one message tells of five files at most."""
    every = list(names)
    return [every[start : start + size] for start in range(0, len(every), size)]


def tar(compression: str) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz" if compression else "w") as file:
        file.add(__file__, "must-gather/nodes.yaml")
    return archive.getvalue()


def zipped() -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("notes.txt", "0" * 10_000_000)
    return archive.getvalue()


WRONG_FILES: Final = {
    "capture.jsonl": (b"", "the file is empty"),
    "dump.tar": (tar(""), "this is a tar archive without anything that Leadsman reads"),
    "dump.tar.gz": (tar("gz"), "this is a tar archive without anything that Leadsman reads"),
    "capture.zip": (zipped(), "this is a zip archive without anything that Leadsman reads"),
    "kubelet.log": (
        b"Nov 21 04:11:12 n1 kubelet[1]: Starting\n" * 3,
        "a kubelet's journal without lines in klog's format",
    ),
    "configz.json": (
        b'{"kubeletconfig": {}}',
        "the node of this configz is unknown; name the file NODE.configz.json",
    ),
    "secret.json": (b'{"kind": "Secret"}', "holds nothing that Leadsman reads, only Secret (1)"),
}


def test_each_wrong_file_is_reported_by_its_name_and_what_to_do(tmp_path: Path) -> None:
    for name, (content, _) in WRONG_FILES.items():
        (tmp_path / name).write_bytes(content)
    reported = []
    for names in batched(WRONG_FILES, 4):
        done = leadsman("inspect", *(tmp_path / name for name in names))
        assert (done.returncode, done.stdout) == (NO_SOURCE, "")
        reported += done.stderr.removeprefix("leadsman: ").split(f"; {tmp_path}/")
    by_name = sorted(
        (message.removeprefix(f"{tmp_path}/") for message in reported), key=lambda each: each.split(":")[0]
    )
    for message, (name, (_, reason)) in zip(by_name, sorted(WRONG_FILES.items()), strict=True):
        assert message.startswith(f"{name}: {reason}")


@pytest.mark.parametrize("command", ["inspect", "replay"])
def test_a_file_of_an_archive_is_reported_by_archive_and_path_inside(tmp_path: Path, command: str) -> None:
    """The temporary folder where it is unpacked is gone when the message is read."""
    archive = tmp_path / "dump.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("node-1/capture.jsonl", "0" * 10_000)
        file.writestr("good.jsonl", capture("zipped", b"{}"))
    database = {"db": tmp_path / "db"} if command == "replay" else {}
    done = leadsman(command, archive, **database)
    assert (
        "dump.zip: node-1/capture.jsonl: it has no observations and no Kubernetes objects: other text" in done.stderr
    )
    assert "dump.zip: good.jsonl:2" in " ".join((done.stdout + done.stderr).split())
    assert "leadsman-" not in done.stdout + done.stderr


def test_a_folder_without_anything_known_names_what_would_be_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    done = leadsman("inspect", tmp_path)
    assert done.returncode == NO_SOURCE
    assert (
        f"{tmp_path}: this folder has nothing that Leadsman reads: no capture (*.jsonl, plain, .gz or .zst)"
        in done.stderr
    )


def test_a_path_that_is_not_there_is_reported(tmp_path: Path) -> None:
    done = leadsman("inspect", tmp_path / "none.jsonl")
    assert done.returncode == NO_SOURCE
    assert f"{tmp_path / 'none.jsonl'}: no such file or folder" in done.stderr


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A cluster whose names are SQL, markup and terminal escapes: the database, and what the replay printed."""
    folder = tmp_path_factory.mktemp("hostile")
    names = (HOSTILE_POD, ESCAPE_POD, MARKUP_POD)
    evicted = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
    lines = [node("12:00:00", MARKUP_POD, type_="ADDED")]
    for number, name in enumerate(names):
        lines += [
            pod(f"12:00:1{number}", name, MARKUP_POD, type_="ADDED"),
            pod(f"12:00:2{number}", name, MARKUP_POD, status=evicted),
        ]
    lines.append(event("12:00:30", "e", "EvictionThresholdMet", ESCAPE_POD, node=MARKUP_POD))
    path = folder / "hostile.jsonl"
    path.write_text(jsonl(each | {"cluster": MARKUP_POD} for each in lines))
    return folder / "db", succeeds("replay", path, db=folder / "db")


def test_sql_in_names_stays_text(hostile: tuple[Path, str]) -> None:
    found = succeeds(
        "query",
        *("--sql", "SELECT pod FROM evictions WHERE pod = {pod:String}"),
        *("--param", f"pod={HOSTILE_POD}", "-o", "json"),
        db=hostile[0],
    )
    assert json.loads(found) == [{"pod": HOSTILE_POD}]


def test_what_a_cluster_named_reaches_no_terminal_as_an_escape_or_as_markup(hostile: tuple[Path, str]) -> None:
    db, reported = hostile
    table = succeeds("query", "evicted_pods", db=db)
    for printed in (reported, table):
        assert set("\x1b\x07\u202e") & set(printed) == set()
        assert "\\x1b[31mred" in printed
        assert MARKUP_POD in printed
        assert HOSTILE_POD in printed


def test_the_database_has_names_as_they_are(hostile: tuple[Path, str]) -> None:
    found = rows("SELECT pod FROM evictions", hostile[0])
    assert {pod for (pod,) in found} == {ESCAPE_POD, HOSTILE_POD, MARKUP_POD}


@pytest.fixture
def held(migrated_folder: Path) -> Iterator[tuple[Path, int]]:
    """A database that another process has open, and that process's number."""
    hold = "import sys, sql.database.open as db; db = db.connect(sys.argv[1]); print('held', flush=1); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, f"chdb://{migrated_folder}"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield migrated_folder, holder.pid
        holder.kill()


def test_a_database_that_another_process_holds_is_reported_with_that_process(
    held: tuple[Path, int], folder: Path
) -> None:
    db, pid = held
    for arguments in (("query", "nodes"), ("replay", folder / "not_json.jsonl")):
        done = leadsman(*arguments, db=db)
        assert (done.returncode, done.stdout) == (HELD, "")
        assert f"process {pid} holds this database. Wait for it to end, or use another folder" in done.stderr


@pytest.mark.parametrize(
    ("insert", "reported"),
    [
        (
            "VALUES (9000, '9000_create_moons', 'x', now(), '99')",
            "migration 9000_create_moons was applied by a newer Leadsman. Update Leadsman, or use another database",
        ),
        (
            "VALUES (1, '0001_create_nodes', 'x', now(), '0.1.0'), (2, '0002_create_node_events', 'y', now(), '0')",
            "with other tables. Recreate it from its capture: leadsman replay CAPTURE --db chdb://",
        ),
    ],
)
def test_a_database_of_another_schema_is_refused_by_the_migrations_name(
    insert: str, reported: str, migrated_folder: Path, folder: Path, tmp_path: Path
) -> None:
    db = shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True)
    with connect(f"chdb://{db}") as database:
        database.command(f"INSERT INTO schema_migrations {insert}")
    done = leadsman("replay", folder / "not_json.jsonl", db=db)
    assert (done.returncode, done.stdout) == (SCHEMA, "")
    assert reported in done.stderr


@pytest.mark.parametrize(
    ("db", "status", "reported"),
    [
        ("http://u:s3cret@127.0.0.1:9/x", NO_DATABASE, "no ClickHouse answers there"),
        ("mysql://u:s3cret@h/x", USAGE, "begins with chdb:, http: or https:"),
        ("chdb://", USAGE, "lacks the folder of the database"),
    ],
)
def test_a_database_that_is_not_there_is_reported_without_its_password(db: str, status: int, reported: str) -> None:
    done = leadsman("query", "nodes", db=db)
    assert done.returncode == status
    assert reported in done.stderr
    assert "s3cret" not in done.stderr


def test_a_folder_of_other_things_is_no_database(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    done = leadsman("replay", folder / "not_json.jsonl", db=folder)
    assert done.returncode == NO_DATABASE
    assert f"{folder}: the folder has other files and no database. Name a new or empty folder" in done.stderr
    assert sorted(folder.rglob("*")) == before


def test_asking_a_database_that_is_missing_or_empty_reports_how_to_make_one(tmp_path: Path) -> None:
    missing = leadsman("query", "nodes", db=tmp_path / "missing")
    assert missing.returncode == NO_DATABASE
    assert f"Create one: leadsman replay PATH --db chdb://{tmp_path / 'missing'}" in missing.stderr
    assert not (tmp_path / "missing").exists()
    (tmp_path / "empty").mkdir()
    empty = leadsman("digest", db=tmp_path / "empty")
    assert empty.returncode == SCHEMA
    assert "Leadsman has no tables there yet. Run leadsman replay or leadsman migrate" in empty.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "reported"),
    [
        (("nonesuch",), USAGE, "there is no saved query 'nonesuch'. There are: alert_coverage, "),
        (
            ("fit", "--param", "moon=1"),
            USAGE,
            "query fit has no parameter 'moon'. It has: cluster, limited, node, resource",
        ),
        (("sample_gaps", "--param", "seconds=abc"), USAGE, "parameter seconds cannot be 'abc': it is of type UInt32"),
        (("--sql", "SELEC 1"), QUERY, "syntax error at line 1, column 7"),
    ],
)
def test_a_wrong_question_is_refused_in_one_line(
    arguments: tuple[str, ...], status: int, reported: str, hostile: tuple[Path, str]
) -> None:
    done = leadsman("query", *arguments, db=hostile[0])
    assert (done.returncode, done.stdout) == (status, "")
    assert reported in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("query", "nodes", "--param", "x"), "'x' is not K=V"),
        (("query", "nodes", "--sql", "SELECT 1"), "give a saved query's name or --sql, not both"),
        (("query", "nodes", "-o", "xml"), "'xml' is not one of 'table', 'wide', 'json', 'yaml', 'csv'"),
        (("replay",), "Missing argument 'PATH...'"),
        (("replay", "x", "--since", "yesterday"), "'yesterday' is not a time; write 2026-11-21T04:19, "),
        (("migrate", "--keep-samples-days", "-1"), "-1 is not in the range x>=0"),
        (("float",), "No such command 'float'"),
    ],
)
def test_wrong_usage_is_reported(arguments: tuple[str, ...], reported: str) -> None:
    done = CliRunner().invoke(app, arguments)
    assert (done.exit_code, done.stdout) == (USAGE, "")
    assert reported in done.stderr
