"""`migrate` and `digest`: the database itself."""

from typing import Annotated

import typer

from leadsman.cli.console import out
from leadsman.cli.options import DEFAULT_DSN, Dsn, existing_database
from sql.database.open import connect
from sql.questions.digest import digest as digest_tables
from sql.schema.migrate import migrate as migrate_database
from sql.schema.retention import RAW_TABLES, ROLLUP_TABLES, keep

app = typer.Typer()


@app.command(epilog="Example: leadsman migrate --db http://default@localhost:8123/leadsman --keep-samples-days 14")
def migrate(
    db: Dsn = DEFAULT_DSN,
    keep_samples_days: Annotated[
        int | None, typer.Option(min=0, help="Keep raw samples so long after they landed; 0 keeps them for ever.")
    ] = None,
    keep_rollups_days: Annotated[
        int | None, typer.Option(min=0, help="Keep five-minute roll-ups so long; 0 keeps them for ever.")
    ] = None,
) -> None:
    """Bring a database to this version's schema, and change how long it keeps samples.

    A server keeps raw samples 7 days and roll-ups 90 days after they landed; an embedded database keeps all.
    """
    with connect(db) as database:
        applied = migrate_database(database)
        for tables, days in ((RAW_TABLES, keep_samples_days), (ROLLUP_TABLES, keep_rollups_days)):
            if days is not None:
                keep(database, tables, days or None)
    out.print("\n".join(f"applied {each}" for each in applied) or "nothing to apply")
    for what, days in (("raw samples", keep_samples_days), ("five-minute roll-ups", keep_rollups_days)):
        if days is not None:
            out.print(f"{what} are kept {f'{days} days after they landed' if days else 'for ever'}")


@app.command(epilog="Example: diff <(leadsman digest --db chdb://one) <(leadsman digest --db chdb://two)")
def digest(db: Dsn = DEFAULT_DSN) -> None:
    """Print row count and hash of each table, and nothing else, to compare two databases."""
    with existing_database(db) as database:
        for each in digest_tables(database):
            typer.echo(f"{each.table} {each.rows} {each.hash}")
