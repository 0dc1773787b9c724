"""An episode of image GC is told once, whatever part of a dump was read before."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import T0, dicts, row, store
from ingest.files.sources import read_sources
from ingest.normalize.decode import decode
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.questions.queries import run, saved_query
from streams.analytics.registry import REDUCERS
from streams.fold.findings import ImageGc, NodeRow
from streams.local.replay import Replay

FAILED = (
    "Failed to garbage collect required amount of images. "
    "Attempted to free 9 bytes, but only found 0 bytes eligible to free."
)


def episode(start: int, last: int, **values: Any) -> ImageGc:
    """In minutes."""
    known = {"node": "n", "reason": "insufficient_freed", "verdict": "insufficient_freed"}
    at = {"ts": T0 + timedelta(minutes=start), "last_at": T0 + timedelta(minutes=last)}
    return row(ImageGc, **(known | at | values))


CASES = Cases()


@pytest.fixture(scope="module")
def told_of(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT * FROM image_gc_episodes ORDER BY ts")


LEFT = [
    (CASES.add(*rows), left)
    for rows, left in (
        ([episode(0, 20), episode(5, 20)], [0]),
        ([episode(0, 20), episode(5, 10), episode(10, 20)], [0]),
        ([episode(0, 20), episode(30, 40)], [0, 30]),
        ([episode(0, 20), episode(5, 20, node="m")], [0, 5]),
        ([episode(0, 20), episode(5, 20, reason="invalid_capacity")], [0, 5]),
        ([episode(0, 20), episode(26, 20, verdict="recovered"), episode(40, 50)], [0, 26, 40]),
        ([episode(0, 40), episode(26, 20, verdict="recovered")], [0]),
    )
]


@pytest.mark.parametrize(("case", "left"), LEFT)
def test_an_episode_that_a_longer_one_covers_is_left_out(case: str, left: list[int], told_of: Answers) -> None:
    assert [round((each["ts"] - T0).total_seconds() / 60) for each in told_of[case]] == left


OVERLAPPING = CASES.add(
    episode(0, 20, occurrences=5, explanation="five"),
    episode(15, 40, occurrences=6, explanation="six"),
    episode(50, 60, occurrences=3),
)


def test_episodes_that_overlap_are_one_from_the_first_to_the_last(told_of: Answers) -> None:
    """Neither part has all of it: the words are those of the part that counts more."""
    found = told_of[OVERLAPPING]
    answers = [[(each[at] - T0) // timedelta(minutes=1) for at in ("ts", "last_at")] for each in found]
    assert answers == [[0, 40], [50, 60]]
    assert (found[0]["occurrences"], found[0]["explanation"]) == (6, "six")


@pytest.mark.parametrize("verdict", ["benign_startup", "recovered"])
def test_a_harmless_episode_of_a_new_node_does_not_bring_back_that_of_the_one_before_it(
    verdict: str, database: Database
) -> None:
    made = row(NodeRow, node="n", created_at=T0 + timedelta(minutes=6))
    start = episode(6, 6, reason="no_statistics", verdict=verdict)
    store(database, made, episode(0, 4), start, episode(0, 4, node="m"))
    found = run(database, saved_query("image_gc"), {"broken": "1"})
    assert [dict(zip(found.column_names, each, strict=True))["node"] for each in found.rows] == ["m"]


def failed(minute: int) -> dict[str, Any]:
    at = f"{T0 + timedelta(minutes=minute):%Y-%m-%dT%H:%M:%SZ}"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"n.{minute}", "namespace": "default", "uid": f"e{minute}"},
        "involvedObject": {"kind": "Node", "name": "n"},
        "reason": "FreeDiskSpaceFailed",
        "message": FAILED,
        "source": {"component": "kubelet", "host": "n"},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


MINUTES = 0, 5, 10, 15, 20


@pytest.mark.parametrize("parts", [[(5, 10)], [(10, 15, 20)], [(0, 5), (15, 20)], [(20,), (10,), (0, 20)]])
def test_parts_of_a_dump_that_were_read_before_leave_no_episode(
    parts: list[tuple[int, ...]], tmp_path: Path, database: Database
) -> None:
    for number, minutes in enumerate([*parts, MINUTES]):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [failed(each) for each in minutes]}))
        with Lander(database) as lander:
            Replay(REDUCERS, lander, DatabaseCheckpoints(database)).run(map(decode, read_sources([file])))
    [found] = dicts(database, "SELECT ts, last_at, occurrences FROM image_gc_episodes")
    assert (found["ts"], found["occurrences"]) == (T0, len(MINUTES))
    assert found["last_at"] == T0 + timedelta(minutes=MINUTES[-1])
