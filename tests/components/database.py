"""A migrated embedded database, empty for each test: one engine a process, whose tables are emptied after each."""

import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from clickhouse_connect.driver._chdbclient import ChdbClient
from clickhouse_connect.driver.query import TzSource

import sql.database.open
from sql.database import engine
from sql.database.dsn import Embedded, Target, parse_dsn
from sql.database.open import Database, Result, connect
from sql.database.replicated import quoted
from sql.schema.migrate import migrate

EmptyDatabase: TypeAlias = Callable[[], AbstractContextManager[Database]]
ENDING = {
    "components.Part",
    "os.fork",
    "os.posix_spawn",
    "shutil.copytree",
    "shutil.move",
    "shutil.rmtree",
    "subprocess.Popen",
}
"""Events of the interpreter: folders of others are no matter."""
UNMARKED = "this test opens the embedded engine: mark it `engine`, so that `make quick` can do without"


class KeptEngine:
    """The engine that a test opened: it stays open for the next one over the same folder.

    To start one takes fifteen times as long as another connection to it. It ends where this process opens another
    folder, copies or removes one, or starts a process, which may want that folder.
    """

    def __init__(self) -> None:
        self.allowed = True
        self._kept: AbstractContextManager[object] | None = None
        self._as: tuple[str, bool] | None = None

    def keep(self, target: Embedded, *, read_only: bool) -> None:
        """Hold the engine of a database that was opened."""
        if self._as != (str(target), read_only):
            self._kept, self._as = engine.started(target, read_only=read_only), (str(target), read_only)

    def close_others(self, target: Target, *, read_only: bool) -> None:
        """A process has one folder open, and in one way: what is kept gives way to another."""
        self.refuse_unmarked()
        if self._as != (str(target), read_only):
            self.close()

    def refuse_unmarked(self) -> None:
        """Fail a test of `make quick` that opens an engine, here or in another process."""
        if not self.allowed:
            pytest.fail(UNMARKED)

    def close(self) -> None:
        """Keep none, so that another process can have the folder."""
        kept, self._kept, self._as = self._kept, None, None
        if kept is not None:
            with kept:
                pass

    def audit(self, event: str, about: Sequence[object]) -> None:
        """Keep none for what is about to happen; a hook of `sys.addaudithook`."""
        if self._as is None or event not in ENDING:
            return
        folder = self._as[0].removeprefix("chdb://")
        paths = [os.fspath(each) for each in about if isinstance(each, str | os.PathLike)]
        related = any(folder.startswith(each) or each.startswith(folder) for each in paths)
        if related or not event.startswith("shutil."):
            self.close()


KEPT = KeptEngine()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    KEPT.allowed = item.get_closest_marker("engine") is not None


@pytest.fixture(scope="session", autouse=True)
def _asked_before_an_engine_starts() -> Iterator[None]:
    opened = sql.database.open._opened

    def opening(target: Target, *, read_only: bool) -> Database:
        if not isinstance(target, Embedded):
            return opened(target, read_only=read_only)
        KEPT.close_others(target, read_only=read_only)
        database = opened(target, read_only=read_only)
        KEPT.keep(target, read_only=read_only)
        return database

    sys.addaudithook(KEPT.audit)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sql.database.open, "_opened", opening)
        patched.setattr(ChdbClient, "_init_common_settings", _init_like_the_first())
        yield
        KEPT.close()


def _init_like_the_first() -> Callable[[ChdbClient, TzSource], None]:
    """Return how a client begins: only the first asks for the engine's version and its 1,500 settings. They are those
    of the process, and to read them takes longer than the rest of opening a database.
    """
    init, found = ChdbClient._init_common_settings, dict[bool, Any]()

    def begun(client: ChdbClient, of: TzSource) -> None:
        known = found.get(writes := "readonly" not in (client._initial_settings or {}))
        if known is not None:
            client._apply_init_result(known)
            return
        apply = client._apply_init_result

        def keep(result: Any) -> None:
            found[writes] = result
            apply(result)

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(client, "_apply_init_result", keep)
            init(client, of)

    return begun


Once: TypeAlias = Callable[[str, Callable[[Path], object]], Path]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """Return `once(name, make)`: a copy for this process of a database's folder that the first process has made."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, half = shared / f"once-{name}", tmp_path_factory.mktemp(name) / "half"
        with (shared / f"once-{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.exists():
                make(half)
                KEPT.close()
                half.rename(folder)
        return Path(shutil.copytree(folder, half.with_name("db"), symlinks=True))

    return made


@pytest.fixture(scope="session")
def migrated_folder(once: Once) -> Path:
    """The folder of a migrated database that no one has open; copy it."""

    def make(folder: Path) -> None:
        with connect(f"chdb://{folder}") as db:
            migrate(db)

    return once("migrated", make)


@pytest.fixture(scope="session")
def empty_database(migrated_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> EmptyDatabase:
    """An empty database for a fixture of several tests: `with empty_database() as database`, closed before any of
    them begins.
    """
    folder = tmp_path_factory.mktemp("shared") / "db"
    target = parse_dsn(f"chdb://{folder}")
    assert isinstance(target, Embedded)
    migrations: dict[str, int] = {}

    @contextmanager
    def opened() -> Iterator[Database]:
        if not folder.exists():
            shutil.copytree(migrated_folder, folder, symlinks=True)
            engine.load(target, read_only=False)
            migrations.update(_filled(target))
        schema = _schema(folder)
        try:
            with connect(str(target)) as db:
                yield db
        finally:
            filled = _filled(target)
            _empty(target, filled.keys() - migrations.keys())
            if filled | migrations != filled or _schema(folder) != schema:
                KEPT.close()
                shutil.rmtree(folder)

    return opened


@pytest.fixture
def database(empty_database: EmptyDatabase) -> Iterator[Database]:
    """An empty migrated database. No other embedded database can be open in a test that has it."""
    with empty_database() as db:
        yield db


def asked_of(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets the text of each query from now on."""
    asked: list[str] = []
    query = Database.query

    def recorded(db: Database, sql: str, *more: Any, **named: Any) -> Result:
        asked.append(sql)
        return query(db, sql, *more, **named)

    monkeypatch.setattr(Database, "query", recorded)
    return asked


@contextmanager
def _handle(target: Embedded) -> Iterator[Any]:
    """Open the engine alone: a client takes twenty times as long."""
    KEPT.close_others(target, read_only=False)
    with engine.started(target, read_only=False) as handle:
        KEPT.keep(target, read_only=False)
        yield handle


def _filled(target: Embedded) -> dict[str, int]:
    """Return the number of rows of each table that has any: a migrated database only has those of the migrations."""
    sql = "SELECT name, total_rows FROM system.tables WHERE database = currentDatabase() AND total_rows > 0"
    with _handle(target) as handle:
        rows = handle.query(sql, "TabSeparated").bytes().decode().splitlines()
    return {name: int(rows) for name, rows in (each.split("\t") for each in rows)}


def _empty(target: Embedded, tables: Iterable[str]) -> None:
    with _handle(target) as handle:
        for table in tables:
            handle.query(f"TRUNCATE TABLE {quoted(table)}")


def _schema(folder: Path) -> dict[str, int]:
    """When each table, view and database was defined: a file each."""
    databases = list((folder / "metadata").iterdir())
    defined = (file for each in databases if each.is_dir() for file in each.iterdir())
    return {str(file): file.lstat().st_mtime_ns for file in (*databases, *defined)}
