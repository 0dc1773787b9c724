"""The database that `make demo` leaves: both recordings, replayed once in a session."""

from pathlib import Path

import pytest

from components.command import succeeds
from paths import LATE_JOINERS, NODE_PRESSURE


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To read only: many tests ask it. No process has it open."""
    folder = tmp_path_factory.mktemp("demo") / "leadsman-db"
    succeeds("replay", "-q", NODE_PRESSURE, LATE_JOINERS, db=folder)
    return folder
