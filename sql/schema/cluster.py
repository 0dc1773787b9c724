"""Whether the cluster of ClickHouse that an address names can hold the tables."""

from sql.database.errors import DatabaseError
from sql.database.open import Database

_SHARDS = "SELECT cluster, toUInt32(uniqExact(shard_num)) FROM system.clusters GROUP BY cluster ORDER BY cluster"
_ALONE = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND NOT match(engine, '^(Replicated|Shared)')
ORDER BY name LIMIT 1
"""


def check_cluster(db: Database) -> None:
    """Raises DatabaseError where the cluster is unknown, or has several shards, or tables are there that no replica
    gets: CREATE TABLE IF NOT EXISTS would leave them so.
    """
    name = db.cluster
    if not name:
        return
    shards: dict[str, int] = dict(db.query(_SHARDS).rows)
    if name not in shards:
        known = ", ".join(shards) or "none"
        raise DatabaseError(f"{db}: the server knows no cluster {name!r}. It knows: {known}")
    if shards[name] > 1:
        raise DatabaseError(
            f"{db}: the cluster {name!r} has {shards[name]} shards, and what is stored through one would be missing "
            "from the others. Name a cluster that is the replicas of one shard"
        )
    if alone := db.query(_ALONE).rows:
        raise DatabaseError(
            f"{db}: the table {alone[0][0]} is there already and is not replicated. "
            "Name a new database, and copy the rows as docs/sql.md describes"
        )
