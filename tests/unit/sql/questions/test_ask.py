"""A reader's own SQL on the real engine: it reads the database, and nothing else."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from components.rows import row, store
from sql.database.errors import QueryFailed
from sql.database.open import Database, connect
from sql.questions.ask import ask
from sql.questions.limits import Limits
from sql.questions.queries import run, saved_query
from sql.questions.vetting import SYSTEM_TABLES, TABLE_FUNCTIONS
from streams.fold.findings import NodeRow

Content: TypeAlias = tuple[list[tuple[Any, ...]], ...]
SECRET = "hunter2"  # noqa: S105 - of these tests only


@pytest.fixture(scope="module")
def folder(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "db"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        store(db, row(NodeRow, node="n1", ready=True))
    (folder.parent / "secret").write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def reader(folder: Path) -> Iterator[Database]:
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        yield db


@pytest.fixture(scope="module")
def before(folder: Path) -> Content:
    """Before anything is asked."""
    with connect(f"chdb://{folder}", make=False, read_only=True) as db:
        return content(db)


def content(db: Database) -> Content:
    """Return what there is: every table and view, and a hash of each part's files, of which only `nodes` and the
    tables of the schema have any. A digest of each table's rows would take 27 queries after each statement.
    """
    tables = "SELECT name, total_rows FROM system.tables WHERE database = currentDatabase() ORDER BY name"
    parts = """SELECT table, hash_of_all_files FROM system.parts WHERE active AND database = currentDatabase()
        ORDER BY table, hash_of_all_files"""
    return tuple([*db.query(each).rows] for each in (tables, parts))


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A connection would be seen: there must be none."""
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
    "SYSTEM STOP MERGES",
    "SYSTEM STOP TTL MERGES nodes",
    "SYSTEM DROP MARK CACHE",
    "EXPLAIN SYSTEM STOP MERGES",
    "SELECT 1 PARALLEL WITH SYSTEM STOP MERGES",
    "BACKUP TABLE nodes TO Disk('default', 'b')",
    "SET readonly = 0",
    "SELECT 1 SETTINGS readonly = 0",
    "SELECT 1; DROP TABLE nodes",
    "SELECT 1) INTO OUTFILE '{folder}/out' --",
)
LIFTS = (
    "SELECT 1 SETTINGS allow_experimental_eval_table_function = 1",
    "SELECT 1 SETTINGS max_memory_usage = 0",
    "SELECT 1 SETTINGS final = 0, readonly = 0",
    "SELECT 1 SETTINGS `readonly` = 0",
    "SELECT * FROM (SELECT 1 SETTINGS allow_introspection_functions = 1)",
    "EXPLAIN SELECT 1 SETTINGS max_memory_usage = 0",
    "USE system",
    "SHOW PROCESSLIST",
    "SHOW GRANTS",
)
LEAKS = (
    "EXISTS TABLE `{folder}/secret`",
    "EXISTS `{folder}/secret`",
    "EXISTS TEMPORARY TABLE `{folder}/secret`",
    "EXPLAIN EXISTS TABLE `{folder}/secret`",
    "SHOW CREATE TABLE `{folder}/secret`",
    "SHOW COLUMNS FROM `{folder}/secret`",
    "SELECT node IN `{folder}/secret` FROM nodes",
    "SELECT * FROM system.processes",
    'SELECT * FROM nodes, `system`."settings"',
    "SELECT node IN system.query_log FROM nodes",
    "SELECT node IN (system.server_settings) FROM nodes",
    "SELECT * FROM system.tables",
    "SELECT any(data_paths) FROM `system`.`tables`",
    "SELECT COLUMNS('path') FROM view(SELECT * FROM system.databases)",
    "DESCRIBE TABLE system.users",
    "SHOW CREATE TABLE system.disks",
    "EXISTS TABLE system.users",
    "SELECT * FROM information_schema.views",
    "SELECT * FROM merge('system', '.*')",
    "SELECT * FROM viewIfPermitted(SELECT 1 ELSE null('x UInt8'))",
    "SELECT hasColumnInTable('{address}', 'default', '', 'system', 'one', 'dummy')",
    "SELECT dictGet('d', 'a', 1)",
    "SELECT joinGet('nodes', 'node', 1)",
    "SELECT getSetting('max_memory_usage'), getServerSetting('path')",
    "SELECT * APPLY getSetting FROM (SELECT 'final')",
    "SELECT arrayMap(getMacro, ['x'])",
    "SELECT currentUser()",
    "SELECT hostName()",
    "SELECT b FROM values('a String, b String ALIAS hostName()', ('x'))",
    "SELECT b FROM VALUES(concat('a String, b String ALIAS host', 'Name()'), ('x'))",
    "SELECT a FROM generateRandom('a String DEFAULT hostName()') LIMIT 1",
    "SELECT a FROM null('a String ALIAS hostName()')",
    "SELECT a FROM format(TSV, 'b String, a String ALIAS hostName()', 'x')",
    "DESCRIBE TABLE values('a String DEFAULT hostName()', ('x'))",
    *(f"SELECT b FROM {each}('a String, b String ALIAS hostName()', ('x'))" for each in sorted(TABLE_FUNCTIONS)),
    "SELECT @@version",
    "SELECT sleep(0.1)",
    "SELECT sleepEachRow(0.1) FROM nodes",
    "SELECT arrayReduce('groupFormat(\\'CSV\\')', [1])",
    "SELECT formatRow('Template', 1)",
)
REACHES_OUT = (
    "SELECT * FROM eval('SELECT fi' || 'le(...)') SETTINGS allow_experimental_eval_table_function = 1",
    "SELECT * FROM eval(concat('SELECT fi', 'le(\\'{folder}/secret\\')'))",
    "SELECT * FROM python('secret')",
    "SELECT * FROM filesystem('{folder}')",
    "SELECT arrayFold(file, ['{folder}/secret'], '')",
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


@pytest.mark.parametrize("statement", [*WRITES, *LIFTS, *LEAKS, *REACHES_OUT])
def test_a_question_neither_writes_nor_reaches_outside(
    reader: Database, before: Content, folder: Path, listener: socket.socket, statement: str
) -> None:
    address = f"127.0.0.1:{listener.getsockname()[1]}"
    attack = statement.format(folder=folder.parent, url=f"http://{address}", address=address)
    with pytest.raises(QueryFailed) as refusal:
        ask(reader, attack, {})
    assert SECRET not in str(refusal.value)
    assert content(reader) == before
    assert not (folder.parent / "out").exists()
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM '{}'", "DESCRIBE TABLE `{}`", "EXISTS `{}`", "SHOW COLUMNS FROM `{}`"]
)
def test_a_refusal_does_not_reveal_whether_a_file_exists(reader: Database, folder: Path, statement: str) -> None:
    reported = set()
    for name in (folder.parent / "secret", folder.parent / "absent"):
        with pytest.raises(QueryFailed) as refusal:
            ask(reader, statement.format(name), {})
        reported.add(str(refusal.value).replace(name.name, ""))
    assert len(reported) == 1


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT node FROM nodes",
        "-- which\nSELECT node FROM nodes -- all\n;",
        "WITH a AS (SELECT node FROM nodes) SELECT * FROM a",
        "(SELECT node FROM nodes)",
        "SELECT node FROM nodes SETTINGS final = 0, max_threads = 1",
        "SELECT node, 'file(1) INTO OUTFILE' AS `INTO OUTFILE` FROM nodes",
        "SELECT node FROM nodes WHERE node = {node:String}",
        "SELECT node FROM nodes, numbers(1) AS n",
        "SELECT node FROM nodes WHERE node = {node :String} -- {other:String} %(node)s",
        "SELECT argMax(n.node, n.ts) AS node FROM default.nodes AS n",
        "SELECT anyIf(node, ready), quantilesExactOrNull(0.5)(toUnixTimestamp(ts)) FROM nodes WHERE node LIKE 'n%'",
        "SELECT * EXCEPT ts APPLY toString FROM (SELECT node, ts FROM nodes)",
        "SELECT node, [1, 2][1], (1, 2).1 FROM nodes",
        "SELECT node, arrayMap(x -> x + 1, [1]), toDate('2026-11-21') + INTERVAL 1 DAY FROM nodes",
        "SELECT node, row_number() OVER (PARTITION BY node ORDER BY ts ASC ROWS UNBOUNDED PRECEDING) FROM nodes",
        "SELECT node FROM nodes ANY LEFT JOIN (SELECT 'n1' AS node, 2 AS b) AS other USING (node) LIMIT 1 BY node",
        "SELECT name FROM (SELECT 'n1' AS name UNION ALL SELECT name FROM system.columns) ORDER BY name = 'n1' DESC",
    ],
)
def test_a_question_is_answered(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {"node": "n1"}).rows[0][0] == "n1"


