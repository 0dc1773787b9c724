"""The database that `make demo` leaves: both captures, replayed once for all processes of a run."""

from pathlib import Path

import pytest

from components.command import succeeds
from components.database import Once
from paths import LATE_JOINERS, NODE_PRESSURE


@pytest.fixture(scope="session")
def demo_folder(once: Once) -> Path:
    """To read only: many tests ask it. No process has it open."""
    return once("demo", lambda folder: succeeds("replay", "-q", NODE_PRESSURE, LATE_JOINERS, db=folder))
