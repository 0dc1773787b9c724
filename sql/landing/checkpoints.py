"""The replay's checkpoints in the table `replay_checkpoints`."""

from collections.abc import Mapping, Sequence

from sql.database.lean_arrow import pa
from sql.database.open import Database
from streams.fold.checkpoints import Entry

TABLE = "replay_checkpoints"
_LATEST = f"""
SELECT key, hex(value) FROM {TABLE} FINAL
WHERE cluster = {{cluster:String}} AND kind = {{kind:String}} AND ({{key:String}} = '' OR key = {{key:String}})
"""


class DatabaseCheckpoints:
    """Checkpoints beside the rows that they are about. All entries of one `save` are one block: stored together."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def load(self, cluster: str, kind: str, key: str | None = None) -> Mapping[str, bytes]:
        found = self._database.query(_LATEST, {"cluster": cluster, "kind": kind, "key": key or ""})
        return {name: bytes.fromhex(value) for name, value in found.rows}

    def save(self, entries: Sequence[Entry]) -> None:
        written = self._database.query(f"SELECT max(written) + 1 FROM {TABLE}").rows[0][0]
        clusters, kinds, keys, values = zip(*entries, strict=True)
        columns = {
            "cluster": pa.array(clusters, pa.string()),
            "kind": pa.array(kinds, pa.string()),
            "key": pa.array(keys, pa.string()),
            "written": pa.array([written] * len(entries), pa.uint64()),
            "value": pa.array(values, pa.binary()),
        }
        self._database.insert(TABLE, pa.table(columns))
