"""Alerts on the capture of a real kubelet (rules: recorded-behaviour): what fires, what stays quiet, and
`backtest`.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from components.alert_log import changed
from components.command import leadsman, succeeds
from components.rows import dicts
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable
from ingest.normalize.decode import decode
from paths import LATE_JOINERS, NODE_PRESSURE
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import ALERT_NAMES
from streams.analytics.registry import ANALYTICS, REDUCERS
from streams.local.replay import Replay


def items() -> list[Observed | Unreadable]:
    return list(read_sources([NODE_PRESSURE]))


def replay(database: Database, observed: Sequence[Observed | Unreadable], reducers: Any = REDUCERS) -> None:
    with Lander(database) as lander:
        Replay(reducers, lander, DatabaseCheckpoints(database)).run(map(decode, observed))


def alerts(database: Database) -> list[dict[str, Any]]:
    return dicts(database, "SELECT * FROM alerts FINAL ORDER BY starts_at, alertname, fingerprint, status")


def test_the_recording_fires_what_happened_and_resolves_all_of_it(database: Database) -> None:
    replay(database, items())
    rows = alerts(database)
    fired = [(row["alertname"], row["labels"].get("cause"), row["labels"].get("resource")) for row in rows[::2]]
    # G: soft memory eviction, disk evictions, one admission storm of 69 pods, image GC that frees nothing at 3 %;
    # none for the InvalidDiskCapacity of the start at 04:27:12
    assert fired == [
        ("ImageGCInsufficientFreed", None, None),
        ("EvictionThresholdNear", None, "memory"),
        ("EvictionThresholdNear", None, "ephemeral-storage"),
        ("PodsEvicted", "pressure", "memory"),
        ("PodsEvicted", "pressure", "ephemeral-storage"),
        ("PodsRejected", None, None),
    ]
    assert [row["status"] for row in rows] == ["firing", "resolved"] * 6
    assert {row["fingerprint"] for row in rows[::2]} == {row["fingerprint"] for row in rows[1::2]}
    for firing, resolved in zip(rows[::2], rows[1::2], strict=True):
        assert firing["ends_at"] is None
        assert resolved["ends_at"] > resolved["starts_at"] == firing["starts_at"]
    storm = next(row for row in rows if row["labels"].get("reason") == "DiskPressure")
    assert "real-node-1: 69 pods rejected at admission within 7 s" in storm["annotations"]["summary"]


def test_evictions_are_announced_before_they_happen(database: Database) -> None:
    replay(database, items())
    first = dicts(
        database, "SELECT resource, min(ts) AS ts FROM evictions FINAL WHERE cause = 'pressure' GROUP BY resource"
    )
    near = {row["labels"]["resource"]: row for row in alerts(database) if row["alertname"] == "EvictionThresholdNear"}
    for row in first:
        assert near[row["resource"]]["starts_at"] < row["ts"]


def test_every_invalid_disk_capacity_includes_the_one_at_the_start(database: Database) -> None:
    every = changed(ImageGCInvalidCapacity={"every_invalid_disk_capacity": True})
    replay(database, items(), (*ANALYTICS, *alert_reducers(every)))
    rows = [row for row in alerts(database) if row["alertname"] == "ImageGCInvalidCapacity"]
    assert [row["status"] for row in rows] == ["firing"]  # two minutes before the end of the capture
    assert rows[0]["starts_at"].isoformat() > "2026-11-21T04:27:12"


@pytest.mark.parametrize("pieces", [2, 7])
def test_the_recording_in_pieces_gives_the_same_alerts(database: Database, pieces: int) -> None:
    whole: list[Any] = []
    replay(database, items())
    whole = alerts(database)
    for table in ("alerts", "replay_checkpoints"):
        database.command(f"TRUNCATE TABLE {table}")
    every = items()
    cuts = [len(every) * piece // pieces for piece in range(pieces + 1)]
    for start, end in pairwise(cuts):
        replay(database, every[start:end])
    assert alerts(database) == whole


def test_an_alert_that_cannot_fire_is_reported_with_the_missing_input(database: Database) -> None:
    replay(database, list(read_sources([LATE_JOINERS])))
    rows = dicts(database, "SELECT * FROM alert_coverage")
    assert {row["alertname"] for row in rows} == set(ALERT_NAMES)
    cannot = {(row["alertname"], row["input"]) for row in rows if not row["can_fire"]}
    # that capture holds no kubelet's statistics and no event
    assert cannot == {
        ("EvictionThresholdNear", "samples"),
        ("EvictionTooLate", "samples"),
        ("NodeStalls", "samples"),
        ("SwapThrashing", "samples"),
        ("ImageGCInvalidCapacity", "events"),
        ("ImageGCInsufficientFreed", "events or samples"),
        ("ImageGCRestartLoop", "events"),
        ("ContainerGCFailed", "events"),
    }
    assert all(row["without_it"] and row["nodes_without"] == row["nodes"] for row in rows if not row["can_fire"])


def test_on_a_whole_capture_every_alert_can_fire(database: Database) -> None:
    """The recorded kubelet has no threshold for process ids, as by default: of that signal alone nothing warns."""
    replay(database, items())
    found = dicts(
        database, "SELECT alertname, input, can_fire FROM alert_coverage WHERE NOT can_fire OR nodes_without > 0"
    )
    assert found == [{"alertname": "EvictionThresholdNear", "input": "thresholds", "can_fire": 1}]
    assert dicts(database, "SELECT signal FROM unguarded_signals") == [{"signal": "pid.available"}]


def test_backtest_prints_lead_times_and_compares(tmp_path: Path) -> None:
    stricter = tmp_path / "late.yaml"
    stricter.write_text("alerts:\n  EvictionThresholdNear: {within: 1s, for: 10m, keep_firing: 1s}\n")
    found = json.loads(succeeds("backtest", NODE_PRESSURE, "--compare", stricter, "-o", "json"))
    assert set(found["rules"]) == {"packaged", "late.yaml"}
    assert len(found["rules"]["packaged"]["alerts"]) == 6
    by_resource = {(each["cause"], each["resource"]): each for each in found["incidents"]}
    assert set(by_resource) == {
        ("pressure", "memory"),
        ("pressure", "ephemeral-storage"),
        ("admission", "DiskPressure"),
    }
    for incident in found["incidents"]:
        began = datetime.fromisoformat(incident["began"])
        for each in incident["announced"]["packaged"]:
            starts = [
                datetime.fromisoformat(alert["starts_at"])
                for alert in found["rules"]["packaged"]["alerts"]
                if alert["alertname"] == each["alertname"]
            ]
            assert began - timedelta(seconds=each["lead_seconds"]) in starts
        assert "EvictionThresholdNear" in {each["alertname"] for each in incident["announced"]["packaged"]}
    assert found["forecasts"]
    assert sum(each["evictions"] for each in found["ranks"]) == 6


def test_backtest_prints_tables(tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    none.write_text(
        "alerts:\n  EvictionThresholdNear: {enabled: false}\n  ImageGCInsufficientFreed: {enabled: false}\n"
    )
    printed = succeeds("backtest", NODE_PRESSURE, "--rules", none)
    assert "Alerts with the rules none.yaml: 3" in printed
    assert printed.count("NOTHING") == 4
    assert printed.splitlines()[-1].startswith("In short, none.yaml: 0 of 4 announced; 4 missed; 0 false. ")


def test_backtest_reports_a_typo_in_the_rules_with_its_line(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("alerts:\n  PodsEvicted:\n    sevrity: info\n")
    done = leadsman("backtest", NODE_PRESSURE, "--rules", rules)
    assert done.returncode == 2
    assert "line 3: alerts.PodsEvicted.sevrity: there is no such setting; there are enabled, severity" in done.stderr
