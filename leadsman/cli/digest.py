"""`leadsman digest`: two databases compared."""

import click

from leadsman.cli import options
from leadsman.cli.database import existing_database
from sql.questions.digest import digest


@click.command("digest", epilog="Example: diff <(leadsman digest --db chdb://one) <(leadsman digest --db chdb://two)")
@options.db
def command(db: str) -> None:
    """Print row count and hash of each table, and nothing else, to compare two databases."""
    with existing_database(db) as database:
        for each in digest(database):
            click.echo(f"{each.table} {each.rows} {each.hash}")
