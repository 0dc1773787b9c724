"""`leadsman migrate`: the schema, and how long samples stay."""

import click

from leadsman.cli import options
from leadsman.cli.console import out
from sql.database.open import connect
from sql.schema.migrate import migrate
from sql.schema.retention import RAW_TABLES, ROLLUP_TABLES, keep


@click.command(
    "migrate",
    epilog="Example: leadsman migrate --db http://default@localhost:8123/leadsman --keep-samples-days 14",
)
@options.db
@click.option(
    "--keep-samples-days",
    type=click.IntRange(0),
    metavar="DAYS",
    help="Keep raw samples this long after they landed; 0 keeps them for ever.",
)
@click.option(
    "--keep-rollups-days",
    type=click.IntRange(0),
    metavar="DAYS",
    help="Keep five-minute roll-ups this long; 0 keeps them for ever.",
)
def command(db: str, keep_samples_days: int | None, keep_rollups_days: int | None) -> None:
    """Bring a database to this version's schema, and change how long it keeps samples.

    A server keeps raw samples 7 days and roll-ups 90 days after they landed; an embedded database keeps all.
    """
    kept = (
        ("raw samples", RAW_TABLES, keep_samples_days),
        ("five-minute roll-ups", ROLLUP_TABLES, keep_rollups_days),
    )
    with connect(db) as database:
        applied = migrate(database)
        for _, tables, days in kept:
            if days is not None:
                keep(database, tables, days or None)
    out.print("\n".join(f"applied {each}" for each in applied) or "nothing to apply")
    for what, _, days in kept:
        if days is not None:
            out.print(f"{what} are kept {f'{days} days after they landed' if days else 'for ever'}")
