"""Applies migrations, which are numbered without gaps and append-only after the first, the baseline.

A migration is a file with one statement; the baseline is a folder with a file for each table. Several processes may
migrate at once, because every statement can be repeated.
"""

import hashlib
import re
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, NamedTuple

from common.amounts import counted
from common.text import argument
from sql.database.engine import check_room
from sql.database.errors import (
    DatabaseError,
    MigrationChanged,
    MigrationMissing,
    SchemaMissing,
    SchemaNewer,
    SchemaOlder,
    SchemaUnreleased,
)
from sql.database.open import Database
from sql.schema.retention import with_retention
from sql.schema.views import replace_views, versions_of_other_makers

_SHARDS = """
SELECT cluster, toUInt32(uniqExact(shard_num)), max(replica_num > 1 AND NOT internal_replication)
FROM system.clusters GROUP BY cluster ORDER BY cluster
"""
_OTHERS = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND match(engine, {engines:String}) ORDER BY name LIMIT 1
"""
_ALONE = "^(Replacing|Aggregating)?MergeTree$"
_NOT_SPREAD = "MergeTree$"
_SPREAD = "^Distributed$"


def check_cluster(db: Database) -> None:
    """Raise DatabaseError for an unknown cluster, for several shards without sharding, and for existing tables of
    another form, which CREATE TABLE IF NOT EXISTS would leave unchanged.
    """
    if db.embedded:
        return
    name = db.cluster
    if not db.sharded and (spread := _found(db, _SPREAD)):
        raise DatabaseError(
            f"{db}: the rows of the table {spread} are spread over shards. Add cluster=NAME&sharded=1 to the address"
        )
    if not name:
        return
    shards = {cluster: (count, writes_each) for cluster, count, writes_each in db.query(_SHARDS).rows}
    if name not in shards:
        known = ", ".join(shards) or "none"
        raise DatabaseError(f"{db}: the server knows no cluster {name!r}. It knows: {known}")
    count, writes_each_replica = shards[name]
    if db.sharded and writes_each_replica:
        raise DatabaseError(
            f"{db}: a row would be written to each replica of a shard, besides being replicated. Give the shards of "
            f"{name!r} <internal_replication>true</internal_replication>"
        )
    if count > 1 and not db.sharded:
        raise DatabaseError(
            f"{db}: the cluster {name!r} has {count} shards, and what is stored through one would be missing "
            "from the others. Add &sharded=1, or name a cluster that is the replicas of one shard"
        )
    if other := _found(db, _NOT_SPREAD if db.sharded else _ALONE):
        raise DatabaseError(
            f"{db}: the table {other} is there already and is not {'spread' if db.sharded else 'replicated'}. "
            "Name a new database, and copy the rows as docs/sql.md describes"
        )


def _found(db: Database, engines: str) -> str:
    found = db.query(_OTHERS, {"engines": engines}).rows
    return str(found[0][0]) if found else ""


MIGRATIONS: Final = Path(__file__).parent / "migrations"
BASELINE: Final = 1
"""Number of the migration that makes the tables of the first release."""


class Migration(NamedTuple):
    version: int
    name: str
    """The file's or folder's name without its ending, for example `0001_baseline`."""
    statements: tuple[str, ...]

    @property
    def checksum(self) -> str:
        return hashlib.sha256("".join(self.statements).encode()).hexdigest()


class _Applied(NamedTuple):
    name: str
    checksum: str


def migrate(db: Database, folder: Path = MIGRATIONS) -> list[str]:
    """Apply new migrations in order, then create or replace views that differ.

    Return what was applied: the names of migrations, and the number of replaced views (`3 views`). Raises
    SchemaUnreleased, SchemaNewer, MigrationChanged or MigrationMissing, each with the migration's name, or
    DatabaseError if the disk is nearly full, before it changes anything.
    """
    ours = load_migrations(folder)
    check_cluster(db)
    applied = _applied(db) if _is_migrated(db) else {}
    _check(ours, applied, str(db))
    if not db.embedded:  # its folder was checked when it was opened
        check_room(db)
    new = [migration for migration in ours if migration.version not in applied]
    with db.unsynced() if not applied else nullcontext():
        for migration in new:
            for statement in migration.statements:
                db.define(statement if db.embedded else with_retention(statement))
            _record(db, migration)
    replaced = replace_views(db, leadsman_version())
    return [*(migration.name for migration in new), *([counted(replaced, "view")] if replaced else [])]


def check_migrated(db: Database, folder: Path = MIGRATIONS) -> None:
    """Raise SchemaOlder if the database lacks a migration or a view of this version, and the errors of `migrate`.

    Views of a newer Leadsman are accepted as they are.
    """
    available = load_migrations(folder)
    if not _is_migrated(db):
        raise SchemaMissing(f"{db}: Leadsman has no tables there yet. Run leadsman replay or leadsman migrate")
    check_cluster(db)
    applied = _applied(db)
    _check(available, applied, str(db))
    missing = [migration.name for migration in available if migration.version not in applied]
    if missing:
        raise SchemaOlder(f"{db}: migration {missing[0]} was not applied here yet. Run {_command(db)}")
    ours = leadsman_version()
    if (by := sorted(versions_of_other_makers(db), key=_release)) and _release(by[-1]) <= _release(ours):
        older = "" if by[-1] in {"", ours} else f" {ours}, but of {by[-1]}"
        raise SchemaOlder(f"{db}: its views are not those of this Leadsman{older}. Run {_command(db)}")


def _command(db: Database) -> str:
    """Return the command that fixes it, without the password that a server's DSN may contain."""
    return f"leadsman migrate --db {argument(str(db)) if db.embedded else 'DSN'}"


