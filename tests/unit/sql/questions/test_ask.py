"""A reader's own SQL on the real engine: it reads the database, and nothing else."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.database import KEPT
from components.rows import row, store
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.ask import ask
from sql.questions.digest import TableDigest, digest
from sql.questions.limits import Limits
from sql.questions.queries import run, saved_query
from streams.fold.findings import NodeRow

SECRET = "hunter2"  # noqa: S105 - of these tests only


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        store(db, row(NodeRow, node="n1", ready=True))
    (folder.parent / "secret").write_text(SECRET)
    return folder


@pytest.fixture
def reader(folder: Path) -> Iterator[Database]:
    KEPT.keep(folder, read_only=True)
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        yield db


@pytest.fixture(scope="module")
def before(folder: Path) -> list[TableDigest]:
    """Before anything is asked."""
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        return digest(db)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """Who connects is seen: nothing may."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        found.setblocking(False)
        yield found


WRITES = (
    "INSERT INTO nodes (cluster) VALUES ('x')",
    "INSERT INTO nodes (cluster) SETTINGS readonly = 0 VALUES ('x')",
    "INSERT INTO FUNCTION file('{folder}/out', 'TSV', 'a String') VALUES ('x')",
    "INSERT INTO nodes (cluster) FROM INFILE '{folder}/secret' FORMAT LineAsString",
    "TRUNCATE TABLE nodes",
    "DROP TABLE nodes",
    "DROP DATABASE default",
    "DETACH TABLE nodes",
    "RENAME TABLE nodes TO n",
    "ALTER TABLE nodes DELETE WHERE 1",
    "OPTIMIZE TABLE nodes",
    "CREATE TABLE t (a String) ENGINE = File(TSV, '{folder}/out')",
    "CREATE TEMPORARY TABLE t (a String) ENGINE = File(TSV, '{folder}/out')",
    "CREATE VIEW v AS SELECT 1",
    "CREATE FUNCTION f AS x -> x",
    "CREATE DICTIONARY d (a UInt8) PRIMARY KEY a SOURCE(HTTP(url '{url}' format 'TSV')) LIFETIME(1) LAYOUT(FLAT())",
    "CREATE USER u",
    "GRANT ALL ON *.* TO default",
    "SYSTEM FLUSH LOGS",
    "SYSTEM SHUTDOWN",
    "BACKUP TABLE nodes TO Disk('default', 'b')",
    "SET readonly = 0",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1; DROP TABLE nodes",
    "SELECT 1) INTO OUTFILE '{folder}/out' --",
)
REACHES_OUT = (
    "SELECT * FROM file('{folder}/secret', LineAsString)",
    "SELECT * FROM `{folder}/secret`",
    "SELECT file('{folder}/secret')",
    "SELECT `file`('{folder}/secret')",
    "SELECT /* it's */ file  ('{folder}/secret')",
    "SELECT arrayMap(file, ['{folder}/secret'])",
    "SELECT * APPLY file FROM (SELECT '{folder}/secret')",
    "WITH x -> file(x) AS f SELECT f('{folder}/secret')",
    "SELECT 'it\\'s', `a'b`, file('{folder}/secret') FROM (SELECT 1 AS `a'b`)",
    "EXPLAIN SELECT * FROM file('{folder}/secret', LineAsString)",
    "DESCRIBE TABLE file('{folder}/secret', LineAsString)",
    "SELECT * FROM icebergLocal('{folder}')",
    "SELECT * FROM sqlite('{folder}/secret', 't')",
    "SELECT * FROM executable('cat secret', TSV, 'a String')",
    "SELECT * FROM url('{url}', LineAsString)",
    "DESCRIBE TABLE url('{url}', LineAsString)",
    "DESCRIBE TABLE url('{url}', CSV)",
    "SELECT * FROM s3('{url}/bucket/key', LineAsString)",
    "SELECT * FROM s3('{url}/bucket/key', NOSIGN, LineAsString)",
    "SELECT * FROM remote('{address}', system.one)",
    "SELECT * FROM remoteSecure('{address}', system.one)",
    "SELECT * FROM mysql('{address}', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('{address}', 'd', 't', 'u', 'p')",
    "SELECT * FROM mongodb('{address}', 'd', 't', 'u', 'p', 'a String')",
    "SELECT * FROM redis('{address}', 'k', 'k String')",
    "SELECT aiGenerate('x', map('url', '{url}'))",
    "SELECT * FROM dictionary('d')",
    "SELECT reverseDNSQuery('127.0.0.1')",
    "SELECT catboostEvaluate('{folder}/secret', 1)",
    "EXPLAIN TABLE OVERRIDE mysql('{address}', 'd', 't', 'u', 'p') PARTITION BY 1",
    "DESCRIBE (SELECT * FROM url('{url}', CSV))",
    "SELECT * FROM viewExplain('EXPLAIN', '', (SELECT * FROM url('{url}', CSV)))",
    "SELECT * FROM format(AvroConfluent, 'a String', 'x') SETTINGS format_avro_schema_registry_url = '{url}'",
    "SELECT * FROM format(Protobuf, 'a') SETTINGS format_schema = '{folder}/secret:M'",
    "SELECT 1 FORMAT Template SETTINGS format_template_row = '{folder}/secret', format_schema_path = '/'",
    "SELECT `fil\\x65`('{folder}/secret')",
    "SELECT * APPLY `fil\\x65` FROM (SELECT '{folder}/secret')",
    "SELECT 1 INTO OUTFILE '{folder}/out'",
    "SELECT 1 INTO/**/OUTFILE '{folder}/out'",
    "SHOW TABLES INTO OUTFILE '{folder}/out'",
    "EXPLAIN SELECT 1 INTO OUTFILE '{folder}/out' TRUNCATE FORMAT TSV",
)


