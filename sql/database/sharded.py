"""DDL for rows that are spread over the shards of a ClickHouse cluster.

Each shard has the tables and feeds of the database `leadsman` in `leadsman_shard`. `leadsman` has the views and, for
each table, a Distributed one, which spreads inserts and reads from all shards. Rows that replace each other have the
same cluster and node. So they are on the same shard, which FINAL and deduplication need.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from sql.database.dsn import Server
from sql.database.quoting import quoted

_TABLE: Final = re.compile(r"^CREATE TABLE IF NOT EXISTS (\w+)", re.MULTILINE)
_KEY: Final = re.compile(r"^ORDER BY (.+)$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^COMMENT '.*'$", re.MULTILINE)
_OF_SHARDS: Final = re.compile(r"\bCREATE MATERIALIZED VIEW\b|\bMODIFY QUERY\b|\b(?:MODIFY|REMOVE) TTL\b")
_OF_BOTH: Final = re.compile(r"\bALTER TABLE \w+\s+ADD COLUMN\b")
_DATABASE: Final = re.compile(r"\bCREATE DATABASE\b")


class Placed(NamedTuple):
    """A statement, and the database in which it runs."""

    sql: str
    database: str


def spread(statement: str, target: Server) -> Iterator[Placed]:
    """Yield the statements that one statement of the schema becomes."""
    if _DATABASE.search(statement):
        yield Placed(statement, target.database)
        yield Placed(f"CREATE DATABASE IF NOT EXISTS {quoted(target.holder)}", target.database)
    elif table := _TABLE.search(statement):
        yield Placed(statement, target.holder)
        yield Placed(distributed(table[1], statement, target.cluster, target.holder), target.database)
    elif _OF_SHARDS.search(statement):
        yield Placed(statement, target.holder)
    elif _OF_BOTH.search(statement):
        yield Placed(statement, target.holder)
        yield Placed(statement, target.database)
    else:
        yield Placed(statement, target.database)


def distributed(name: str, statement: str, cluster: str, holder: str) -> str:
    """The table over all shards' tables of that name, which `statement` makes in the database `holder`."""
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