def _release(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"[0-9]{1,9}", version)[:3]))


def load_migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """Return all migrations of a folder in order. Raises MigrationMissing if a number is missing or used twice."""
    paths = sorted(path for path in folder.iterdir() if path.is_dir() or path.suffix == ".sql")
    for number, path in enumerate(paths, start=1):
        if not path.name.startswith(f"{number:04d}_"):
            raise MigrationMissing(
                f"migration {number:04d} is missing from {folder}: {path.name} is in its place. Reinstall Leadsman"
            )
    return [Migration(number, path.stem, _statements(path)) for number, path in enumerate(paths, start=1)]


def _statements(path: Path) -> tuple[str, ...]:
    """Return the statements of a folder by name: a materialized view after the tables that it reads and writes."""
    files = sorted(path.glob("*.sql"), key=lambda file: file.stem) if path.is_dir() else [path]
    return tuple(file.read_text("utf-8") for file in files)


def _is_migrated(db: Database) -> bool:
    found = db.query(
        "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'"
    )
    return bool(found.rows[0][0])


def _applied(db: Database) -> dict[int, _Applied]:
    found = db.query("SELECT version, name, checksum FROM schema_migrations ORDER BY version")
    return {row[0]: _Applied(row[1], row[2]) for row in found.rows}


def _applied_as(migration: Migration) -> _Applied:
    return _Applied(migration.name, migration.checksum)


def _check(ours: list[Migration], applied: dict[int, _Applied], where: str) -> None:
    known = {migration.version: migration for migration in ours}
    baseline = known[BASELINE]
    if applied.get(BASELINE, _applied_as(baseline)) != _applied_as(baseline):
        raise SchemaUnreleased(
            f"{where}: a development version of Leadsman made this database, with other tables. "
            f"Recreate it from its capture: leadsman replay CAPTURE --db {where}-new"
        )
    for number, there in applied.items():
        if number not in known:
            raise SchemaNewer(
                f"{where}: migration {there.name} was applied by a newer Leadsman. "
                "Update Leadsman, or use another database"
            )
        if known[number].name != there.name:
            raise MigrationMissing(
                f"{where}: migration {there.name} was applied here and is missing now. "
                "Install the Leadsman that has it, or use another database"
            )
        if known[number].checksum != there.checksum:
            raise MigrationChanged(
                f"{where}: migration {there.name} was applied here with different text. "
                "Restore that file, or use another database"
            )


def _record(db: Database, migration: Migration) -> None:
    db.command(
        "INSERT INTO schema_migrations SELECT {version:UInt32}, {name:String}, {checksum:String}, now64(6, 'UTC'), "
        "{leadsman:String}",
        {
            "version": migration.version,
            "name": migration.name,
            "checksum": migration.checksum,
            "leadsman": leadsman_version(),
        },
    )


def leadsman_version() -> str:
    try:
        return version("leadsman")
    except PackageNotFoundError:
        return "unknown"
