"""Migrations, retention and digests of an embedded database."""

import random
import re
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from components.database import asked_of
from components.rows import T0, row, store, store_samples, summary
from generate.tables import INNER
from sql.database.errors import (
    DatabaseError,
    MigrationChanged,
    MigrationMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
)
from sql.database.open import Database, connect
from sql.landing.batches import SCHEMAS
from sql.questions.digest import TableDigest, digest
from sql.schema.migrate import MIGRATIONS, check_migrated, leadsman_version, load_migrations, migrate
from sql.schema.retention import (
    KEPT,
    KEPT_FOR_EVER,
    RAW_TABLES,
    ROLLUP_TABLES,
    RetentionGroup,
    keep,
    retention_of,
    with_retention,
)
from sql.schema.views import VIEWS, load_views, replace_views
from streams.fold.findings import DeadLetter, Eviction, NodeEvent, NodeRow

LATER = f"{len(load_migrations()) + 1:04d}_create_extra"
EVERY_KEPT = [table for kept in KEPT for table in kept.tables]
CLICKHOUSE_TYPES = {
    "string": {"String", "LowCardinality(String)"},
    "int64": {"Int64"},
    "double": {"Float64"},
    "bool": {"UInt8"},
    "timestamp[us, tz=UTC]": {"DateTime64(6, 'UTC')"},
    "list<item: string>": {"Array(String)"},
    "list<item: int64>": {"Array(Int64)", "Array(UInt16)"},
    "map<string, int64>": {"Map(String, Int64)", "Map(String, UInt32)"},
    "map<string, string>": {"Map(String, String)", "Map(LowCardinality(String), String)"},
    "map<string, double>": {"Map(String, Float64)"},
    "map<string, timestamp[us, tz=UTC]>": {"Map(LowCardinality(String), DateTime64(6, 'UTC'))"},
}


@pytest.fixture
def migrations(tmp_path: Path) -> Path:
    """A copy of the migrations with a later one, to be changed."""
    copied = Path(shutil.copytree(MIGRATIONS, tmp_path / "migrations"))
    (copied / f"{LATER}.sql").write_text("CREATE TABLE IF NOT EXISTS extra (a UInt8) ENGINE = MergeTree ORDER BY a")
    return copied


def columns(db: Database) -> dict[str, list[tuple[Any, ...]]]:
    """The name, type, comment and kind of default of each column, by table."""
    sql = """SELECT table, name, type, comment, default_kind FROM system.columns
        WHERE database = currentDatabase() ORDER BY table, position"""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, *of in db.query(sql).rows:
        found.setdefault(table, []).append(tuple(of))
    return found


def test_a_migrated_table_has_the_columns_of_its_row_type(database: Database) -> None:
    found = columns(database)
    for table, schema in SCHEMAS.items():
        stored = [(name, kind) for name, kind, _, default in found[table] if default != "MATERIALIZED"]
        assert [name for name, _ in stored] == schema.names, table
        for field, (name, kind) in zip(schema, stored, strict=True):
            nullable = re.fullmatch(r"Nullable\((.+)\)", kind)
            assert field.nullable == bool(nullable), (table, name)
            assert (nullable.group(1) if nullable else kind) in CLICKHOUSE_TYPES[str(field.type)], (table, name)


def test_a_table_with_a_retention_says_when_a_row_was_stored(database: Database) -> None:
    found = columns(database)
    for table in EVERY_KEPT:
        assert "landed_at" in [name for name, *_ in found[table]], table


def test_every_column_says_what_it_means(database: Database) -> None:
    found = columns(database)
    for table in (*SCHEMAS, *ROLLUP_TABLES, *INNER):
        silent = [name for name, _, comment, _ in found[table] if not comment]
        assert silent == [], table


def test_every_table_that_takes_inserts_remembers_them(database: Database) -> None:
    # Without the window, and on targets of materialized views, a retried insert doubles (delivery.md#landing).
    found = database.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree' "
        "AND name != 'schema_migrations' AND NOT engine_full LIKE '%non_replicated_deduplication_window = 10000%'"
    )
    assert found.rows == []


