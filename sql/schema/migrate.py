"""Migrations: append-only, one statement a file, numbered without gaps; and views, replaced at every start.

Several processes may migrate at once: every statement can be repeated.
"""

import hashlib
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from sql.database.errors import MigrationChanged, MigrationMissing, SchemaMissing, SchemaNewer, SchemaOlder
from sql.database.open import Database
from sql.schema.cluster import check_cluster
from sql.schema.retention import begin_retention
from sql.schema.selectors import MEETS
from sql.schema.view_comments import comment_views

MIGRATIONS: Final = Path(__file__).parent / "migrations"
VIEWS: Final = Path(__file__).parent / "views"
_BOOKKEEPING: Final = """
CREATE TABLE IF NOT EXISTS schema_migrations
(
    version UInt32 COMMENT 'Number of the migration',
    name String COMMENT 'Name of its file',
    checksum String COMMENT 'SHA-256 of its text',
    applied_at DateTime64(6, 'UTC') COMMENT 'When it was applied',
    leadsman_version String COMMENT 'Version of Leadsman that applied it'
)
ENGINE = ReplacingMergeTree
ORDER BY version
COMMENT 'Migrations that were applied here'
"""


_OF_EACH: Final = "-- of each: "


class Migration(NamedTuple):
    version: int
    name: str
    """The file's name without its ending, as `0001_create_nodes`."""
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def tables(self) -> list[str]:
        """Those that it creates or changes: its first line may name several, and it is one statement for each."""
        first = self.sql.partition("\n")[0]
        each = first.removeprefix(_OF_EACH).split() if first.startswith(_OF_EACH) else []
        return each or [self.name.partition("_create_")[2]]

    @property
    def statements(self) -> list[str]:
        return [self.sql.replace("{each}", table) for table in self.tables]


class _Applied(NamedTuple):
    name: str
    checksum: str


def migrate(db: Database, folder: Path = MIGRATIONS) -> list[str]:
    """Applies what is new, in order, and returns the names of that; then replaces the views.

    Raises SchemaNewer, MigrationChanged or MigrationMissing, each with the migration's name, before it changes
    anything.
    """
    ours = load_migrations(folder)
    check_cluster(db)
    db.define(_BOOKKEEPING)
    applied = _applied(db)
    _check(ours, applied, str(db))
    new = [migration for migration in ours if migration.version not in applied]
    for migration in new:
        for statement in migration.statements:
            db.define(statement)
        if "landed_at" in migration.sql:
            begin_retention(db, migration.tables)
        _record(db, migration)
    views = load_views()
    for view in views:
        db.define(view)
    comment_views(db, views)
    return [migration.name for migration in new]


def check_migrated(db: Database, folder: Path = MIGRATIONS) -> None:
    """Raises SchemaOlder where the database lacks a migration, and what `migrate` raises."""
    ours = load_migrations(folder)
    if not db.query(
        "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'schema_migrations'"
    ).rows[0][0]:
        raise SchemaMissing(f"{db}: Leadsman has no tables there yet. Run leadsman replay or leadsman migrate")
    check_cluster(db)
    applied = _applied(db)
    _check(ours, applied, str(db))
    missing = [migration.name for migration in ours if migration.version not in applied]
    if missing:
        raise SchemaOlder(f"{db}: migration {missing[0]} was not applied here yet. Run leadsman migrate --db on it")


def load_migrations(folder: Path = MIGRATIONS) -> list[Migration]:
    """All migrations of a folder in order. Raises MigrationMissing where a number is missing or used twice."""
    files = sorted(folder.glob("*.sql"))
    for number, file in enumerate(files, start=1):
        if not file.name.startswith(f"{number:04d}_"):
            raise MigrationMissing(
                f"migration {number:04d} is missing from {folder}: {file.name} is in its place. Reinstall Leadsman"
            )
    return [Migration(number, file.stem, file.read_text("utf-8")) for number, file in enumerate(files, start=1)]


def load_views() -> list[str]:
    """The statement of every view, each after those it reads."""
    views = {file.stem: file.read_text("utf-8").replace("{meets}", MEETS) for file in sorted(VIEWS.glob("*.sql"))}
    ordered: dict[str, str] = {}
    while views:
        ready = [name for name, text in views.items() if not _reads(text) & (views.keys() - {name})]
        if not ready:
            raise MigrationMissing(f"views read each other in a circle: {', '.join(views)}. Reinstall Leadsman")
        ordered |= {name: views.pop(name) for name in ready}
    return list(ordered.values())


def _reads(statement: str) -> set[str]:
    words = statement.split()
    return {after.rstrip(")") for before, after in pairwise(words) if before in {"FROM", "JOIN"}}


def _applied(db: Database) -> dict[int, _Applied]:
    found = db.query("SELECT version, name, checksum FROM schema_migrations ORDER BY version")
    return {row[0]: _Applied(row[1], row[2]) for row in found.rows}


def _check(ours: list[Migration], applied: dict[int, _Applied], where: str) -> None:
    known = {migration.version: migration for migration in ours}
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
                f"{where}: migration {there.name} was applied here with another text. "
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
            "leadsman": _leadsman_version(),
        },
    )


def _leadsman_version() -> str:
    try:
        return version("leadsman")
    except PackageNotFoundError:
        return "unknown"
