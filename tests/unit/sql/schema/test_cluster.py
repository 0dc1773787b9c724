"""Which clusters of ClickHouse are refused, before anything is made there."""

from typing import Any, cast

import pytest

from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.schema.cluster import check_cluster


class Answering:
    """Stands in for a server: with these clusters, and this table that is not replicated."""

    def __init__(self, cluster: str, alone: str = "") -> None:
        self.cluster = cluster
        self._alone = alone

    def __str__(self) -> str:
        return "http://h:8123/leadsman"

    def query(self, sql: str) -> Any:
        rows: list[tuple[Any, ...]] = [("both", 2), ("prod", 1)]
        if "system.tables" in sql:
            rows = [(self._alone,)] if self._alone else []
        return type("Found", (), {"rows": rows})


@pytest.mark.parametrize("cluster", ["", "prod"])
def test_one_server_and_the_replicas_of_one_shard_are_taken(cluster: str) -> None:
    check_cluster(cast("Database", Answering(cluster)))


@pytest.mark.parametrize(
    ("answering", "reason"),
    [
        (Answering("prd"), "knows no cluster 'prd'. It knows: both, prod"),
        (Answering("both"), "has 2 shards"),
        (Answering("prod", alone="nodes"), "table nodes is there already and is not replicated"),
    ],
)
def test_what_would_lose_rows_is_refused(answering: Answering, reason: str) -> None:
    with pytest.raises(DatabaseError, match=reason):
        check_cluster(cast("Database", answering))