def test_a_key_has_the_time_that_makes_a_partition_because_rows_of_two_partitions_never_replace_each_other(
    database: Database,
) -> None:
    keys = database.query("SELECT name, partition_key, sorting_key FROM system.tables WHERE partition_key != ''").rows
    unrelated = {
        name for name, made_of, key in keys if not {*re.findall(r"\b\w+(?=\))", made_of)} <= {*key.split(", ")}
    }
    assert unrelated == set()


def test_all_tables_carry_the_cluster_first() -> None:
    assert {schema.names[0] for schema in SCHEMAS.values()} == {"cluster"}


def test_migrations_are_numbered_without_gaps_and_one_statement_each() -> None:
    for number, migration in enumerate(load_migrations(), start=1):
        assert migration.version == number
        assert re.fullmatch(rf"{number:04d}_[a-z0-9_]+", migration.name)
        assert migration.name.startswith("0001_") or len(migration.statements) == 1
        for statement in migration.statements:
            assert ";" not in re.sub(r"'[^']*'", "", statement)


def test_the_baseline_has_a_file_for_each_table_and_feed(database: Database) -> None:
    stored = database.query(
        "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View' ORDER BY name"
    )
    made = [re.findall(r"IF NOT EXISTS (\w+)", statement)[0] for statement in load_migrations()[0].statements]
    assert [(name,) for name in sorted(made)] == list(stored.rows)
    assert made == [
        file.stem for file in sorted((MIGRATIONS / "0001_baseline").iterdir(), key=lambda file: file.stem)
    ]


def test_migrating_again_changes_nothing(database: Database) -> None:
    before = database.query("SELECT * FROM schema_migrations ORDER BY version").rows
    tables = database.query("SELECT name, uuid, create_table_query FROM system.tables WHERE engine LIKE '%MergeTree'")
    store(database, row(NodeRow, node="n"))
    assert migrate(database) == []
    assert database.query("SELECT * FROM schema_migrations ORDER BY version").rows == before
    assert sorted(
        database.query("SELECT name, uuid, create_table_query FROM system.tables WHERE engine LIKE '%MergeTree'").rows
    ) == sorted(tables.rows)
    assert database.query("SELECT node FROM nodes").rows == [("n",)]


def test_a_fresh_database_gets_every_migration_by_name(tmp_path: Path) -> None:
    with connect(f"chdb://{tmp_path}/db") as db:
        assert migrate(db) == [path.stem for path in sorted(MIGRATIONS.glob("[0-9]*"))]


def test_a_new_migration_is_applied_alone(database: Database, migrations: Path) -> None:
    assert migrate(database, migrations) == [LATER]
    assert database.query("SELECT count() FROM extra").rows == [(0,)]
    with pytest.raises(SchemaNewer, match=LATER):
        migrate(database)


def test_a_start_that_was_cut_off_is_finished_by_the_next(database: Database) -> None:
    store(database, row(NodeRow, node="n"))
    database.command("TRUNCATE TABLE schema_migrations")
    database.command("DROP TABLE alerts")
    assert migrate(database) == [migration.name for migration in load_migrations()]
    assert database.query("SELECT count() FROM alerts").rows == [(0,)]
    assert database.query("SELECT node FROM nodes").rows == [("n",)]


def test_a_database_from_before_the_baseline_is_refused_and_not_touched(database: Database) -> None:
    # As 76 numbered migrations left it.
    store(database, row(NodeRow, node="n"))
    database.command("TRUNCATE TABLE schema_migrations")
    database.command(
        "INSERT INTO schema_migrations SELECT number + 1, concat('0001_create_', toString(number)), 'x', "
        "now64(6), '0' FROM numbers(76)"
    )
    database.command("DROP TABLE schema_views")
    database.command("CREATE OR REPLACE VIEW story AS SELECT 1 AS old")
    reported = f"replay CAPTURE --db {re.escape(str(database))}-new$"
    everything = "SELECT name, create_table_query, total_rows FROM system.tables WHERE database = currentDatabase()"
    before = sorted(database.query(everything).rows)
    for refused in (migrate, check_migrated):
        with pytest.raises(SchemaUnreleased, match=reported):
            refused(database)
    assert sorted(database.query(everything).rows) == before


