"""The last step of a replay: drop replaced rows, also for readers without FINAL."""

from sql.database.open import Database
from sql.landing.arrow import NODE_SAMPLES, POD_SAMPLES, SCHEMAS
from streams.fold.findings import NEVER_REPLACED

_PARTS_OF_TABLES = """
SELECT table FROM system.parts
WHERE active AND database = currentDatabase() AND table IN ({tables:Array(String)})
GROUP BY table, partition HAVING count() > 1 OR max(level) = 0
"""


def settle(database: Database) -> None:
    """Merge the replacing tables whose rows can have been replaced; samples of the same key are the same."""
    tables = sorted(SCHEMAS.keys() - {NODE_SAMPLES, POD_SAMPLES} - NEVER_REPLACED)
    unmerged = {row[0] for row in database.query(_PARTS_OF_TABLES, {"tables": tables}).rows}
    for table in sorted(unmerged):
        database.command(f"OPTIMIZE TABLE {table} FINAL")
