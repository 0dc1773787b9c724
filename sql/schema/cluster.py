"""Checks that the ClickHouse cluster of an address can hold the tables."""

from sql.database.errors import DatabaseError
from sql.database.open import Database

_SHARDS = """
SELECT cluster, toUInt32(uniqExact(shard_num)), max(replica_num > 1 AND NOT internal_replication)
FROM system.clusters GROUP BY cluster ORDER BY cluster
"""
_OTHERS = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND match(engine, {engines:String}) ORDER BY name LIMIT 1
"""
_ALONE = "^(Replacing|Aggregating)?MergeTree$"
_NOT_SPREAD = "MergeTree$"
_SPREAD = "^Distributed$"


def check_cluster(db: Database) -> None:
    """Raise DatabaseError for an unknown cluster, for several shards without spreading, and for existing tables of
    another form.

    CREATE TABLE IF NOT EXISTS would leave such tables unchanged.
    """
    if db.embedded:
        return
    name = db.cluster
    if not db.sharded and (spread := _found(db, _SPREAD)):
        raise DatabaseError(
            f"{db}: the rows of the table {spread} are spread over shards. Add cluster=NAME&sharded=1 to the address"
        )
    if not name:
        return
    shards = {cluster: (count, writes_each) for cluster, count, writes_each in db.query(_SHARDS).rows}
    if name not in shards:
        known = ", ".join(shards) or "none"
        raise DatabaseError(f"{db}: the server knows no cluster {name!r}. It knows: {known}")
    count, writes_each_replica = shards[name]
    if db.sharded and writes_each_replica:
        raise DatabaseError(
            f"{db}: a row would be written to each replica of a shard, besides being replicated. Give the shards of "
            f"{name!r} <internal_replication>true</internal_replication>"
        )
    if count > 1 and not db.sharded:
        raise DatabaseError(
            f"{db}: the cluster {name!r} has {count} shards, and what is stored through one would be missing "
            "from the others. Add &sharded=1, or name a cluster that is the replicas of one shard"
        )
    if other := _found(db, _NOT_SPREAD if db.sharded else _ALONE):
        raise DatabaseError(
            f"{db}: the table {other} is there already and is not {'spread' if db.sharded else 'replicated'}. "
            "Name a new database, and copy the rows as docs/sql.md describes"
        )


def _found(db: Database, engines: str) -> str:
    found = db.query(_OTHERS, {"engines": engines}).rows
    return str(found[0][0]) if found else ""
