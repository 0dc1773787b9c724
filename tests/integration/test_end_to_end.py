"""A real node, end to end: API server, scheduler, kubelet, Kafka, all parts of Leadsman, SQL (issue 5, to show 1)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from components.kafka import Kafka
from components.kubelet import RealNode
from components.processes import Process, eventually
from components.rows import dicts
from integration.clickhouse_http import ClickHouseHttp
from integration.node_story import (
    CLUSTER,
    LEADSMAN,
    check_story,
    grow_until_evicted,
    pin,
    restored,
    watch_flags,
)
from sql.database import Database, connect

pytestmark = pytest.mark.xdist_group("cluster")

PREFIX: Final = "story"


@pytest.fixture
def clickhouse(tmp_path: Path) -> Iterator[ClickHouseHttp]:
    with ClickHouseHttp(tmp_path / "clickhouse") as server:
        yield server


def _up(node: RealNode, kafka: Kafka, dsn: str, folder: Path) -> Process:
    arguments = [f"--kafka={kafka.bootstrap_servers}", f"--versions={folder / 'versions.json'}", *watch_flags(node)]
    environment = {
        "LEADSMAN_DB": dsn,
        "LEADSMAN_KAFKA__TOPIC_PREFIX": PREFIX,
        "LEADSMAN_KAFKA__PARTITIONS": "4",
        "LEADSMAN_LAND__BATCH_SECONDS": "0.5",
    }
    return Process("up", [LEADSMAN, "up", *arguments], folder / "up.log", environment)


def _has(db: Database, table: str, condition: str) -> bool:
    return bool(
        dicts(db, f"SELECT 1 FROM {table} WHERE cluster = {{cluster:String}} AND {condition}", cluster=CLUSTER)
    )


def _is_migrated(db: Database) -> bool:
    """Views come last, by name; `story` is one."""
    return bool(dicts(db, "SELECT 1 FROM system.tables WHERE database = currentDatabase() AND name = 'story'"))


def test_sql_tells_what_happened_on_a_real_node(
    real_node: RealNode, kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> None:
    up = _up(real_node, kafka, clickhouse.dsn(), tmp_path)
    with restored(real_node):
        up.start()
        try:
            up.await_ready((tmp_path / "versions.json").exists)
            with connect(clickhouse.dsn()) as db:
                eventually("the lander has made the tables", lambda: _is_migrated(db), 120)
                eventually("the kubelet's settings are in SQL", lambda: _has(db, "kubelet_settings", "1"), 60)
                pin(real_node)
                threshold = grow_until_evicted(real_node)
                eventually("the eviction is in SQL", lambda: _has(db, "evictions", "evidence = 'both'"))
                relief = "condition = 'MemoryPressure' AND status = 0 AND NOT kubelet_restart"
                eventually("the end of the pressure is in SQL", lambda: _has(db, "pressure_changes", relief))
                check_story(db, real_node, threshold)
        finally:
            up.stop()
    parts = [int(pid) for pid in re.findall(r"pid=.*?(\d+)", up.log.read_text())]
    assert len(parts) >= 3
    assert not any(Path(f"/proc/{pid}").exists() for pid in parts)