def test_a_baseline_of_another_text_is_refused_with_the_way_out(database: Database, migrations: Path) -> None:
    changed = migrations / "0001_baseline" / "nodes.sql"
    changed.write_text(changed.read_text() + "\n")
    with pytest.raises(SchemaUnreleased, match="leadsman replay CAPTURE"):
        migrate(database, migrations)


def test_a_changed_migration_is_refused_by_name(database: Database, migrations: Path) -> None:
    migrate(database, migrations)
    changed = migrations / f"{LATER}.sql"
    changed.write_text(changed.read_text() + "\n")
    with pytest.raises(MigrationChanged, match=LATER):
        migrate(database, migrations)


def test_a_missing_migration_is_refused_by_name(database: Database, migrations: Path) -> None:
    migrate(database, migrations)
    (migrations / f"{LATER}.sql").rename(migrations / f"{LATER}_otherwise.sql")
    with pytest.raises(MigrationMissing, match=LATER):
        migrate(database, migrations)


def test_a_gap_in_the_numbers_is_refused(database: Database, migrations: Path) -> None:
    shutil.rmtree(migrations / "0001_baseline")
    with pytest.raises(MigrationMissing, match="0001"):
        migrate(database, migrations)


def test_a_number_used_twice_is_refused(database: Database, migrations: Path) -> None:
    (migrations / f"{LATER}_again.sql").write_text("SELECT 1")
    with pytest.raises(MigrationMissing, match=f"{len(load_migrations()) + 2:04d}"):
        migrate(database, migrations)


def test_a_newer_schema_is_refused_by_name(database: Database) -> None:
    database.command("INSERT INTO schema_migrations VALUES (9001, '9001_create_future', 'x', now64(6), '9.9')")
    with pytest.raises(SchemaNewer, match="9001_create_future"):
        migrate(database)


def test_views_are_replaced_and_come_after_what_they_read(database: Database) -> None:
    database.command("CREATE OR REPLACE VIEW admission_storms AS SELECT 1 AS old")
    migrate(database)
    assert "pods" in database.query("SELECT * FROM admission_storms").column_names
    assert len(load_views()) == len(list(VIEWS.glob("*.sql")))


