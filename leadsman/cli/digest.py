"""`leadsman digest`: compares two databases."""

import click

from leadsman.cli import options


@click.command(
    "digest",
    epilog="Examples: leadsman digest; diff <(leadsman digest --db chdb://one) <(leadsman digest --db chdb://two)",
)
@options.output
@options.existing_db
def command(form: str, db: str) -> None:
    """Print the row count and hash of each table, to compare two databases."""
    from leadsman.cli.database import existing_database
    from leadsman.cli.present.tables import raw_rows, show
    from sql.questions.digest import TableDigest, digest

    with existing_database(db) as database:
        found = digest(database)
    if form not in options.FOR_PEOPLE:
        show(raw_rows(TableDigest._fields, found), form)
        return
    for each in found:
        click.echo(f"{each.table} {each.rows} {each.hash}")
