"""A fresh migrated embedded database for each test, copied from one that was migrated once in a session."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sql.database.open import Database, connect
from sql.schema.migrate import migrate


@pytest.fixture(scope="session")
def migrated_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a migrated database that no one has open; copy it."""
    folder = tmp_path_factory.mktemp("migrated") / "db"
    with connect(f"chdb://{folder}") as db:
        migrate(db)
    return folder


@pytest.fixture
def database(migrated_folder: Path, tmp_path: Path) -> Iterator[Database]:
    """A fresh migrated database. No other embedded database can be open in a test that has it."""
    folder = tmp_path / "database"
    shutil.copytree(migrated_folder, folder, symlinks=True)
    with connect(f"chdb://{folder}") as db:
        yield db
