"""Opening databases, rows as columns, inserts of hostile text, and what a person is told when it fails."""

import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from clickhouse_connect.driver.binding import bind_query
from hypothesis import given
from hypothesis import strategies as st

from components.disk import Disk, why_no_disk
from components.rows import T0, dicts, row, store, store_samples, summary
from sql.database import engine
from sql.database.dsn import Embedded, Server, parse_dsn
from sql.database.engine import ENGINE_SETTINGS
from sql.database.errors import BadDsn, DatabaseError, DatabaseHeld, DatabaseUnreachable, QueryFailed
from sql.database.open import Database, bound, connect
from sql.database.replicated import quoted
from sql.landing.batches import SCHEMAS, to_arrow
from streams.fold.findings import (
    TABLES,
    DeadLetter,
    EvictionSignal,
    KubeletSetting,
    NodeEvent,
    NodeRow,
    PodBinding,
    stored_values,
)

HOSTILE = [
    "'; DROP TABLE nodes; --",
    "\\",
    "a\tb\nc\0d",
    "{x:String}",
    "%s %(a)s",
    "`",
    "é\U0001f600",
    "",
    "NULL",
    "\\N",
]
SECRET = "hunter2-secret"  # noqa: S105 - of no server


@pytest.mark.parametrize(
    ("dsn", "folder", "database"),
    [
        ("chdb:///var/lib/leadsman", "/var/lib/leadsman", "default"),
        ("chdb:////var/lib/leadsman", "/var/lib/leadsman", "default"),
        ("chdb:///var/lib/a%20b?database=other", "/var/lib/a b", "other"),
        ("/var/lib/a%20b", "/var/lib/a%20b", "default"),
    ],
)
def test_an_embedded_dsn_names_a_folder(dsn: str, folder: str, database: str) -> None:
    assert parse_dsn(dsn) == Embedded(Path(folder), database)


def test_a_relative_folder_lies_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert parse_dsn("chdb://rel/dir") == Embedded(tmp_path / "rel/dir")
    assert parse_dsn("chdb://rel") == parse_dsn("rel") == parse_dsn("./rel/") == Embedded(tmp_path / "rel")


@pytest.mark.parametrize(
    ("dsn", "server"),
    [
        ("http://h", Server("h", 8123, False)),
        ("https://h", Server("h", 8443, True)),
        ("http://u:p%40ss@h:1234/db", Server("h", 1234, False, "db", "u", "p@ss")),
        ("http://[::1]:9/", Server("::1", 9, False)),
        ("http://h?cluster=a-1", Server("h", 8123, False, cluster="a-1")),
        ("http://h?cluster=a&sharded=1", Server("h", 8123, False, cluster="a", sharded=True)),
        ("http://h?insert_quorum=auto", Server("h", 8123, False, insert_quorum="auto")),
        ("http://h?select_sequential_consistency=1", Server("h", 8123, False, sequential=True)),
        ("http://h?select_sequential_consistency=0", Server("h", 8123, False)),
    ],
)
def test_a_server_dsn_names_host_user_and_database(dsn: str, server: Server) -> None:
    assert parse_dsn(dsn) == server


def test_a_quorum_takes_inserts_one_after_the_other_so_that_a_query_can_see_all_of_it() -> None:
    target = parse_dsn("http://h?insert_quorum=2&select_sequential_consistency=1")
    assert isinstance(target, Server)
    assert target.settings == {
        "insert_quorum": "2",
        "insert_quorum_parallel": 0,
        "select_sequential_consistency": 1,
    }


def test_of_shards_an_insert_waits_for_each_and_a_join_sees_the_rows_of_all() -> None:
    target = parse_dsn("http://h/db?cluster=a&sharded=1")
    assert isinstance(target, Server)
    assert target.settings == {"distributed_foreground_insert": 1, "distributed_product_mode": "global"}
    assert target.holder == "db_shard"


@pytest.mark.parametrize(
    "dsn",
    ["", "u:hunter2-secret", "a?hunter2-secret", "mysql://u:hunter2-secret@h/", "chdb://", "chdb:///",
     "chdb:///a?user=hunter2-secret", "http://",
     "http://h?cluster=a'hunter2-secret", "http://h?sharded=1", "http://h?cluster=a&sharded=hunter2-secret",
     "http://h?insert_quorum=1", "http://h?select_sequential_consistency=yes",
     "http://u:hunter2-secret@h:99999/", "http://u:hunter2-secret@[h/", "chdb:///a%3Fb", "chdb:///a%00b"],
)  # fmt: skip
def test_a_bad_dsn_is_refused_without_its_secrets(dsn: str) -> None:
    with pytest.raises(BadDsn) as refusal:
        parse_dsn(dsn)
    assert SECRET not in str(refusal.value)


