"""A migrated embedded database, empty for each test: one engine a process, whose tables are emptied after each."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from sql.database import engine
from sql.database.dsn import Embedded
from sql.database.open import Database, connect
from sql.database.quoting import quoted
from sql.schema.migrate import migrate

EmptyDatabase: TypeAlias = Callable[[], AbstractContextManager[Database]]
UNMARKED = "this test opens the embedded engine: mark it `engine`, so that `make quick` can do without"


class SharedEngine:
    """The engine of the tests that want an empty database. It is closed when another folder is opened here."""

    def __init__(self) -> None:
        self.busy = False
        self.allowed = True
        self._keeper: Database | None = None
        self._schema: Mapping[str, int] = {}
        self._migrations = 0

    def open(self, migrated: Path, folder: Path) -> None:
        """Have it run over a copy of the migrated folder; nothing where it does."""
        if self._keeper is None:
            if not folder.exists():
                shutil.copytree(migrated, folder, symlinks=True)
            self._keeper = connect(f"chdb://{folder}")
            self._schema = _schema(folder)
            self._migrations = _filled(self._keeper)["schema_migrations"]

    def empty(self, folder: Path) -> None:
        """Leave no row. A schema that a test changed goes with its folder."""
        assert self._keeper is not None
        filled = dict(_filled(self._keeper))
        if filled.pop("schema_migrations", 0) != self._migrations or _schema(folder) != self._schema:
            self.close()
            shutil.rmtree(folder)
            return
        for table in filled:
            self._keeper.command(f"TRUNCATE TABLE {quoted(table)}")

    def make_way(self, target: Embedded) -> None:
        """A process has one folder open; that of no test gives way to the one that is wanted."""
        self.refuse_unmarked()
        if not self.busy and self._keeper is not None and str(target) != str(self._keeper):
            self.close()

    def refuse_unmarked(self) -> None:
        """Fail a test of `make quick` that opens an engine, here or in another process."""
        if not self.allowed:
            pytest.fail(UNMARKED)

    def close(self) -> None:
        if self._keeper is not None:
            self._keeper.close()
            self._keeper = None


SHARED = SharedEngine()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    SHARED.allowed = item.get_closest_marker("engine") is not None


@pytest.fixture(scope="session", autouse=True)
def _shared_engine() -> Iterator[None]:
    """Every opening of an engine in this process asks the shared one first."""
    load = engine.load

    def loading(target: Embedded) -> None:
        SHARED.make_way(target)
        load(target)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "load", loading)
        yield
        SHARED.close()


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a migrated database that no one has open; copy it."""
    folder = tmp_path_factory.mktemp("migrated") / "db"
    with connect(f"chdb://{folder}") as db:
        migrate(db)
    return folder


@pytest.fixture(scope="session")
def empty_database(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> EmptyDatabase:
    """For a fixture of several tests: `with empty_database() as database`, closed before any of them begins."""
    folder = tmp_path_factory.mktemp("shared") / "db"

    @contextmanager
    def opened() -> Iterator[Database]:
        SHARED.open(migrated_folder, folder)
        SHARED.busy = True
        try:
            with connect(f"chdb://{folder}") as db:
                yield db
        finally:
            SHARED.empty(folder)
            SHARED.busy = False

    return opened


@pytest.fixture
def database(empty_database: EmptyDatabase) -> Iterator[Database]:
    """An empty migrated database. No other embedded database can be open in a test that has it."""
    with empty_database() as db:
        yield db


def _filled(db: Database) -> dict[str, int]:
    """How many rows each table has that has any."""
    sql = "SELECT name, total_rows FROM system.tables WHERE database = currentDatabase() AND total_rows > 0"
    return dict(db.query(sql).rows)


def _schema(folder: Path) -> dict[str, int]:
    """When each table, view and database was defined: a file each."""
    databases = [each for each in (folder / "metadata").iterdir() if each.is_dir()]
    return {str(file): file.stat().st_mtime_ns for each in databases for file in each.iterdir()}
