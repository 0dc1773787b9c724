"""DDL for a ClickHouse cluster: the same statement, run on every replica, with replicated tables.

The path of a table in Keeper is explicit, so that a replica that joins later by the same statement finds it. The
macros `shard` and `replica` are those of each server's configuration. ClickHouse Cloud needs none of this: there the
plain statement makes replicated tables.

Rows can be spread over shards. In `leadsman_shard` each shard has the tables and materialized views of the database
`leadsman`. `leadsman` has the views and, for each table, a Distributed one, which spreads inserts and reads from all
shards. Rows that replace each other have the same cluster and node. So they are on the same shard, which FINAL and
deduplication need.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from sql.database.dsn import Server, Target


def quoted(identifier: str) -> str:
    """Quote a name."""
    escaped = identifier.replace("\\", "\\\\").replace("`", "\\`")
    return f"`{escaped}`"


_KEY: Final = re.compile(r"^ORDER BY (.+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^COMMENT '.*'$", re.MULTILINE)
_OF_SHARDS: Final = re.compile(
    r"\bCREATE MATERIALIZED VIEW\b|\bMODIFY QUERY\b|\b(?:MODIFY|REMOVE) TTL\b|\bDELETE WHERE\b"
)
_OF_BOTH: Final = re.compile(r"\bALTER TABLE \w+\s+ADD COLUMN\b")
_DATABASE: Final = re.compile(r"\bCREATE DATABASE\b")


class TargetedStatement(NamedTuple):
    """A statement, and the database in which it runs."""

    sql: str
    database: str


def spread(statement: str, target: Server) -> Iterator[TargetedStatement]:
    """Yield the statements for a sharded cluster that replace one statement of the schema."""
    if _DATABASE.search(statement):
        yield TargetedStatement(statement, target.database)
        yield TargetedStatement(f"CREATE DATABASE IF NOT EXISTS {quoted(target.holder)}", target.database)
    elif table := _TABLE.search(statement):
        yield TargetedStatement(statement, target.holder)
        yield TargetedStatement(
            distributed_table(table[1], statement, target.cluster, target.holder), target.database
        )
    elif _OF_SHARDS.search(statement):
        yield TargetedStatement(statement, target.holder)
    elif _OF_BOTH.search(statement):
        yield TargetedStatement(statement, target.holder)
        yield TargetedStatement(statement, target.database)
    else:
        yield TargetedStatement(statement, target.database)


def distributed_table(name: str, statement: str, cluster: str, holder: str) -> str:
    """Return the distributed table over all shards' tables of that name, which `statement` creates in the database
    `holder`.
    """
    comment = _COMMENT.findall(statement)[-1]
    return (
        f"CREATE TABLE IF NOT EXISTS {name} AS {quoted(holder)}.{name}\n"
        f"ENGINE = Distributed('{cluster}', '{holder}', '{name}', {sharding_key(statement)})\n{comment}"
    )


def sharding_key(statement: str) -> str:
    """Return the sharding key: cluster and node if both sort the table, because rows with an equal sorting key must
    be on one shard.

    Other tables have few rows, all on the first shard.
    """
    (key,) = _KEY.findall(statement)
    columns = set(key.strip("()").split(", "))
    return "cityHash64(cluster, node)" if {"cluster", "node"} <= columns else "0"


WINDOW_SECONDS: Final = 7 * 86_400
"""Time within which a replicated table recognises a repeated insert, among its last 10,000 inserts."""
_HEAD: Final = re.compile(
    r"\A(?:\s*--[^\n]*\n)*\s*"
    r"(?:CREATE (?:OR REPLACE )?(?:DATABASE|TABLE|(?:MATERIALIZED )?VIEW)(?: IF NOT EXISTS)?|ALTER TABLE) "
    r"(?:`[^`]+`|\w+)"
)
_TABLE: Final = re.compile(r"^CREATE TABLE IF NOT EXISTS (\w+)", re.MULTILINE)
_ENGINE: Final = re.compile(r"^ENGINE = (Replacing|Aggregating)?MergeTree(?:\((\w+)\))?$", re.MULTILINE)
_WINDOW: Final = re.compile(r"\bnon_replicated_deduplication_window = (\d+)")


def everywhere(statement: str, target: Target) -> Sequence[TargetedStatement]:
    """Return the statement for that database: for every replica of a cluster; sharding can turn it into several."""
    if not isinstance(target, Server) or not target.cluster:
        return [TargetedStatement(statement, target.database)]
    placed = spread(statement, target) if target.sharded else [TargetedStatement(statement, target.database)]
    return [TargetedStatement(replicate(sql, target.cluster), database) for sql, database in placed]


def replicate(statement: str, cluster: str) -> str:
    """Return a CREATE or ALTER for every replica of a cluster.

    Other statements stay unchanged, because rows are replicated.
    """
    whole = _HEAD.sub(rf"\g<0> ON CLUSTER '{cluster}'", statement, count=1)
    table = _TABLE.search(statement)
    if table is None:
        return whole
    place = f"'/clickhouse/tables/{{shard}}/{{database}}/{table[1]}', '{{replica}}'"
    whole = _ENGINE.sub(lambda engine: _replicated(engine, place), whole)
    window = rf"replicated_deduplication_window = \1, replicated_deduplication_window_seconds = {WINDOW_SECONDS}"
    return _WINDOW.sub(window, whole)


def _replicated(engine: re.Match[str], place: str) -> str:
    kind, version = engine.groups()
    return f"ENGINE = Replicated{kind or ''}MergeTree({place}{f', {version}' if version else ''})"
