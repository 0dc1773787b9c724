"""`backtest`: which alerts a rule set would have fired."""

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ingest.files.ahead import read_ahead
from ingest.files.progress import progress_bar
from leadsman.cli.console import EXIT_BAD_INPUT, EXIT_USAGE, err, fail, wide
from leadsman.cli.options import At, Cluster, Node, Paths, Since, Until

app = typer.Typer()


class Format(StrEnum):
    """How `backtest` prints."""

    TABLE = "table"
    JSON = "json"


Rules = Annotated[
    Path | None,
    typer.Option("--rules", metavar="FILE", help="Rules as YAML; what it leaves out is as in the packaged ones."),
]


@app.command(
    epilog="Examples: leadsman backtest examples/node-pressure-k8s-1.36.jsonl.gz; "
    "leadsman backtest incident/ --rules ours.yaml --compare stricter.yaml --format json"
)
def backtest(
    paths: Paths,
    *,
    rules: Rules = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="FILE", help="A second rule set, side by side.")
    ] = None,
    since: Since = None,
    until: Until = None,
    cluster: Cluster = "default",
    node: Node = "",
    at: At = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
) -> None:
    """Say which alerts a rule set would have fired on captures, and how long before what they announce.

    Also which evictions nothing announced, which forecasts nothing followed, how right forecasts and predicted ranks
    were, and which alerts cannot fire for want of an input. No database is needed, and none is changed.
    """
    from leadsman.cli.present.backtest import as_json, as_tables  # noqa: PLC0415 - as above
    from sql.questions.backtest import backtest as run_backtest  # noqa: PLC0415 - pydantic, which few commands need
    from streams.alerting.rules_file import BadRules, default_rules, read_rules  # noqa: PLC0415 - as above

    try:
        rule_sets = {_name(rules): read_rules(rules) if rules else default_rules()}
        if compare is not None:
            rule_sets[_name(compare, rule_sets)] = read_rules(compare)
    except BadRules as error:
        fail(str(error), EXIT_USAGE)
    with progress_bar(quiet=format_ is Format.JSON) as progress:
        items = read_ahead(paths, cluster=cluster, node=node, at=at, since=since, until=until, progress=progress)
        found = run_backtest(items, rule_sets)
    if format_ is Format.JSON:
        typer.echo(as_json(found))
    else:
        for number, shown in enumerate(as_tables(found)):
            if number and isinstance(shown, str):
                wide.print()
            wide.print(shown, markup=False, highlight=False)
    if found.report.dead_letters:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.report.dead_letters.items()))
        err.print(f"leadsman: some input was bad, all else was replayed: {kinds}", soft_wrap=True)
        raise typer.Exit(EXIT_BAD_INPUT)


def _name(file: Path | None, others: Collection[str] = ()) -> str:
    """What a rule set is called in the tables: its file, or `packaged`."""
    if file is None:
        return "packaged"
    return str(file) if file.name in others else file.name
