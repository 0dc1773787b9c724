"""The schema on a ClickHouse cluster, statement by statement; the real engine takes them in
`tests/integration/clickhouse/test_replicated.py`.
"""

import re

import pytest

from sql.database.replicated import replicated
from sql.schema.migrate import load_migrations, load_views

MIGRATED = [statement for migration in load_migrations() for statement in migration.statements]
CREATED = [statement for statement in MIGRATED if "CREATE TABLE" in statement]


@pytest.mark.parametrize("statement", MIGRATED, ids=lambda statement: " ".join(statement.split()[2:7]))
def test_every_statement_that_defines_runs_on_every_replica(statement: str) -> None:
    whole = replicated(statement, "prod")
    if re.search(r"^INSERT INTO", statement, re.MULTILINE):
        assert whole == statement
    else:
        assert whole.count(" ON CLUSTER 'prod'") == 1


@pytest.mark.parametrize("statement", CREATED, ids=lambda statement: statement.split()[5])
def test_every_table_is_replicated_under_its_own_path(statement: str) -> None:
    (engine,) = re.findall(r"^ENGINE = .*$", statement, re.MULTILINE)
    kind, version = re.fullmatch(r"ENGINE = (\w*MergeTree)(?:\((\w+)\))?", engine).groups()  # type: ignore[union-attr]
    (name,) = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", statement)
    whole = replicated(statement, "prod")
    place = f"'/clickhouse/tables/{{shard}}/{{database}}/{name}', '{{replica}}'"
    assert re.findall(r"^ENGINE = .*$", whole, re.MULTILINE) == [
        f"ENGINE = Replicated{kind}({place}{f', {version}' if version else ''})"
    ]
    assert "non_replicated" not in whole


def test_repeats_are_recognised_as_on_one_server_and_for_a_week() -> None:
    statement = "CREATE TABLE IF NOT EXISTS t (a Int8)\nENGINE = MergeTree\nORDER BY a\n"
    whole = replicated(f"{statement}SETTINGS\n    non_replicated_deduplication_window = 10000", "prod")
    assert "    replicated_deduplication_window = 10000, replicated_deduplication_window_seconds = 604800" in whole


@pytest.mark.parametrize("view", load_views(), ids=lambda view: view.partition("VIEW ")[2].split()[0])
def test_every_view_is_on_every_replica_whatever_stands_above_it(view: str) -> None:
    name = view.partition("CREATE OR REPLACE VIEW ")[2].split()[0]
    assert f"CREATE OR REPLACE VIEW {name} ON CLUSTER 'prod' AS" in replicated(view, "prod")


@pytest.mark.parametrize(
    "statement",
    ["INSERT INTO t SELECT 'CREATE TABLE IF NOT EXISTS u'", "OPTIMIZE TABLE t FINAL", "SELECT 'x\nALTER TABLE t'"],
)
def test_what_defines_nothing_stays_as_it_is(statement: str) -> None:
    assert "'prod'" not in replicated(statement, "prod")