@given(st.text())
def test_no_text_breaks_the_dsn_parser(text: str) -> None:
    for dsn in (text, "http://" + text, "chdb://" + text):
        with suppress(BadDsn):
            assert isinstance(parse_dsn(dsn), Embedded | Server)


def test_a_password_is_in_no_text_of_a_server(caplog: pytest.LogCaptureFixture) -> None:
    dsn = f"http://admin:{SECRET}@127.0.0.1:1/leadsman"
    assert SECRET not in f"{parse_dsn(dsn)} {parse_dsn(dsn)!r}"
    with caplog.at_level(logging.DEBUG), pytest.raises(DatabaseUnreachable) as failure:
        connect(dsn)
    assert "http://127.0.0.1:1/leadsman" in str(failure.value)
    assert SECRET not in str(failure.value) + caplog.text


def test_a_folder_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(DatabaseError, match="has other files"):
        connect(f"chdb://{tmp_path}")
    assert [entry.name for entry in tmp_path.iterdir()] == ["letter.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseError, match="cannot be used"):
        connect(f"chdb://{tmp_path}/file")


@pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk() or "one can be")
@pytest.mark.parametrize("read_only", [False, True])
def test_a_folder_that_cannot_be_written_is_refused_in_words(tmp_path: Path, read_only: bool) -> None:
    with Disk(tmp_path / "disk", 1) as disk:
        (disk.folder / "status").touch()
        disk.protect()
        with pytest.raises(DatabaseError, match=r"is not writable.*Copy it to another disk"):
            connect(f"chdb://{disk.folder}", read_only=read_only)


def test_a_folder_that_another_process_holds_is_refused_with_its_number(tmp_path: Path) -> None:
    holding = (
        "import sys; from sql.database.open import connect; db = connect(sys.argv[1]); print('held', flush=True);"
        "sys.stdin.read()"
    )
    dsn = f"chdb://{tmp_path}/db"
    with subprocess.Popen(
        [sys.executable, "-c", holding, dsn], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DatabaseHeld, match=rf"process {holder.pid} holds"):
            connect(dsn)
        holder.communicate("")
    connect(dsn).close()


@pytest.mark.usefixtures("database")
def test_a_second_folder_in_one_process_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatabaseHeld, match="close that first"):
        connect(f"chdb://{tmp_path}/second")


def test_the_embedded_engine_takes_its_settings(database: Database) -> None:
    given = ET.fromstring(ENGINE_SETTINGS.read_text())  # noqa: S314 - our own
    wanted = {each.tag: each.text for each in given.iter() if not len(each)}
    assert wanted["max_parts_to_merge_at_once"] == "6"
    taken = database.query(
        "SELECT name, value FROM system.server_settings WHERE changed"
        " UNION ALL SELECT name, value FROM system.merge_tree_settings WHERE changed"
    )
    assert wanted.items() <= dict(taken.rows).items()


def test_what_is_above_a_union_is_planned_once_and_its_filter_reaches_each_branch(database: Database) -> None:
    store(database, row(NodeRow), row(PodBinding), row(NodeEvent))
    tables = "nodes", "pod_bindings", "node_events"
    union = " UNION ALL ".join(f"SELECT cluster, ts FROM {each} SETTINGS final = 0" for each in tables)
    explained = f"EXPLAIN pretty = 0, compact = 0 SELECT hex(cluster) FROM ({union}) WHERE ts > '2026-01-01'"
    plan = [line.strip() for (line,) in database.query(explained).rows]
    assert sum("FUNCTION hex" in line for line in plan) == 1
    assert sum(line.startswith("Prewhere filter column: greater") for line in plan) == len(tables)


