"""Unusable clusters of ClickHouse are refused before anything is created there."""

import re
from collections.abc import Mapping
from typing import Any, cast

import pytest

from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.schema.migrate import check_cluster


class Answering:
    """Stands in for a server: with these clusters, and a table of this engine."""

    embedded = False

    def __init__(self, cluster: str, engine: str = "", *, sharded: bool = False) -> None:
        self.cluster = cluster
        self.sharded = sharded
        self._engine = engine

    def __str__(self) -> str:
        return "http://h:8123/leadsman"

    def query(self, sql: str, parameters: Mapping[str, str] | None = None) -> Any:
        rows: list[tuple[Any, ...]] = [("both", 2, 0), ("each", 2, 1), ("prod", 1, 0)]
        if parameters:
            assert "system.tables" in sql
            rows = [("nodes",)] if re.search(parameters["engines"], self._engine) else []
        return type("Found", (), {"rows": rows})


@pytest.mark.parametrize(
    "answering",
    [
        Answering(""),
        Answering("", "ReplacingMergeTree"),
        Answering("", "SharedReplacingMergeTree"),
        Answering("prod"),
        Answering("prod", "ReplicatedReplacingMergeTree"),
        Answering("prod", sharded=True),
        Answering("both", sharded=True),
        Answering("both", "Distributed", sharded=True),
    ],
)
def test_one_server_and_the_replicas_of_one_shard_and_of_several_are_taken(answering: Answering) -> None:
    check_cluster(cast("Database", answering))


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        (Answering("prd"), "knows no cluster 'prd'. It knows: both, each, prod"),
        (Answering("both"), "has 2 shards.*Add &sharded=1"),
        (Answering("prod", "ReplacingMergeTree"), "table nodes is there already and is not replicated"),
        (Answering("prod", "MergeTree"), "table nodes is there already and is not replicated"),
        (Answering("both", "ReplicatedReplacingMergeTree", sharded=True), "nodes is there already and is not spread"),
        (Answering("each", sharded=True), "Give the shards of 'each' <internal_replication>true"),
        (Answering("", "Distributed"), "table nodes are spread over shards. Add cluster=NAME&sharded=1"),
        (Answering("prod", "Distributed"), "table nodes are spread over shards. Add cluster=NAME&sharded=1"),
    ],
)
def test_a_cluster_that_would_lose_rows_is_refused(answering: Answering, reason: str) -> None:
    with pytest.raises(DatabaseError, match=reason):
        check_cluster(cast("Database", answering))
