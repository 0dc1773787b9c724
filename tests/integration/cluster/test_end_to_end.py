"""A real node, end to end: API server, scheduler, kubelet, Kafka, all parts of Leadsman, SQL."""

import os
import re
import signal
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from components.clickhouse import ClickHouseHttp
from components.cluster.kubelet import RealNode
from components.command import leadsman_process
from components.kafka import Kafka
from components.processes import Process
from components.rows import dicts
from integration.cluster.node_story import (
    CLUSTER,
    await_eviction,
    check_forecasts,
    check_story,
    pin,
    restored,
    start_growing,
    watch_flags,
)
from leadsman.run.up import PARTS
from sql.database.open import Database, connect
from waiting import eventually

pytestmark = pytest.mark.components("cluster")


def _up(node: RealNode, kafka: Kafka, dsn: str, folder: Path) -> Process:
    arguments = [f"--kafka={kafka.bootstrap_servers}", f"--versions={folder / 'versions.json'}", *watch_flags(node)]
    environment = {
        "LEADSMAN_DB": dsn,
        "LEADSMAN_KAFKA__TOPIC_PREFIX": f"story-{uuid.uuid4().hex[:8]}",
        "LEADSMAN_KAFKA__PARTITIONS": "4",
        "LEADSMAN_LAND__BATCH_SECONDS": "0.5",
    }
    return leadsman_process("up", *arguments, folder=folder, environment=environment)


def _has(db: Database, table: str, condition: str) -> bool:
    return bool(
        dicts(db, f"SELECT 1 FROM {table} WHERE cluster = {{cluster:String}} AND {condition}", cluster=CLUSTER)
    )


def _is_migrated(db: Database) -> bool:
    """Views come last, by name; `story` is one."""
    return bool(dicts(db, "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'story'"))


@contextmanager
def _running(up: Process, dsn: str) -> Iterator[Database]:
    """All parts run and the tables are there; afterwards no part is left."""
    up.start()
    try:
        with connect(dsn) as db:
            eventually("the lander has made the tables", lambda: _is_migrated(db))
            eventually("the kubelet's settings are in SQL", lambda: _has(db, "kubelet_settings", "1"))
            yield db
    finally:
        up.stop()
    assert _started(up)
    assert not any(Path(f"/proc/{pid}").exists() for _, pid in _started(up))


def _started(up: Process) -> list[tuple[str, int]]:
    """Each part that was started, by its name and process, in order."""
    return [(name, int(pid)) for name, pid in re.findall(r"is started +part=(\w+) pid=(\d+)", up.log.read_text())]


def _await_story(node: RealNode, db: Database) -> None:
    await_eviction(node)
    eventually("the eviction is in SQL", lambda: _has(db, "evictions", "evidence = 'both'"))
    relief = "condition = 'MemoryPressure' AND status = 0 AND NOT kubelet_restart"
    eventually("the end of the pressure is in SQL", lambda: _has(db, "pressure_changes", relief))


@pytest.fixture
def watched(
    real_node: RealNode, kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> Iterator[tuple[Process, Database]]:
    """`leadsman up`, and the database into which it tells of the real node, on which a pod is pinned."""
    up = _up(real_node, kafka, clickhouse.dsn(), tmp_path)
    with restored(real_node), _running(up, clickhouse.dsn()) as db:
        pin(real_node)
        yield up, db


@pytest.mark.night
def test_sql_reports_what_happened_on_a_real_node(real_node: RealNode, watched: tuple[Process, Database]) -> None:
    _, db = watched
    threshold = start_growing(real_node)
    _await_story(real_node, db)
    check_story(db, real_node, threshold)
    check_forecasts(db, real_node)


def test_the_story_is_the_same_although_every_part_is_killed_in_it(
    real_node: RealNode, watched: tuple[Process, Database]
) -> None:
    up, db = watched
    _kill(up, *PARTS)
    eventually("the next watcher watches", lambda: up.log.read_text().count("watching begins") > 1)
    threshold = start_growing(real_node)
    growing = "signal = 'memory.available' AND seconds_to_hard > 0 AND slope_per_second < -5e6"
    eventually("the growth is being forecast", lambda: _has(db, "eviction_signals", growing))
    _kill(up, "work", "land")
    _await_story(real_node, db)
    check_story(db, real_node, threshold)
    check_forecasts(db, real_node)


def _kill(up: Process, *names: str) -> None:
    """SIGKILL to these parts, and back when they are started again."""
    before = _started(up)
    for name in names:
        os.kill(dict(before)[name], signal.SIGKILL)
    eventually(f"{names} are started again", lambda: len(_started(up)) == len(before) + len(names))