def test_databases_of_one_folder_are_apart(database: Database) -> None:
    with connect(f"{database}?database=we`ird") as other:
        other.command("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
        assert other.query("SELECT currentDatabase()").rows == [("we`ird",)]
    assert database.query("SELECT currentDatabase()").rows == [("default",)]
    assert database.query("EXISTS TABLE t").rows[0][0] in {0, "0"}


def test_quoted_names_are_read_back_unchanged(database: Database) -> None:
    for name in ("a`b", "a\\", "a b", "'", "SELECT"):
        assert database.query(f"SELECT 1 AS {quoted(name)}").column_names == (name,)


def test_queries_bind_values_and_return_aware_times(database: Database) -> None:
    found = database.query("SELECT {a:String} AS a, toDateTime64('2020-01-01 00:00:00', 6) AS t", {"a": HOSTILE[0]})
    assert found.rows == [(HOSTILE[0], datetime(2020, 1, 1, tzinfo=UTC))]
    assert found.column_names == ("a", "t")


def test_bound_text_stays_text(database: Database) -> None:
    assert [database.query("SELECT {a:String}", {"a": text}).rows for text in HOSTILE] == [[(t,)] for t in HOSTILE]


def test_a_percent_sign_in_sql_is_no_placeholder(database: Database) -> None:
    assert database.query("SELECT '%s %(a)s'", {"a": "x"}).rows == [("%s %(a)s",)]


def test_a_query_that_finds_nothing_still_names_its_columns(database: Database) -> None:
    found = database.query(
        "-- why\nSELECT node, count() AS n FROM nodes WHERE node = {n:String} GROUP BY node;", {"n": "x"}
    )
    assert found == (("node", "n"), ("LowCardinality(String)", "UInt64"), [])


def test_columns_of_nothing_are_not_asked_for_where_nobody_reads_them(database: Database) -> None:
    assert database.query("SELECT node FROM nodes", described=False) == ((), (), [])
    assert database.query("SELECT 1 AS one", described=False) == (("one",), ("UInt8",), [(1,)])


def test_streamed_rows_equal_queried_rows(database: Database) -> None:
    sql = "SELECT number, toString(number) AS text FROM numbers({n:UInt32})"
    with database.stream(sql, {"n": 200_000}) as found:
        assert (found.column_names, found.column_types) == (("number", "text"), ("UInt64", "String"))
        assert list(found.rows) == database.query(sql, {"n": 200_000}).rows


def test_a_stream_of_nothing_still_names_its_columns(database: Database) -> None:
    with database.stream("SELECT node FROM nodes") as found:
        assert (found.column_names, list(found.rows)) == (("node",), [])


def test_a_stream_can_be_left_early(database: Database) -> None:
    with database.stream("SELECT number FROM numbers(1000000)") as found:
        assert next(found.rows) == (0,)
    assert database.query("SELECT 1").rows == [(1,)]


def test_a_wrong_query_is_reported_in_one_line(database: Database) -> None:
    with pytest.raises(QueryFailed, match="nonesuch") as failure:
        database.query("SELECT nonesuch")
    assert "\n" not in str(failure.value)


@pytest.mark.parametrize(("sql", "given"), [("SELECT '\udce4'", {}), ("SELECT {x:String}", {"x": "\udce4"})])
def test_text_that_is_not_utf_8_is_refused_in_words(database: Database, sql: str, given: dict[str, str]) -> None:
    with pytest.raises(QueryFailed, match=r"\\udce4.* is not text in UTF-8"):
        database.query(sql, given)


@pytest.mark.parametrize(
    "value",
    [f"fromUnixTimestamp64Milli({2**63 - 1})", f"fromUnixTimestamp64Milli({1 - 2**63})", "[" * 400 + "1" + "]" * 400],
    ids=["latest", "earliest", "nested"],
)
def test_a_value_that_python_cannot_hold_fails_the_query_alone(database: Database, value: str) -> None:
    """A time of the year 292,278,994: the driver raised an error of its own, which ended who asked."""
    with pytest.raises(QueryFailed, match=r"a value that Python cannot hold: .* toString"):
        database.query(f"SELECT {value} AS at")
    assert database.query("SELECT 7").rows == [(7,)]


@pytest.mark.parametrize("how", ["query", "stream"])
def test_what_a_failed_query_had_found_is_not_in_the_next_answer(database: Database, how: str) -> None:
    """The embedded engine keeps it, and columns of the same names and types would take it for their own."""
    fails = "SELECT number AS a, throwIf(number = 5000) AS b FROM numbers(10000) SETTINGS max_block_size = 1000"

    def ask() -> None:
        if how == "query":
            database.query(fails)
        else:
            with database.stream(fails) as found:
                list(found.rows)

    with pytest.raises(DatabaseError):
        ask()
    assert database.query("SELECT 7::UInt64 AS a, 0::UInt8 AS b").rows == [(7, 0)]


def test_a_database_works_from_another_thread(database: Database) -> None:
    store(database, row(NodeRow, node="n"))
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(database.query("SELECT node FROM nodes").rows))
    thread.start()
    thread.join()
    assert found == [[("n",)]]