@pytest.mark.parametrize("statement", [*WRITES, *REACHES_OUT])
def test_a_question_neither_writes_nor_reaches_outside(
    reader: Database, before: list[TableDigest], folder: Path, listener: socket.socket, statement: str
) -> None:
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    attack = statement.format(folder=folder.parent, url=f"http://{address}", address=address)
    with pytest.raises(QueryFailed) as refusal:
        ask(reader, attack, {})
    assert SECRET not in str(refusal.value)
    assert digest(reader) == before
    assert not (folder.parent / "out").exists()
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT node FROM nodes",
        "-- which\nSELECT node FROM nodes -- all\n;",
        "WITH a AS (SELECT node FROM nodes) SELECT * FROM a",
        "(SELECT node FROM nodes)",
        "SELECT node FROM nodes SETTINGS final = 0",
        "SELECT node, 'file(1) INTO OUTFILE' AS `INTO OUTFILE` FROM nodes",
        "SELECT node FROM nodes WHERE node = {node:String}",
        "SELECT node FROM nodes, numbers(1) AS n",
    ],
)
def test_a_question_is_answered(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {"node": "n1"}).rows[0][0] == "n1"


@pytest.mark.parametrize(
    "statement", ["SHOW TABLES", "DESCRIBE TABLE nodes", "EXPLAIN SELECT 1", "EXISTS TABLE nodes"]
)
def test_the_schema_is_shown(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {}).rows


SMALL = Limits(rows=3, seconds=1, memory_bytes=64 << 20, answer_bytes=1 << 20)


def test_a_bounded_answer_has_one_row_more_than_may_be_shown(reader: Database) -> None:
    assert len(ask(reader, "SELECT number FROM numbers(9)", {}, SMALL).rows) == SMALL.rows + 1
    assert len(ask(reader, "SELECT number FROM numbers(2)", {}, SMALL).rows) == 2
    assert len(run(reader, saved_query("nodes"), {}, SMALL).rows) == 1


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("SELECT count() FROM numbers(1000000000000)", "TIMEOUT_EXCEEDED"),
        ("SELECT sleep(3)", "TIMEOUT_EXCEEDED"),
        ("SELECT length(groupArray(number)) FROM numbers(100000000)", "MEMORY_LIMIT_EXCEEDED"),
    ],
)
def test_a_bounded_question_ends_at_its_limits(reader: Database, statement: str, why: str) -> None:
    with pytest.raises(QueryFailed, match=why):
        ask(reader, statement, {}, SMALL)
    assert ask(reader, "SELECT 1", {}, SMALL).rows == [(1,)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT number FROM numbers(9) SETTINGS limit = 0",
        "SELECT number FROM numbers(9) settings limit = 0, max_execution_time = 0",
        "SELECT * FROM (SELECT number FROM numbers(9) SETTINGS max_memory_usage = 0)",
        "SET max_memory_usage = 0",
        "SET final = 0",
        "USE system",
        "SYSTEM FLUSH LOGS",
        "KILL QUERY WHERE 1",
    ],
)
def test_a_bounded_question_can_neither_lift_its_limits_nor_change_the_session(
    reader: Database, statement: str
) -> None:
    with pytest.raises(QueryFailed) as refusal:
        ask(reader, statement, {}, SMALL)
    assert refusal.value.forbidden
    assert ask(reader, "SELECT getSetting('final'), currentDatabase()", {}, SMALL).rows == [(True, "default")]


@pytest.mark.parametrize(
    "statement", ["SHOW TABLES", "DESCRIBE TABLE nodes", "EXPLAIN SELECT 1", "SELECT 'SETTINGS'"]
)
def test_what_only_reads_is_answered_within_limits(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {}, SMALL).rows
