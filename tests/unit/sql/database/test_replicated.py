"""The schema on a ClickHouse cluster, statement by statement; the real engine takes them in
`tests/integration/clickhouse/test_replicated.py`.
"""

import re

import pytest

from sql.database.dsn import parse_dsn
from sql.database.replicated import everywhere, replicate
from sql.schema.migrate import load_migrations
from sql.schema.views import View, load_views

MIGRATED = [statement for migration in load_migrations() for statement in migration.statements]
CREATED = [statement for statement in MIGRATED if "CREATE TABLE" in statement]


@pytest.mark.parametrize("statement", MIGRATED, ids=lambda statement: " ".join(statement.split()[2:7]))
def test_every_statement_that_defines_runs_on_every_replica(statement: str) -> None:
    assert replicate(statement, "prod").count(" ON CLUSTER 'prod'") == 1


@pytest.mark.parametrize("statement", CREATED, ids=lambda statement: statement.split()[5])
def test_every_table_is_replicated_under_its_own_path(statement: str) -> None:
    (engine,) = re.findall(r"^ENGINE = .*$", statement, re.MULTILINE)
    kind, version = re.fullmatch(r"ENGINE = (\w*MergeTree)(?:\((\w+)\))?", engine).groups()  # type: ignore[union-attr]
    (name,) = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", statement)
    whole = replicate(statement, "prod")
    place = f"'/clickhouse/tables/{{shard}}/{{database}}/{name}', '{{replica}}'"
    assert re.findall(r"^ENGINE = .*$", whole, re.MULTILINE) == [
        f"ENGINE = Replicated{kind}({place}{f', {version}' if version else ''})"
    ]
    assert "non_replicated" not in whole


def test_repeats_are_recognised_as_on_one_server_and_for_a_week() -> None:
    statement = "CREATE TABLE IF NOT EXISTS t (a Int8)\nENGINE = MergeTree\nORDER BY a\n"
    whole = replicate(f"{statement}SETTINGS\n    non_replicated_deduplication_window = 10000", "prod")
    assert "    replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800" in whole


SHARDED = parse_dsn("http://h:8123/leadsman?cluster=prod&sharded=1")


@pytest.mark.parametrize(
    ("statement", "databases"),
    [
        ("CREATE TABLE IF NOT EXISTS t\nENGINE = MergeTree\nORDER BY a\nCOMMENT 'T'", ["leadsman_shard", "leadsman"]),
        ("ALTER TABLE t\n    ADD COLUMN IF NOT EXISTS a Int8", ["leadsman_shard", "leadsman"]),
        ("ALTER TABLE t\n    COMMENT COLUMN a 'A'", ["leadsman"]),
        ("ALTER TABLE t MODIFY TTL landed_at + toIntervalDay(7)", ["leadsman_shard"]),
        ("ALTER TABLE t REMOVE TTL", ["leadsman_shard"]),
        ("ALTER TABLE t DELETE WHERE a = 1", ["leadsman_shard"]),
        ("ALTER TABLE t_feed MODIFY QUERY\nSELECT a FROM t", ["leadsman_shard"]),
        ("CREATE MATERIALIZED VIEW IF NOT EXISTS t_feed TO u AS\nSELECT a FROM t", ["leadsman_shard"]),
        ("CREATE OR REPLACE VIEW v AS\nSELECT a FROM t", ["leadsman"]),
        ("-- again\nINSERT INTO t SELECT a FROM u", ["leadsman"]),
        ("CREATE DATABASE IF NOT EXISTS `leadsman`", ["leadsman", "leadsman"]),
    ],
)
def test_of_shards_rows_and_what_people_read_are_in_two_databases(statement: str, databases: list[str]) -> None:
    assert [placed.database for placed in everywhere(statement, SHARDED)] == databases


@pytest.mark.parametrize("statement", CREATED, ids=lambda statement: statement.split()[5])
def test_rows_that_replace_each_other_are_on_one_shard(statement: str) -> None:
    _, over = everywhere(statement, SHARDED)
    (name,) = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", statement)
    (key,) = re.findall(r"^ORDER BY (.*)$", statement, re.MULTILINE)
    (spread_by,) = re.findall(
        rf"ENGINE = Distributed\('prod', 'leadsman_shard', '{name}', (.*)\)$", over.sql, re.MULTILINE
    )
    assert {*re.findall(r"\b(?!cityHash64|0)\w+", spread_by)} <= {*key.strip("()").split(", ")}
    assert f"CREATE TABLE IF NOT EXISTS {name} ON CLUSTER 'prod' AS `leadsman_shard`.{name}" in over.sql


def test_samples_and_findings_are_spread_by_cluster_and_node() -> None:
    by_node = [
        statement.split()[5] for statement in CREATED if "(cluster, node)" in everywhere(statement, SHARDED)[1].sql
    ]
    assert {"node_samples", "pod_samples", "eviction_signals", "evictions", "node_samples_5m", "alerts"} <= {*by_node}


@pytest.mark.parametrize("view", load_views(), ids=lambda view: view.name)
def test_every_view_is_on_every_replica_whatever_stands_above_it(view: View) -> None:
    assert f"CREATE OR REPLACE VIEW {view.name} ON CLUSTER 'prod'\n(" in replicate(view.statement, "prod")


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t SELECT 'CREATE TABLE IF NOT EXISTS u'", "OPTIMIZE TABLE t FINAL", "SELECT 'x\nALTER TABLE t'"],
)
def test_what_defines_nothing_stays_as_it_is(statement: str) -> None:
    assert "'prod'" not in replicate(statement, "prod")