def test_hostile_text_is_stored_as_it_is(database: Database) -> None:
    rows = [row(DeadLetter, ts=T0, source=text, position=str(i), payload=text) for i, text in enumerate(HOSTILE)]
    store(database, *rows)
    found = database.query("SELECT source, payload FROM dead_letters ORDER BY toUInt8(position)").rows
    assert found == [(text, text) for text in HOSTILE]
    labels = dict.fromkeys(HOSTILE, 1)
    store(database, row(NodeRow, node="n", capacity=labels, taints=HOSTILE))
    assert database.query("SELECT capacity, taints FROM nodes").rows == [(labels, HOSTILE)]


def test_numbers_beyond_64_bits_and_half_surrogates_stop_no_row(database: Database) -> None:
    store(
        database,
        row(NodeRow, node="n", capacity={"cpu": 1 << 70, "memory": -(1 << 70)}, uid="\ud800", taints=["a\udfff"]),
        row(EvictionSignal, signal="s", available=1 << 70, hard_threshold=None),
    )
    largest, smallest = (1 << 63) - 1, -(1 << 63)
    assert database.query("SELECT capacity, uid, taints FROM nodes").rows == [
        ({"cpu": largest, "memory": smallest}, "?", ["a?"])
    ]
    assert database.query("SELECT available, hard_threshold FROM eviction_signals").rows == [(largest, None)]


def test_events_with_absurd_times_are_stored(database: Database) -> None:
    times = [datetime(year, 1, 2, 3, 4, 5, 6, tzinfo=UTC) for year in (1, 1600, 1969, 2299, 9999)]
    store(database, *(row(DeadLetter, ts=at) for at in times))
    assert database.query("SELECT ts FROM dead_letters ORDER BY ts").rows == [(at,) for at in times]


def test_one_insert_can_span_many_partitions(database: Database) -> None:
    store(database, *(row(DeadLetter, ts=datetime(1970 + i, 1, 1, tzinfo=UTC)) for i in range(200)))
    assert database.query("SELECT count() FROM dead_letters").rows == [(200,)]


def test_a_repeated_token_inserts_nothing(database: Database) -> None:
    table = to_arrow(NodeRow, [row(NodeRow, node="n")])
    count = "SELECT count() FROM nodes SETTINGS final = 0"
    for _ in range(3):
        database.insert("nodes", table, "nodes:0-1")
    assert database.query(count).rows == [(1,)]
    database.insert("nodes", table, "nodes:1-2")
    assert database.query(count).rows == [(2,)]


def test_a_replaced_row_is_never_seen_beside_its_replacement(database: Database) -> None:
    store(database, row(NodeRow, node="n", uid="old"))
    store(database, row(NodeRow, node="n", uid="new"))
    assert database.query("SELECT uid FROM nodes").rows == [("new",)]


def test_a_repeated_sample_changes_no_roll_up(database: Database) -> None:
    samples = [
        summary(T0, "n", memory_available_bytes=1),
        summary(T0.replace(minute=1), "n", memory_available_bytes=2),
    ]
    everything = "SELECT * FROM node_history"
    store_samples(database, *samples)
    before = dicts(database, everything)
    store_samples(database, *reversed(samples))
    assert dicts(database, everything) == before
    assert len(before) == 1


def test_every_row_type_is_stored_and_read_back(database: Database) -> None:
    for row_type, table in TABLES.items():
        for one in (row(row_type), _full(row_type)):
            database.command(f"TRUNCATE TABLE {table}")
            store(database, one)
            columns = ", ".join(SCHEMAS[table].names)
            (stored,) = stored_values(row_type, [one])
            assert database.query(f"SELECT {columns} FROM {table}").rows == [tuple(stored)]


def test_no_rows_are_an_empty_table() -> None:
    assert [to_arrow(row_type, []).num_rows for row_type in TABLES] == [0] * len(TABLES)


