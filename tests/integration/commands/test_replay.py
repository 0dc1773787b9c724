"""The capture of a real incident through the real command: the rows that it must give.

The expected findings are those of the recorded behaviour (rules: recorded-behaviour) and of the capture itself.
"""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from components.command import rows, succeeds
from ingest.files.capture import CaptureWriter
from ingest.files.sources import read_sources
from ingest.model.observation import Observed
from integration.commands.recording import EVICTED
from paths import NODE_PRESSURE

CUTS = (200, 500)
"""The second in the middle of its disk pressure; `tests/unit/streams/local/test_replay.py` cuts in many places."""
Rows: TypeAlias = dict[str, list[dict[str, Any]]]


class Replayed(NamedTuple):
    database: Path
    output: str
    digest: str


def replay(database: Path, *commands: Sequence[Path]) -> Replayed:
    """One replay for each command's paths, one after the other into one database."""
    output = "".join(succeeds("replay", *paths, db=database) for paths in commands)
    return Replayed(database, output, succeeds("digest", db=database))


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The capture cut in three, the second of them compressed."""
    folder = tmp_path_factory.mktemp("pieces")
    items = [item for item in read_sources([NODE_PRESSURE]) if isinstance(item, Observed)]
    paths = []
    for number, (start, end) in enumerate(pairwise((0, *CUTS, len(items)))):
        path = folder / f"{number}.jsonl"
        with closing(CaptureWriter(path, "zstd" if number == 1 else "none")) as writer:
            for item in items[start:end]:
                writer.write(item.observation)
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    return replay(tmp_path_factory.mktemp("whole") / "db", [NODE_PRESSURE])


@pytest.fixture(scope="module")
def found(whole: Replayed) -> Rows:
    """The findings by table; times to the second."""
    tables = {
        "evictions": "cause, pod, resource, predicted_rank, evidence",
        "pressure_changes": "condition, status, kubelet_restart",
        "image_gc": "verdict, reason, occurrences, occurrences_lower_bound, high_percent, usage_percent, freed_bytes",
        "dead_letters": "error_type",
    }
    at = "formatDateTime(ts, '%T')"
    parts = [
        f"SELECT '{table}' AS name, toJSONString(tuple({at}, {columns})) AS row FROM {table} FINAL"
        for table, columns in tables.items()
    ]
    parts.append("SELECT 'allocatable', toString(argMax(allocatable['ephemeral-storage'], ts)) FROM nodes FINAL")
    text = succeeds("query", "--sql", " UNION ALL ".join(parts), "-o", "json", db=whole.database)
    rows: dict[str, list[dict[str, Any]]] = {table: [] for table in (*tables, "allocatable")}
    for each in json.loads(text):
        values = json.loads(each["row"])
        names = ["at", *tables[each["name"]].split(", ")] if each["name"] in tables else ["bytes"]
        rows[each["name"]].append(dict(zip(names, values if isinstance(values, list) else [values], strict=True)))
    return rows


def test_six_pods_were_evicted_under_pressure(found: Rows) -> None:
    evicted = {row["pod"]: row["resource"] for row in found["evictions"] if row["cause"] == "pressure"}
    assert evicted == EVICTED


def test_the_storm_at_admission_is_kept_apart(found: Rows) -> None:
    causes = Counter((row["cause"], row["resource"]) for row in found["evictions"])
    assert causes[("admission", "DiskPressure")] == 69
    assert {cause for cause, _ in causes} == {"pressure", "admission"}


def test_every_eviction_under_pressure_has_the_rank_that_was_predicted(
    found: Rows,
) -> None:
    ranks = {row["pod"]: row["predicted_rank"] for row in found["evictions"] if row["cause"] == "pressure"}
    assert all(ranks.values())
    assert ranks["hog-775668d95b-wcnzb"] == 1
    assert ranks["filler-66d86cc6d4-p8xrj"] == 1
    tied = ("hog-775668d95b-22tc2", "pinned", "best", "burst")
    assert sorted(ranks[pod] for pod in tied) == [1, 2, 3, 4]


def test_image_gc_freed_too_little_twice_and_then_started_benignly(found: Rows) -> None:
    assert sorted(found["image_gc"], key=lambda row: str(row["at"])) == [
        {
            "at": "04:17:49",
            "verdict": "insufficient_freed",
            "reason": "insufficient_freed",
            "occurrences": 2,
            "occurrences_lower_bound": 0,
            "high_percent": 3,
            "usage_percent": 74,
            "freed_bytes": 0,
        },
        {
            "at": "04:27:12",
            "verdict": "benign_startup",
            "reason": "invalid_capacity",
            "occurrences": 1,
            "occurrences_lower_bound": 0,
            "high_percent": 85,
            "usage_percent": None,
            "freed_bytes": None,
        },
        {  # the first sample under the new settings: 74 % used is below 85 %, so there is nothing to free
            "at": "04:28:20",
            "verdict": "recovered",
            "reason": "insufficient_freed",
            "occurrences": 2,
            "occurrences_lower_bound": 0,
            "high_percent": 85,
            "usage_percent": 74,
            "freed_bytes": None,
        },
    ]


def test_memory_pressure_was_once_and_disk_pressure_twice(found: Rows) -> None:
    reported = [row for row in found["pressure_changes"] if not row["kubelet_restart"]]
    changes = sorted((row["at"], row["condition"], row["status"]) for row in reported)
    assert changes == [
        ("04:19:11", "MemoryPressure", 1),
        ("04:20:02", "MemoryPressure", 0),
        ("04:20:23", "DiskPressure", 1),
        ("04:22:56", "DiskPressure", 0),
        ("04:24:07", "DiskPressure", 1),
        ("04:25:29", "DiskPressure", 0),
    ]


def test_allocatable_ephemeral_storage_is_recomputed_to_the_byte(found: Rows) -> None:
    """The node's own numbers; `test_allocatable` recomputes them from capacity and the threshold of 5 %."""
    assert found["allocatable"] == [{"bytes": 257025515114}]


