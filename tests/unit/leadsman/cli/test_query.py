"""`leadsman query`: the same filters as elsewhere, and no flood."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from components.command import leadsman, succeeds
from components.rows import T0, row, store
from leadsman.cli.present.tables import only, part
from sql.database.open import Result, connect
from streams.fold.findings import NodeRow, PodEnd

FEW = Result(("cluster", "node", "what"), ("String",) * 3, [("c", "n", "1"), ("c", "m", "2"), ("c", "m", "3")])


def test_of_many_rows_the_first_are_kept_or_the_newest() -> None:
    assert part(FEW, 2, newest=False).rows == [("c", "n", "1"), ("c", "m", "2")]
    assert part(FEW, 2, newest=True).rows == [("c", "m", "2"), ("c", "m", "3")]
    assert part(FEW, 0, newest=True) == part(FEW, 3, newest=False) == FEW


def test_a_table_names_the_cluster_where_rows_are_of_several() -> None:
    assert only(FEW, ["what"]).rows == [("1",), ("2",), ("3",)]
    assert only(FEW, ()) == FEW
    several = FEW._replace(rows=[*FEW.rows, ("d", "n", "4")])
    assert only(several, ["what"]).column_names == ("cluster", "what")


def test_a_table_shows_whether_times_are_known_where_one_is_not() -> None:
    times = Result(("ts", "pod", "time_known"), ("String", "String", "UInt8"), [("1", "a", 1), ("2", "b", 0)])
    assert only(times, ["ts", "pod"]).column_names == ("ts", "time_known", "pod")
    assert only(times._replace(rows=times.rows[:1]), ["ts", "pod"]).column_names == ("ts", "pod")


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixty containers of two nodes ended, a minute after another."""
    folder = tmp_path_factory.mktemp("query") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        store(db, *(row(NodeRow, node=node) for node in "nm"))
        for minute in range(60):
            ts = T0 + timedelta(minutes=minute)
            at = {"ts": ts, "updated_at": ts, "pod": f"p{minute:02}", "uid": str(minute)}
            store(db, row(PodEnd, node="nm"[minute % 2], namespace="shop", cause="error", **at))
    return folder


def pods(text: str) -> list[str]:
    return [each["pod"] for each in json.loads(text)]


def test_a_table_has_the_newest_fifty_and_a_count_and_programs_get_all(folder: Path) -> None:
    table = succeeds("query", "pod_ends", db=folder).splitlines()
    assert table[-1] == "50 of 60 rows; --limit 0 shows all"
    assert "p59" in table[-2]
    assert "p10" in table[1]
    assert succeeds("query", "pod_ends", "--limit", 0, db=folder).splitlines()[-1] == "60 rows"
    assert len(pods(succeeds("query", "pod_ends", "-o", "json", db=folder))) == 60
    assert pods(succeeds("query", "pod_ends", "-o", "json", "--limit", 2, db=folder)) == ["p58", "p59"]


def test_filters_are_options_as_elsewhere(folder: Path) -> None:
    def asked(*options: object) -> list[str]:
        done = leadsman("query", "pod_ends", "-o", "json", *options, db=folder)
        assert done.returncode == 0
        return pods(done.stdout)

    assert asked("--node", "m", "--limit", 1) == ["p59"]
    assert asked("--cluster", "other") == []
    assert len(asked("-n", "shop")) == 60
    assert asked("--since", "1m") == ["p58", "p59"]
    assert asked("--since", "1m", "--until", "2026-07-01T12:30:00Z") == ["p29"]
    assert asked("--param", "since=1m") == ["p58", "p59"]


def test_an_option_that_a_question_has_no_place_for_is_refused(folder: Path) -> None:
    for arguments, reported in (
        (("nodes", "--since", "1h"), "query nodes has no parameter 'since'. It has: cluster, node"),
        (("--sql", "SELECT 1", "--node", "n"), "the SQL has no {node:Type}"),
    ):
        done = leadsman("query", *arguments, db=folder)
        assert (done.returncode, reported in done.stderr) == (2, True), done.stderr
    sql = "SELECT pod FROM pod_ends WHERE node = {node:String} AND ts >= {since:DateTime64(6)}"
    done = leadsman("query", "--sql", sql, "--node", "m", "--since", "1m", "-o", "csv", db=folder)
    assert done.stdout.split() == ["pod", "p59"]
    assert "1 min before the last observation" in done.stderr


def test_a_hint_names_the_database_that_was_asked(demo_folder: Path) -> None:
    """Pasted without it, the command would ask the default one."""
    shown = " ".join(succeeds("query", "not_ready", "--db", f"chdb://{demo_folder}").split())
    assert f" UTC: LEADSMAN_DB=chdb://{demo_folder} " in shown
    assert "leadsman query events" in shown


def test_numbers_of_cpus_have_their_unit(demo_folder: Path) -> None:
    shown = succeeds("query", "numa_map", "--param", "cpus=1", "-o", "wide", db=demo_folder)
    assert " a pod of 1 exclusive CPU fits" in shown
    assert "1 CPUs" not in shown
    assert "a pod of 8 exclusive CPUs needs more CPUs" in succeeds("query", "numa_map", "-o", "wide", db=demo_folder)
