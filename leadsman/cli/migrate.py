"""`leadsman migrate`: updates the schema, and sets how long rows are kept."""

from collections.abc import Callable
from typing import Any

import click

from common.amounts import counted
from leadsman.cli import options


def _keep_options(command: Callable[..., Any]) -> Callable[..., Any]:
    from sql.schema.retention import KEPT

    for kept in reversed(KEPT):
        text = f"Keep {kept.what} this many days after they were stored; 0 keeps them forever."
        option = click.option(f"--keep-{kept.name}-days", type=click.IntRange(0), metavar="DAYS", help=text)
        command = option(command)
    return command


@click.command(
    "migrate",
    epilog="Example: leadsman migrate --db http://leadsman:leadsman@localhost:8123/leadsman --keep-samples-days 14",
)
@options.db
@_keep_options
def command(db: str, **days: int | None) -> None:
    """Update a database to this version's schema, and set how long it keeps rows.

    A server keeps raw samples for 7 days after they were stored. It keeps events, roll-ups and changes of pods for 90
    days, and findings, alerts, source errors and dead letters for 365. The rows of running pods and firing alerts
    stay. An embedded database keeps everything.
    """
    from leadsman.cli.console import out
    from sql.database.open import connect
    from sql.schema.migrate import migrate
    from sql.schema.retention import KEPT, keep

    given = [(kept, days[f"keep_{kept.name}_days"]) for kept in KEPT]
    with connect(db) as database:
        applied = migrate(database)
        for kept, number in given:
            if number is not None:
                keep(database, kept.tables, number or None)
    out.print("\n".join(f"applied {each}" for each in applied) or "the schema is up to date")
    for kept, number in given:
        if number is not None:
            kept_for = f"{counted(number, 'day')} after they were stored" if number else "forever"
            out.print(f"{kept.what} are kept {kept_for}")
