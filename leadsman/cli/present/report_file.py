"""Writes the report of `report` and `look` to a file."""

from datetime import UTC, datetime
from pathlib import Path

from common.private import open_private
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NO_SOURCE, fail
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.reading.settings import PageSettings
from leadsman.web.rendering.report import write_report
from sql.database.open import Database


def save_report(
    database: Database, file: Path, requested: RequestedRange, settings: PageSettings, nodes: int = options.NODES
) -> int:
    """Write the report for its owner alone; return its size in bytes. Exit if it cannot be written."""
    text = write_report(database, requested, datetime.now(UTC), nodes, settings.steps).encode()
    try:
        with open_private(file, "wb") as opened:
            opened.write(text)
    except OSError as error:
        fail(f"{file}: {error.strerror}", EXIT_NO_SOURCE)
    return len(text)