def _full(row_type: type[Any]) -> Any:
    examples = {
        "string": "text",
        "int64": 7,
        "double": 0.5,
        "bool": True,
        "timestamp[us, tz=UTC]": T0,
        "list<item: string>": ["a", "b"],
        "list<item: int64>": [1, 2],
        "map<string, int64>": {"a": 1},
        "map<string, string>": {"a": "b"},
        "map<string, double>": {"a": 0.5},
        "map<string, timestamp[us, tz=UTC]>": {"a": T0},
    }
    schema = SCHEMAS[TABLES[row_type]]
    return row(row_type, **{field.name: examples[str(field.type)] for field in schema})


def test_settings_and_bindings_keep_their_maps(database: Database) -> None:
    store(
        database,
        row(
            KubeletSetting,
            node="n",
            eviction_hard={"memory.available": "100Mi"},
            eviction_soft_grace_seconds={"a": 1.5},
        ),
        row(PodBinding, pod="p", requests={"cpu": 100}, cpu_limit_millicores=None, created_at=None),
    )
    assert database.query(
        "SELECT eviction_hard['memory.available'], eviction_soft_grace_seconds FROM kubelet_settings"
    ).rows == [("100Mi", {"a": 1.5})]
    assert database.query("SELECT requests, cpu_limit_millicores, created_at FROM pod_bindings").rows == [
        ({"cpu": 100}, None, None)
    ]


def test_the_pods_of_each_sample_get_its_time_and_node(database: Database) -> None:
    pods = [{"namespace": "ns", "pod": name, "uid": name, "processes": 1} for name in "abc"]
    later = T0.replace(second=10)
    store_samples(database, summary(T0, "n", pods[:2]), summary(later, "m"), summary(later, "o", pods[2:]))
    found = database.query("SELECT ts, node, pod, processes, swap_usage_bytes FROM pod_samples ORDER BY pod").rows
    assert found == [(T0, "n", "a", 1, None), (T0, "n", "b", 1, None), (later, "o", "c", 1, None)]
    assert database.query("SELECT node FROM node_samples ORDER BY node").rows == [("m",), ("n",), ("o",)]


PIECES = st.sampled_from(
    [
        "SELECT ",
        "{x:String}",
        "{x :String}",
        "{ x:String}",
        "{y:UInt8}",
        "{é:String}",
        "%(x)s",
        "%s",
        "%%",
        "$x$",
        "{",
        "}",
        ":",
        "'",
        "--",
        "\n",
        "x",
        "{x:}",
        "{{x:String}}",
        "{x:{y:String}}",
        "{(a|a)*b:",
        "{1x:String}",
        "{x-y:String}",
    ],
)
NAMES = st.sampled_from(["x", "y", "é", "$x$", "1x", "x-y", "(a|a)*b", "(", "x|y", "", "x_64", "database"])


@given(st.lists(PIECES).map("".join), st.dictionaries(NAMES, st.sampled_from(["1", "', file('x'), '", "%s"])))
def test_the_driver_never_puts_a_value_into_a_statement(sql: str, parameters: dict[str, str]) -> None:
    text, values = bind_query(sql, bound(sql, parameters))
    assert text == sql.rstrip(";")
    assert {name.removeprefix("param_") for name in values} <= parameters.keys()


def test_a_parameter_s_name_is_no_pattern() -> None:
    """It took minutes, and the page stood still."""
    began = time.process_time()
    assert bound("SELECT 1 -- {" + "a" * 4000, {"(a|a)*b": "1", "(": "1"}) is None
    assert bound("{" * 4000 + "x:String}", {"x": "1"}) == {"x": "1"}
    assert time.process_time() - began < 1


def test_the_engine_is_imported_where_libraries_cannot_be_bound_deeply(monkeypatch: pytest.MonkeyPatch) -> None:
    """macOS and musl have no RTLD_DEEPBIND, and chDB itself uses it on Linux alone."""
    monkeypatch.delattr("os.RTLD_DEEPBIND")
    monkeypatch.setitem(sys.modules, "chdb", None)
    monkeypatch.setattr(engine, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr(engine, "import_module", lambda name: SimpleNamespace(connect=name))
    flags = sys.getdlopenflags()
    engine._import_engine()
    assert vars(sys.modules["chdb"])["connect"] == "chdb.state"
    assert sys.getdlopenflags() == flags