@pytest.mark.parametrize(
    "statement", ["SHOW TABLES", "DESCRIBE TABLE nodes", "EXPLAIN SELECT 1", "SHOW CREATE TABLE nodes"]
)
def test_the_schema_is_shown(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {}).rows


@pytest.mark.parametrize(
    "statement",
    [
        *(f"SELECT * FROM system.{table} LIMIT 100000" for table in sorted(SYSTEM_TABLES)),
        *("SHOW TABLES", "SHOW FULL TABLES", "SHOW DATABASES", "SHOW CREATE TABLE nodes", "SHOW COLUMNS FROM nodes"),
        *("SHOW INDEX FROM nodes", "SHOW CREATE DATABASE default", "SHOW TABLE nodes", "DESCRIBE TABLE nodes"),
        *("EXPLAIN SELECT * FROM nodes", "EXPLAIN PLAN json = 1, actions = 1 SELECT * FROM nodes"),
        *("EXPLAIN indexes = 1 SELECT * FROM nodes WHERE node = 'n1'", "EXPLAIN ESTIMATE SELECT * FROM nodes"),
        *(
            "SELECT _disk_name, _part, * FROM nodes",
            "SELECT throwIf(1), * FROM nodes",
            "SELECT toUInt8(node) FROM nodes",
            "SELECT node.x FROM nodes",
        ),
    ],
)
def test_no_answer_or_refusal_shows_a_path_of_the_machine(reader: Database, folder: Path, statement: str) -> None:
    try:
        shown = str(ask(reader, statement, {}).rows)
    except QueryFailed as refusal:
        shown = str(refusal)
    assert str(folder.parent) not in shown
    assert "/store/" not in shown