def test_a_view_is_replaced_only_where_it_differs(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.command("CREATE OR REPLACE VIEW admission_storms AS SELECT 1 AS old")
    database.command("DROP VIEW story")
    defined: list[str] = []
    define = Database.define

    def recorded(db: Database, sql: str) -> None:
        defined.append(sql)
        define(db, sql)

    monkeypatch.setattr(Database, "define", recorded)
    assert migrate(database) == ["1 view"], "the other one was not there"
    assert [re.findall(r"VIEW (?:IF NOT EXISTS )?(\w+)", sql)[0] for sql in defined] == ["admission_storms", "story"]
    defined.clear()
    migrate(database)
    assert defined == []
    with connect(f"{database}?database=my-own") as another:
        migrate(another)
        assert defined
        defined.clear()
        another.command("CREATE OR REPLACE VIEW story AS SELECT 1 AS old")
        migrate(another)
    assert len(defined) == 1


def test_a_cluster_gets_every_view_again_and_counts_none_that_is_as_it_was(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    defined: list[str] = []
    monkeypatch.setattr(Database, "define", lambda _, sql: defined.append(sql))
    monkeypatch.setattr(database, "cluster", "prod")
    assert replace_views(database, leadsman_version()) == 0
    assert len(defined) == len(load_views())


def test_a_start_asks_the_embedded_engine_for_no_text_of_a_view(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It would write each anew from what it has parsed: a tenth of a second.
    asked = asked_of(monkeypatch)
    migrate(database)
    assert asked
    assert not [sql for sql in asked if "create_table_query" in sql]


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept.name)
def test_a_server_makes_a_table_with_its_retention(kept: RetentionGroup) -> None:
    statements = [statement for migration in load_migrations() for statement in migration.statements]
    for table in kept.tables:
        (made,) = [
            sql for sql in statements if re.search(rf"^CREATE TABLE IF NOT EXISTS {table}$", sql, re.MULTILINE)
        ]
        assert f"\nTTL landed_at + toIntervalDay({kept.days})\nSETTINGS" in with_retention(made)


def test_what_is_kept_for_ever_and_what_is_no_table_get_no_retention() -> None:
    for statement in (sql for migration in load_migrations() for sql in migration.statements):
        if not any(f"CREATE TABLE IF NOT EXISTS {table}\n" in statement for table in EVERY_KEPT):
            assert with_retention(statement) == statement


def ttls(db: Database) -> dict[str, str]:
    """The TTL of each table."""
    sql = """SELECT name, extract(engine_full, 'TTL (.+?) SETTINGS') FROM system.tables
        WHERE database = currentDatabase()"""
    return dict(db.query(sql).rows)


def test_nothing_expires_in_the_embedded_database(database: Database) -> None:
    found = ttls(database)
    assert {found[table] for table in EVERY_KEPT} == {""}


def test_every_table_has_one_retention_or_is_kept_for_ever() -> None:
    assert sorted([*EVERY_KEPT, *KEPT_FOR_EVER]) == sorted({*SCHEMAS, *ROLLUP_TABLES})


def test_retention_is_changed_and_lifted(database: Database) -> None:
    for days in ((7, 90, 90, 365), (3, 30, None, 1), (None, None, None, None), (None, 1, 2, None)):
        for kept, number in zip(KEPT, days, strict=True):
            keep(database, kept.tables, number)
        found = ttls(database)
        for kept, number in zip(KEPT, days, strict=True):
            ttl = f"landed_at + toIntervalDay({number})" if number else ""
            assert {found[table] for table in kept.tables} == {ttl}
            assert {retention_of(database, table) for table in kept.tables} == {number}


@pytest.mark.parametrize("days", [0, -1])
def test_a_retention_of_nothing_is_refused(database: Database, days: int) -> None:
    with pytest.raises(DatabaseError, match="keeps nothing"):
        keep(database, RAW_TABLES, days)


def test_an_old_capture_stays_under_retention(database: Database) -> None:
    keep(database, EVERY_KEPT, 1)
    store_samples(database, summary(T0 - timedelta(days=3000), "n"))
    store(database, row(NodeEvent, ts=T0 - timedelta(days=3000), node="n"))
    for table in ("node_samples", "node_samples_5m", "node_events"):
        database.command(f"OPTIMIZE TABLE {table} FINAL")
        assert database.query(f"SELECT node FROM {table}").rows == [("n",)]


def of_table(found: list[TableDigest], table: str) -> TableDigest:
    return next(one for one in found if one.table == table)


def some_rows() -> list[NodeRow]:
    rng = random.Random(1)  # noqa: S311 - cases, not secrets
    return [
        row(NodeRow, ts=T0 + timedelta(seconds=i), node=f"n{i % 5}", capacity={"cpu": rng.randrange(9), "memory": i})
        for i in range(50)
    ]


def test_a_digest_covers_every_stored_table(database: Database) -> None:
    assert [one.table for one in digest(database)] == sorted(SCHEMAS)


def test_a_digest_does_not_depend_on_order_pieces_or_doubles(database: Database) -> None:
    rows = some_rows()
    store(database, *rows)
    whole = digest(database)
    database.command("TRUNCATE TABLE nodes")
    shuffled = [*rows, *rows[:20]]
    random.Random(2).shuffle(shuffled)  # noqa: S311 - cases, not secrets
    for start in range(0, len(shuffled), 7):
        store(database, *shuffled[start : start + 7])
    assert digest(database) == whole
    assert of_table(whole, "nodes").rows == 50


def test_a_digest_does_not_depend_on_the_order_of_a_maps_keys(database: Database) -> None:
    found = []
    for capacity in ("map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"):
        database.command("TRUNCATE TABLE nodes")
        database.command(
            f"INSERT INTO nodes (cluster, ts, node, capacity) VALUES ('c', '2020-01-01', 'n', {capacity})"
        )
        found.append(of_table(digest(database), "nodes"))
    assert found[0] == found[1]


CHANGES: list[dict[str, Any]] = [
    {"uid": "x"},
    {"ready": True},
    {"ready": False},
    {"created_at": T0},
    {"capacity": {"cpu": 2}},
    {"capacity": {}},
    {"taints": ["a", "b"]},
    {"taints": ["a, b"]},
    {"deleted": True},
]


def test_every_value_changes_the_digest(database: Database) -> None:
    plain: dict[str, Any] = {"node": "n", "capacity": {"cpu": 1}}
    hashes = set()
    for change in ({}, *CHANGES):
        database.command("TRUNCATE TABLE nodes")
        store(database, row(NodeRow, **(plain | change)))
        hashes.add(of_table(digest(database), "nodes").hash)
    assert len(hashes) == 1 + len(CHANGES)


def test_a_digest_knows_null_from_zero_and_from_its_name(database: Database) -> None:
    hashes = set()
    for threshold, message in ((None, ""), (0, ""), (None, "NULL"), (None, "\\N")):
        database.command("TRUNCATE TABLE evictions")
        store(database, row(Eviction, uid="u", threshold=threshold, message=message))
        hashes.add(of_table(digest(database), "evictions").hash)
    assert len(hashes) == 4


def test_where_a_file_lay_is_not_in_the_digest_of_its_dead_letters(database: Database) -> None:
    found = []
    for source in ("/a/file", "/b/file"):
        database.command("TRUNCATE TABLE dead_letters")
        store(database, row(DeadLetter, source=source, position=source, payload="x"))
        found.append(of_table(digest(database), "dead_letters"))
    assert found[0] == found[1]
    store(database, row(DeadLetter, source="/a/file", payload="y"))
    assert of_table(digest(database), "dead_letters").rows == 2


def test_the_same_bad_line_from_two_files_is_one_dead_letter(database: Database) -> None:
    store(database, row(DeadLetter, source="/a", payload="x"), row(DeadLetter, source="/b", payload="x"))
    store(database, row(DeadLetter, source="/c", payload="x"))
    assert of_table(digest(database), "dead_letters").rows == 1


@pytest.mark.parametrize(
    ("by", "reported"),
    [("0.0.9", r"not those of this Leadsman \d[\w.]*, but of 0\.0\.9\. "), (None, r"not those of this Leadsman\. ")],
)
def test_views_of_an_older_release_are_refused_with_the_command(
    database: Database, by: str | None, reported: str
) -> None:
    _made_otherwise(database, by)
    before = _story(database)
    with pytest.raises(SchemaOlder, match=f"{reported}Run leadsman migrate --db {re.escape(str(database))}$"):
        check_migrated(database)
    assert _story(database) == before
    migrate(database)
    check_migrated(database)


def test_a_view_that_is_missing_is_refused(database: Database) -> None:
    database.command("ALTER TABLE schema_views DELETE WHERE name = 'story' SETTINGS mutations_sync = 2")
    with pytest.raises(SchemaOlder, match="not those of this Leadsman"):
        check_migrated(database)


def test_views_of_a_newer_release_are_taken_as_they_are(database: Database) -> None:
    _made_otherwise(database, "99.10")
    check_migrated(database)


def _made_otherwise(database: Database, by: str | None) -> None:
    """Replace a view as a release of that version does; None is another build of this one."""
    database.command("CREATE OR REPLACE VIEW story AS SELECT 1 AS old")
    database.command(
        "INSERT INTO schema_views SELECT name, 'another', stored, now64(6, 'UTC'), "
        "if({by:String} = '', leadsman_version, {by:String}) FROM schema_views WHERE name = 'story'",
        {"by": by or ""},
    )


def _story(database: Database) -> Any:
    tables = "SELECT create_table_query FROM system.tables WHERE database = currentDatabase() AND name = 'story'"
    return database.query(tables).rows, database.query("SELECT * FROM schema_views ORDER BY name").rows