def test_nothing_of_the_recording_is_bad(found: Rows) -> None:
    assert found["dead_letters"] == []


def test_the_command_prints_the_story(whole: Replayed) -> None:
    assert "975 observations read, 975 new, 0 known already." in whole.output
    for reported in (
        "Pod default/hog-775668d95b-wcnzb was evicted",
        "69 pods were rejected at admission",
        "failed once at the start",
        "1 pod evicted for memory",
        "5 pods evicted for ephemeral storage",
        "ReplicaSet filler-66d86cc6d4 in default, 69 times",
    ):
        assert reported in whole.output


def test_the_digest_has_every_table_and_nothing_else(whole: Replayed) -> None:
    lines = [line.split() for line in whole.digest.splitlines()]
    assert all(len(line) == 3 for line in lines)
    rows = {table: int(count) for table, count, _ in lines}
    assert rows["evictions"] == 75
    assert rows["node_samples"] == 70
    assert list(rows) == sorted(rows)


def test_the_same_again_changes_nothing(whole: Replayed) -> None:
    again = replay(whole.database, [NODE_PRESSURE])
    assert "975 observations read, 0 new, 975 known already." in again.output
    assert again.digest == whole.digest


def test_in_pieces_one_by_one_and_at_once_into_another_database_it_is_the_same(
    whole: Replayed, pieces: list[Path], tmp_path: Path
) -> None:
    assert replay(tmp_path / "db", pieces[:1], pieces[1:]).digest == whole.digest


def test_alerts_fire_by_the_rules_of_the_settings(tmp_path: Path) -> None:
    """A worker fires them: the capture has pods that were rejected, and these rules ignore them."""
    (tmp_path / "rules.yaml").write_text("alerts:\n  PodsRejected:\n    enabled: false\n")
    (tmp_path / "settings.yaml").write_text(f"alerts:\n  rules: {tmp_path / 'rules.yaml'}\n")
    options = ("--quiet", f"--config={tmp_path / 'settings.yaml'}")
    succeeds("replay", *options, NODE_PRESSURE, db=tmp_path / "db")
    fired = {name for (name,) in rows("SELECT alertname FROM alerts", tmp_path / "db")}
    assert "PodsEvicted" in fired
    assert "PodsRejected" not in fired
