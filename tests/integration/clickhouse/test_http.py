"""The same code against ClickHouse's HTTP protocol: an unchanged client, a server process, faults."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import clickhouse_connect
import pytest
import urllib3

from components.clickhouse import ClickHouseHttp
from components.rows import T0, row, store, store_samples, summary
from sql.database.errors import DatabaseError, DatabaseUnreachable, QueryFailed
from sql.database.open import Database, connect
from sql.landing.batches import to_arrow
from sql.questions.ask import ask
from sql.questions.digest import digest
from sql.questions.queries import run, with_forms
from sql.schema.migrate import load_migrations, migrate
from sql.schema.retention import KEPT, RAW_TABLES, ROLLUP_TABLES, keep, retention_of
from streams.fold.findings import NodeRow, PodBinding

HOSTILE = "'; DROP TABLE nodes; -- {x:String} %s \\ \t\n\0 é"
PASSWORD = "s3cret-and-sound"  # noqa: S105 - of a server that lives as long as its test


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseHttp]:
    with ClickHouseHttp(tmp_path_factory.mktemp("http") / "db", PASSWORD) as running:
        yield running


@pytest.fixture(scope="module")
def migrated(http: ClickHouseHttp) -> str:
    with connect(http.dsn("migrated")) as db:
        migrate(db)
    return http.dsn("migrated")


@pytest.fixture
def server(migrated: str) -> Iterator[Database]:
    """A migrated database on the server, without rows but those of its migrations."""
    with connect(migrated) as db:
        before = filled(db)
        yield db
        for table in filled(db) - before:
            db.command(f"TRUNCATE TABLE {table}")


def filled(db: Database) -> set[str]:
    sql = "SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows > 0"
    return {name for (name,) in db.query(sql).rows}


def fill(db: Database) -> None:
    times = [T0 + timedelta(seconds=10 * i) for i in range(20)]
    store(
        db,
        *(row(NodeRow, ts=at, node=HOSTILE, capacity={"memory": i, "cpu": 1}) for i, at in enumerate(times)),
        row(PodBinding, change="bound", node=HOSTILE, pod="p", uid="u", requests={"b": 1, "a": 2}),
    )
    pods = [{"namespace": "ns", "pod": HOSTILE, "uid": "u", "memory_working_set_bytes": 7}]
    store_samples(
        db, *(summary(at, HOSTILE, pods, memory_available_bytes=1, memory_working_set_bytes=2) for at in times)
    )


def test_the_same_rows_have_the_same_digest_embedded_and_on_a_server(server: Database, database: Database) -> None:
    fill(server)
    fill(database)
    assert digest(server) == digest(database)
    assert sum(one.rows for one in digest(server)) == 61


def test_views_and_queries_answer_alike_on_both(server: Database, database: Database) -> None:
    fill(server)
    fill(database)
    answered = 0
    for query in with_forms():
        found = run(server, query, {})
        assert list(found.rows) == list(run(database, query, {}).rows), query.name
        answered += bool(found.rows)
    assert answered > 5


def test_migrating_a_server_again_changes_nothing(server: Database) -> None:
    fill(server)
    before = digest(server)
    assert migrate(server) == []
    assert server.query("SELECT count() FROM schema_migrations").rows == [(len(load_migrations()),)]
    assert digest(server) == before


def test_a_server_has_a_retention_from_the_beginning_until_set_otherwise(http: ClickHouseHttp) -> None:
    with connect(http.dsn("kept")) as own:
        migrate(own)
        assert kept(own) == {"samples": {7}, "rollups": {90}, "events": {90}, "findings": {365}}
        keep(own, RAW_TABLES, 30)
        keep(own, ROLLUP_TABLES, None)
        migrate(own)
        assert kept(own) == {"samples": {30}, "rollups": {None}, "events": {90}, "findings": {365}}


def kept(db: Database) -> dict[str, set[int | None]]:
    return {each.name: {retention_of(db, table) for table in each.tables} for each in KEPT}


def test_a_capture_of_years_ago_stays_on_a_server_with_retention(server: Database) -> None:
    store_samples(server, summary(T0 - timedelta(days=3650), "n"))
    server.command("OPTIMIZE TABLE node_samples FINAL")
    assert server.query("SELECT node FROM node_samples").rows == [("n",)]


def test_parameters_stay_text_over_http(server: Database) -> None:
    fill(server)
    found = server.query("SELECT {a:String}, uniqExact(node) FROM nodes WHERE node = {a:String}", {"a": HOSTILE})
    assert found.rows == [(HOSTILE, 1)]


def test_rows_are_streamed_over_http(server: Database) -> None:
    with server.stream("SELECT number FROM numbers(300000)") as found:
        assert sum(one[0] for one in found.rows) == 299_999 * 150_000


def test_a_server_refuses_two_statements(server: Database) -> None:
    with pytest.raises(QueryFailed, match="Multi-statements"):
        server.command("SELECT 1; SELECT 2")
    server.command("SELECT ';' -- ; one statement")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM url('http://127.0.0.1:9', LineAsString)",
        "DESCRIBE TABLE url('http://127.0.0.1:9', LineAsString)",
        "SELECT * FROM remote('127.0.0.1:9', system.one)",
        "SELECT file('/etc/hostname')",
        "SELECT 1 SETTINGS readonly = 0",
        "CREATE TEMPORARY TABLE t (a UInt8)",
        "DROP TABLE nodes",
    ],
)
def test_a_question_to_a_server_only_reads(server: Database, sql: str) -> None:
    fill(server)
    with pytest.raises(QueryFailed) as refusal:
        ask(server, sql, {})
    assert refusal.value.forbidden
    assert ask(server, "SELECT count() FROM nodes", {}).rows[0][0] > 0


@pytest.mark.parametrize("fault", ["drop_before", "drop_after", "error"])
def test_a_retried_insert_is_there_once(server: Database, http: ClickHouseHttp, fault: str) -> None:
    table, token = to_arrow(NodeRow, [row(NodeRow, node="n")]), f"token of {fault}"
    http.inject(fault)
    with pytest.raises(DatabaseError):
        server.insert("nodes", table, token)
    server.insert("nodes", table, token)
    assert server.query("SELECT count() FROM nodes SETTINGS final = 0").rows == [(1,)]


def test_a_wrong_password_is_refused_and_not_repeated(http: ClickHouseHttp) -> None:
    with pytest.raises(DatabaseUnreachable, match="password was refused") as refusal:
        connect(http.dsn().replace(PASSWORD, "wrong-one"))
    assert "wrong-one" not in str(refusal.value)


def test_errors_of_a_server_hide_its_password(server: Database) -> None:
    with pytest.raises(QueryFailed) as failure:
        server.query(f"SELECT nonesuch -- {PASSWORD}")
    assert PASSWORD not in str(failure.value)


def test_a_server_that_went_away_is_reported(tmp_path: Path) -> None:
    with ClickHouseHttp(tmp_path / "db") as short, connect(short.dsn()) as db:
        dsn = short.dsn()
        db.query("SELECT 1")
    with pytest.raises(DatabaseUnreachable, match=r"no ClickHouse answers there: .*Connection refused"):
        connect(dsn)


def test_what_answers_is_reported_when_it_is_no_clickhouse(http: ClickHouseHttp) -> None:
    with pytest.raises(DatabaseUnreachable), connect(f"https://127.0.0.1:{http.port}/x"):
        pass


def test_native_inserts_of_an_unchanged_client_arrive(http: ClickHouseHttp) -> None:
    client = clickhouse_connect.get_client(
        host="127.0.0.1", port=http.port, username="default", password=PASSWORD, compress="lz4"
    )
    client.command("CREATE TABLE native (a Int64, b String) ENGINE = MergeTree ORDER BY a")
    client.insert("native", [[i, str(i)] for i in range(1000)], column_names=["a", "b"])
    assert client.query("SELECT count(), max(b) FROM native").result_rows == [(1000, "999")]
    client.close()


def asked_natively(http: ClickHouseHttp, sql: str) -> urllib3.BaseHTTPResponse:
    """Ask like clickhouse-go 2.43: with this version of the protocol and no format in the statement."""
    url = f"http://127.0.0.1:{http.port}/?default_format=Native&client_protocol_version=54460"
    return urllib3.request("POST", url, body=sql, headers=urllib3.make_headers(basic_auth=f"default:{PASSWORD}"))


def test_a_client_of_a_newer_protocol_gets_blocks_with_a_head_and_flags(http: ClickHouseHttp) -> None:
    found = asked_natively(http, "SELECT repeat('é', 100) AS name, toUInt32(258) AS size")
    assert (
        found.data
        == (
            b"\x01\x00\x02\xff\xff\xff\xff\x00"  # field 1, overflows: no; field 2, bucket: -1; no more fields
            b"\x02\x01"  # columns, rows
            b"\x04name\x06String\x00"  # no serialization of its own
            b"\xc8\x01" + 100 * b"\xc3\xa9" + b"\x04size\x06UInt32\x00"  # 200 = 0x48 + (1 << 7)
            b"\x02\x01\x00\x00"
        )
    )
    assert asked_natively(http, "CREATE DATABASE IF NOT EXISTS asked_natively").data == b""


def test_a_type_that_such_a_client_cannot_get_is_refused(http: ClickHouseHttp) -> None:
    refusal = asked_natively(http, "SELECT 1.5")
    assert (refusal.status, refusal.headers["X-ClickHouse-Exception-Code"]) == (500, "48")
