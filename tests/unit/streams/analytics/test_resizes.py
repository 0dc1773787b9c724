"""Resizes with evidence removed: nothing is claimed, and what would have to go is not known."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.rows import dicts
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from paths import SCENARIOS
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander
from streams.analytics.registry import REDUCERS
from streams.local.replay import Replay

Line = dict[str, Any]


@pytest.fixture
def replayed(database: Database, tmp_path: Path) -> Callable[[Callable[[Line], Line | None]], Database]:
    def replay(change: Callable[[Line], Line | None]) -> Database:
        lines = map(json.loads, (SCENARIOS / "resizes/capture.jsonl").read_text().splitlines())
        kept = [changed for line in lines if (changed := change(line)) is not None]
        (tmp_path / "c.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
        with Lander(database) as lander:
            Replay(REDUCERS, lander, DatabaseCheckpoints(database)).run(
                map(decode, read_sources([tmp_path / "c.jsonl"]))
            )
        return database

    return replay


def test_without_the_conditions_nothing_is_known_of_a_resize(replayed: Any) -> None:
    def change(line: Line) -> Line:
        line["object"]["status"].pop("conditions", None)
        return line

    assert dicts(replayed(change), "SELECT * FROM resizes") == []


def test_without_the_node_s_allocatable_what_would_have_to_go_is_not_known(replayed: Any) -> None:
    found = dicts(
        replayed(lambda line: None if line["resource"] == "nodes" else line),
        "SELECT pod, more, must_go FROM pending_resizes ORDER BY pod",
    )
    assert found == [
        {"pod": "pinned", "more": {"cpu": 500}, "must_go": {}},
        {"pod": "waits", "more": {"cpu": 2000}, "must_go": {}},
    ]


def test_a_reason_that_is_not_known_is_no_end_and_a_resize_taken_back_is_not_done(replayed: Any) -> None:
    """At 12:03 the reason of `waits` is one of a later version; what follows is its spec as it was before."""

    def change(line: Line) -> Line:
        of_waits = line["object"]["metadata"]["name"] == "waits"
        if of_waits and line["ts"] == "2026-07-01T12:03:00Z":
            line["object"]["status"]["conditions"][0]["reason"] = "Unheard"
        if line["ts"] == "2026-07-01T12:05:00Z":
            line["object"]["metadata"] |= {"name": "waits", "uid": "uid-waits"}
            (container,) = line["object"]["spec"]["containers"]
            (status,) = line["object"]["status"]["containerStatuses"]
            before = {"cpu": "1", "memory": "1Gi"}
            container["resources"] = {"requests": before}
            status |= {"allocatedResources": before, "resources": {"requests": before}}
        return line

    found = dicts(replayed(change), "SELECT state FROM resizes WHERE pod = 'waits' ORDER BY ts")
    assert [each["state"] for each in found] == ["deferred", "pending", "withdrawn"]
