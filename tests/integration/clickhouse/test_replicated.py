"""The schema of a ClickHouse cluster on the real engine, with a real ZooKeeper.

The engine here (chDB) makes replicated tables and registers them, and never starts their replica: each stays
read-only. So what is proved is that every table, feed and view of the schema, as the last migration leaves it, can be
made so. Rows, ALTER of a replicated table and ON CLUSTER (which hangs) are not proved here; docs/sql.md names what
they rest on.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from components.programs.cache import require
from components.zookeeper import ZooKeeper, zookeeper_libraries
from sql.database.open import connect
from sql.database.replicated import replicated
from sql.schema.migrate import load_views, migrate

pytestmark = pytest.mark.components

MAKE = """
import json, sys, chdb
engine = chdb.connect(sys.argv[1])
for statement in json.load(sys.stdin):
    engine.query(statement)
tables = engine.query("SELECT table, zookeeper_path, replica_name FROM system.replicas ORDER BY table", "JSONCompact")
views = engine.query("SELECT name FROM system.tables WHERE database = 'default' AND engine = 'View'", "JSONCompact")
print(json.dumps([json.loads(found.bytes())["data"] for found in (tables, views)]), flush=True)
sys.stdout.flush()
import os
os._exit(0)
"""
CONFIGURATION = """
<clickhouse>
    <zookeeper><node><host>127.0.0.1</host><port>{port}</port></node></zookeeper>
    <macros><shard>1</shard><replica>a</replica></macros>
</clickhouse>
"""


def test_every_table_feed_and_view_can_be_made_as_replicated(tmp_path: Path) -> None:
    require(zookeeper_libraries)
    with connect(f"chdb://{tmp_path}/plain") as plain:
        migrate(plain)
        names = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE {like:String}"
        tables = [name for (name,) in plain.query(f"{names} ORDER BY name", {"like": "%MergeTree"}).rows]
        feeds = [name for (name,) in plain.query(f"{names} ORDER BY name", {"like": "MaterializedView"}).rows]
        made = {name: plain.query(f"SHOW CREATE TABLE {name}").rows[0][0] for name in (*tables, *feeds)}
    plainly = [
        statement.replace(f" default.{name}\n", f" IF NOT EXISTS {name}\n", 1) for name, statement in made.items()
    ]
    everywhere = [replicated(statement, "prod") for statement in (*plainly, *load_views())]
    assert all("ON CLUSTER 'prod'" in statement for statement in everywhere[: len(tables)])
    configuration = tmp_path / "cluster.xml"
    with ZooKeeper(tmp_path) as zookeeper:
        configuration.write_text(CONFIGURATION.format(port=zookeeper.port))
        database = f"{tmp_path}/replicated?config-file={configuration}"
        done = subprocess.run(
            [sys.executable, "-c", MAKE, database],
            input=json.dumps([statement.replace(" ON CLUSTER 'prod'", "") for statement in everywhere]),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    registered, views = json.loads(done.stdout)
    assert registered == [[name, f"/clickhouse/tables/1/default/{name}", "a"] for name in tables]
    assert len(views) == len(load_views())
