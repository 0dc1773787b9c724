"""The schema of a ClickHouse cluster on the real engine, with a real ZooKeeper.

The engine here (chDB) makes replicated tables and registers them, and never starts their replica: each stays
read-only. So what is proved is that every table and view of the schema, as the last migration leaves it, can be
made so. Rows, ALTER of a replicated table and ON CLUSTER (which hangs) are not proved here; docs/sql.md names what
they rest on.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from components.programs.cache import require
from components.zookeeper import ZooKeeper, zookeeper_libraries
from sql.database.dsn import Server
from sql.database.open import connect
from sql.database.replicated import everywhere
from sql.schema.migrate import migrate
from sql.schema.views import load_views
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.components("clickhouse")

MAKE = """
import json, sys, chdb
engine = chdb.connect(sys.argv[1])
for statement, database in json.load(sys.stdin):
    engine.query(f"USE {database}" if not statement.startswith("CREATE DATABASE") else "SELECT 1")
    engine.query(statement)
found = [
    "SELECT table, zookeeper_path, replica_name FROM system.replicas ORDER BY table",
    "SELECT name FROM system.tables WHERE database = 'leadsman' AND engine = 'View'",
    "SELECT name FROM system.tables WHERE database = 'leadsman' AND engine = 'Distributed' ORDER BY name",
]
print(json.dumps([json.loads(engine.query(each, "JSONCompact").bytes())["data"] for each in found]), flush=True)
sys.stdout.flush()
import os
os._exit(0)
"""
CONFIGURATION = """
<clickhouse>
    <zookeeper><node><host>127.0.0.1</host><port>{port}</port></node></zookeeper>
    <macros><shard>1</shard><replica>a</replica></macros>
    <remote_servers><prod><shard>
        <replica><host>127.0.0.1</host><port>9000</port></replica>
    </shard></prod></remote_servers>
</clickhouse>
"""


@pytest.mark.parametrize("sharded", [False, True])
def test_every_table_feed_and_view_can_be_made_as_replicated(tmp_path: Path, *, sharded: bool) -> None:
    require(zookeeper_libraries)
    with connect(f"chdb://{tmp_path}/plain") as plain:
        migrate(plain)
        names = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE {like:String}"
        tables = [name for (name,) in plain.query(f"{names} ORDER BY name", {"like": "%MergeTree"}).rows]
        feeds = [name for (name,) in plain.query(f"{names} ORDER BY name", {"like": "MaterializedView"}).rows]
        made = {name: plain.query(f"SHOW CREATE TABLE {name}").rows[0][0] for name in (*tables, *feeds)}
    plainly = [
        re.sub(r" default\.(\w)", r" \1", statement.replace(f" default.{name}", f" IF NOT EXISTS {name}", 1))
        for name, statement in made.items()
    ]
    cluster = Server("127.0.0.1", 8123, secure=False, cluster="prod", sharded=sharded)
    databases = ("CREATE DATABASE IF NOT EXISTS leadsman",)
    views = [view.statement for view in load_views()]
    placed = [each for statement in (*databases, *plainly, *views) for each in everywhere(statement, cluster)]
    assert all("ON CLUSTER 'prod'" in statement for statement, _ in placed)
    configuration = tmp_path / "cluster.xml"
    with ZooKeeper(tmp_path) as zookeeper:
        configuration.write_text(CONFIGURATION.format(port=zookeeper.port))
        database = f"{tmp_path}/replicated?config-file={configuration}"
        done = subprocess.run(
            [sys.executable, "-c", MAKE, database],
            input=json.dumps([(sql.replace(" ON CLUSTER 'prod'", ""), database) for sql, database in placed]),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    registered, made_views, spread = json.loads(done.stdout)
    assert registered == [[name, f"/clickhouse/tables/1/{cluster.holder}/{name}", "a"] for name in tables]
    assert len(made_views) == len(views)
    assert [name for (name,) in spread] == (tables if sharded else [])
