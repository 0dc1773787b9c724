"""`leadsman backtest`: tries rule sets on captures."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from leadsman.cli import options
from leadsman.cli.exits import EXIT_BAD_INPUT, note

if TYPE_CHECKING:
    from sql.questions.backtest import Backtest


@click.command(
    "backtest",
    epilog="Examples: leadsman backtest examples/node-pressure-k8s-1.36.jsonl.gz; "
    "leadsman backtest examples/node-pressure-k8s-1.36.jsonl.gz -o json; "
    "leadsman backtest incident/ --rules ours.yaml --compare stricter.yaml",
)
@options.sources
@options.since_until
@click.option(
    "--rules", type=options.READABLE, metavar="FILE", help="Rules as YAML; omitted settings keep their defaults."
)
@click.option("--compare", type=options.READABLE, metavar="FILE", help="A second rule set to compare with the first.")
@options.output
def command(
    paths: tuple[Path, ...],
    *,
    rules: Path | None,
    compare: Path | None,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    cluster: str,
    node: str,
    at: datetime | None,
    form: str,
) -> None:
    """Show which alerts a rule set would have raised on captures, and how early they warned.

    It also shows the evictions that no alert announced, false alarms, the accuracy of forecasts and predicted ranks,
    and the alerts that cannot fire because an input is missing. The last line sums this up. It needs no database.
    In the last example, incident/, ours.yaml and stricter.yaml stand for files of your own.
    """
    from ingest.files.ahead import read_ahead
    from ingest.files.progress import progress_bar
    from leadsman.cli.present.backtest import document, fired_rows
    from leadsman.cli.present.tables import show_raw
    from leadsman.cli.since import last_in_files, settled
    from sql.questions.backtest import backtest
    from streams.alerting.rules_file import default_rules, read_rules

    rule_sets = {_name(rules): read_rules(rules) if rules else default_rules()}
    if compare is not None:
        rule_sets[_name(compare, rule_sets)] = read_rules(compare)
    between = settled(since, until, lambda: last_in_files(paths, cluster, node, at))
    with progress_bar(quiet=form not in options.FOR_PEOPLE) as progress:
        items = read_ahead(paths, cluster=cluster, node=node, at=at, progress=progress, **between._asdict())
        found = backtest(items, rule_sets)
    if not show_raw(form, lambda: document(found), lambda: fired_rows(found)):
        _print(found, form)
    if found.report.dead_letters:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.report.dead_letters.items()))
        note(f"leadsman: some input was bad; everything else was replayed: {kinds}")
        click.get_current_context().exit(EXIT_BAD_INPUT)


def _print(found: Backtest, form: str) -> None:
    from leadsman.cli.present.backtest import as_tables
    from leadsman.cli.present.tables import show_columns

    for number, shown in enumerate(as_tables(found)):
        if not isinstance(shown, str):
            show_columns(shown, form, fewer=True)
            continue
        if number:
            click.echo()
        click.echo(shown)


def _name(file: Path | None, others: Collection[str] = ()) -> str:
    if file is None:
        return "packaged"
    return str(file) if file.name in others else file.name
