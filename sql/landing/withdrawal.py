"""Deletes withdrawn rows, by the identities that `streams.fold.passes` computes."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Final

from sql.database.errors import SYNTAX, QueryFailed
from sql.database.open import Database
from sql.database.replicated import quoted

_KEYS: Final = """
SELECT table, name, type FROM system.columns
WHERE database = {holder:String} AND is_in_sorting_key ORDER BY table, position
"""
_WATCHED: Final = "SELECT 1 FROM watches WHERE cluster = {cluster:String} LIMIT 1"
AT_ONCE: Final = 5_000
"""Maximum number of identities in a statement, with 22 characters each: ClickHouse parses 256 KiB by default."""


class DatabaseRows:
    """The rows of a database, by the columns of their natural key."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._keys: defaultdict[str, dict[str, str]] = defaultdict(dict)
        """Types of the columns of each table's natural key, by their names."""

    def key(self, table: str) -> Sequence[str]:
        """Return the columns of the natural key, in the order of the table's columns."""
        if not self._keys:
            for name_of_table, name, kind in self._database.query(_KEYS, {"holder": self._database.holder}).rows:
                self._keys[name_of_table][name] = kind
        return list(self._keys[table])

    def is_watched(self, cluster: str) -> bool:
        """Tell whether watchers of a cluster have rows. Raises DatabaseError."""
        return bool(self._database.query(_WATCHED, {"cluster": cluster}, described=False).rows)

    def check(self, tables: Collection[str]) -> None:
        """Raise QueryFailed, which names the grant, if the user of a server may not delete rows of these tables.

        Servers before 24.11 cannot be asked; there the deletion itself fails.
        """
        if self._database.embedded:
            return
        holder = quoted(self._database.holder)
        try:
            if self._may_delete(f"{holder}.*") or all(self._may_delete(f"{holder}.{table}") for table in tables):
                return
            ((user,),) = self._database.query("SELECT currentUser()", described=False).rows
        except QueryFailed as error:
            if error.code == SYNTAX:
                return
            raise
        raise QueryFailed(
            f"{self._database}: an earlier replay of a dump of this cluster stored rows that this one may have to"
            f" take back, and the user may not delete them. Nothing was changed. GRANT ALTER DELETE ON {holder}.* TO"
            f" {quoted(user)}, or give this dump another --cluster"
        )

    def _may_delete(self, what: str) -> bool:
        return self._database.may(f"ALTER DELETE ON {what}")

    def withdraw(self, cluster: str, table: str, identities: Collection[int]) -> None:
        """Delete these rows of a cluster. Raises DatabaseError, also if the user may not delete."""
        if self._database.embedded:
            self._database.command("SYSTEM START MERGES")  # a lander stopped merges, and a deletion needs them
        texts = ", '\\0', ".join(self._text(table, name) for name in self.key(table))
        of_cluster = f"cluster = unhex('{cluster.encode(errors='replace').hex()}')"
        every = sorted(identities)
        for start in range(0, len(every), AT_ONCE):
            of_these = ", ".join(map(str, every[start : start + AT_ONCE]))
            self._database.define(
                f"ALTER TABLE {table} DELETE WHERE {of_cluster} AND xxh3(concat({texts})) IN ({of_these}) "
                "SETTINGS mutations_sync = 2"
            )

    def _text(self, table: str, name: str) -> str:
        is_time = self._keys[table][name].startswith("DateTime64")
        return f"toString({f'toUnixTimestamp64Micro({name})' if is_time else name})"