PARAMETERS = {
    "reads": ("SELECT '%(x)s' AS a -- {x :", {"x": ",file($${folder}/secret$$) AS b,"}),
    "writes": (
        "SELECT '%(x)s{folder}/out%(y)s' -- {x : {y :",
        {"x": ", $$pwned$$ AS b INTO OUTFILE ", "y": " -- "},
    ),
    "lifts": ("SELECT '%(x)s' AS a -- {x :", {"x": ", 1 FROM numbers(3) SETTINGS max_execution_time=1000 -- "}),
    "connects": ("SELECT '%(x)s' AS a -- {x :", {"x": ", 1 FROM url($${url}$$,CSV,$$a String$$) -- "}),
    "without a placeholder": ("SELECT '%(x)s' AS a", {"x": ",file($${folder}/secret$$) AS b,'"}),
    "a placeholder of another name": (
        "SELECT '%(x)s' || {y:String} AS a",
        {"x": ",file($${folder}/secret$$) AS b,'", "y": "1"},
    ),
    "a name of Unicode": ("SELECT '%(é)s' -- {é :String}", {"é": ",file($${folder}/secret$$) AS b,'"}),
    "a buffer's name": ("SELECT '$x$' -- {$x$:String}", {"$x$": "',file($${folder}/secret$$) AS b,'"}),
    "a name that is a pattern": ("SELECT '%(x|y)s' -- {x :", {"x|y": ",file($${folder}/secret$$) AS b,"}),
    "an identifier": ("SELECT {f:Identifier} FROM {t:Identifier}", {"f": "name", "t": "system.users"}),
    "a type that ends early": ("SELECT {x:String} {y:Array(String)}", {"x": "1", "y": "['%(x)s']"}),
}


@pytest.mark.parametrize("limits", [None, Limits(rows=3, seconds=1, memory_bytes=64 << 20, answer_bytes=1 << 20)])
@pytest.mark.parametrize("attack", PARAMETERS)
def test_a_parameter_never_becomes_part_of_the_statement(
    reader: Database, folder: Path, listener: socket.socket, attack: str, limits: Limits | None
) -> None:
    def filled(text: str) -> str:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        return text.replace("{folder}", str(folder.parent)).replace("{url}", url)

    sql, given = PARAMETERS[attack]
    try:
        rows = ask(reader, filled(sql), {name: filled(value) for name, value in given.items()}, limits).rows
    except QueryFailed as refusal:
        rows = [(str(refusal),)]
    assert SECRET not in str(rows)
    assert len(rows) == len(rows[0]) == 1
    assert not (folder.parent / "out").exists()
    with pytest.raises(BlockingIOError):
        listener.accept()


SMALL = Limits(rows=3, seconds=1, memory_bytes=64 << 20, answer_bytes=1 << 20)


def test_a_bounded_answer_has_one_row_more_than_may_be_shown(reader: Database) -> None:
    assert len(ask(reader, "SELECT number FROM numbers(9)", {}, SMALL).rows) == SMALL.rows + 1
    assert len(ask(reader, "SELECT number FROM numbers(2)", {}, SMALL).rows) == 2
    assert len(run(reader, saved_query("nodes"), {}, SMALL).rows) == 1


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("SELECT count() FROM numbers(1000000000000)", "TIMEOUT_EXCEEDED"),
        ("SELECT count() FROM numbers(1000000000000) WHERE cityHash64(number) = 1", "TIMEOUT_EXCEEDED"),
        ("SELECT length(groupArray(number)) FROM numbers(100000000)", "MEMORY_LIMIT_EXCEEDED"),
    ],
)
def test_a_bounded_question_ends_at_its_limits(reader: Database, statement: str, why: str) -> None:
    with pytest.raises(QueryFailed, match=why) as refusal:
        ask(reader, statement, {}, SMALL)
    assert "/" not in str(refusal.value)
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
    assert reader.query("SELECT getSetting('final'), currentDatabase()").rows == [(True, "default")]


@pytest.mark.parametrize(
    "statement", ["SHOW TABLES", "DESCRIBE TABLE nodes", "EXPLAIN SELECT 1", "SELECT 'SETTINGS'"]
)
def test_what_only_reads_is_answered_within_limits(reader: Database, statement: str) -> None:
    assert ask(reader, statement, {}, SMALL).rows
