"""Every scenario: the capture, replayed, gives the rows that were reasoned by hand."""

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from components.rows import dicts
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from paths import SCENARIOS
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.questions.pending import calculate
from sql.schema.migrate import MIGRATIONS
from streams.analytics.registry import REDUCERS
from streams.local.replay import Replay


def replay(database: Database, *paths: Path) -> None:
    with Lander(database) as lander:
        Replay(REDUCERS, lander, DatabaseCheckpoints(database)).run(map(decode, read_sources(paths)))
    calculate(database)


def natural_key(database: Database, table: str) -> str:
    for file in MIGRATIONS.rglob("*.sql"):
        text = file.read_text()
        if re.match(rf"CREATE TABLE IF NOT EXISTS {table}\n", text):
            found = re.search(r"^ORDER BY \((.*)\)$", text, re.MULTILINE)
            assert found, f"{file.name} has no ORDER BY"
            return found[1]
    columns = [column["name"] for column in dicts(database, f"DESCRIBE TABLE {table}")]
    return "ts, tuple(*)" if "ts" in columns else "tuple(*)"


def comparable(value: Any) -> Any:
    """A value of a row as JSON has it; times to the second or finer, without trailing zeros."""
    if isinstance(value, datetime):
        text = value.strftime("%Y-%m-%dT%H:%M:%S.%f").rstrip("0").rstrip(".")
        return text + "Z"
    if isinstance(value, float):
        return pytest.approx(value)
    if isinstance(value, tuple | list):
        return [comparable(each) for each in value]
    return value


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in SCENARIOS.glob("*/capture.jsonl")), ids=lambda folder: folder.name
)
def test_scenario_gives_the_rows_that_were_reasoned(folder: Path, database: Database) -> None:
    replay(database, folder / "capture.jsonl")
    expectations = sorted(folder.glob("expected/*.jsonl"))
    assert expectations, "a scenario without expected rows proves nothing"
    for file in expectations:
        expected = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        for row in expected:
            row.pop("why", None)
        found = dicts(database, f"SELECT * FROM {file.stem} ORDER BY {natural_key(database, file.stem)}")
        columns = {column for row in expected for column in row}
        shown = [{k: comparable(v) for k, v in row.items() if k in columns} for row in found]
        assert len(shown) == len(expected), f"{file.stem}: {shown}"
        for have, want in zip(shown, expected, strict=True):
            assert {k: have[k] for k in want} == want, file.stem
