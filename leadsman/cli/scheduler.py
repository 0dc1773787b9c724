"""`simulate-scheduler`: the node tree, replayed."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from common.errors import BadRecord
from common.text import plain
from ingest.files.capture import SourceError
from ingest.files.sources import read_sources
from ingest.model.observation import Observed
from ingest.model.records import NodeRecord
from ingest.normalize.normalize import normalize
from leadsman.cli.console import EXIT_USAGE, MESSAGE, fail, out
from streams.questions.simulate_scheduler import BadOperations, names_line, operations_of, parse_operations, simulate
from streams.questions.simulate_scheduler import report as scheduler_report
from streams.rules.scheduling.node_tree import UnknownVersion

app = typer.Typer()


@app.command(
    "simulate-scheduler",
    epilog="Examples: leadsman simulate-scheduler capture.jsonl.gz --version 1.18.4; "
    "leadsman simulate-scheduler --ops ops.json",
)
def simulate_scheduler(
    paths: Annotated[list[Path] | None, typer.Argument(metavar="PATH...", help="Captures or dumps.")] = None,
    version: Annotated[str, typer.Option(help="The scheduler's version.")] = "1.18.4",
    ops: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='A JSON list of {"op": "add"|"remove", "node", "region", "zone"} and {"op": "snapshot"} instead.',
        ),
    ] = None,
) -> None:
    """Say which nodes each snapshot of a scheduler's node tree would have lost, and the same for the repaired one.

    With --ops it prints one JSON list of node names for each snapshot.
    """
    if bool(paths) == (ops is not None):
        raise typer.BadParameter("give captures or --ops FILE, one of the two")
    try:
        if ops is not None:
            for each in simulate(parse_operations(_read(ops)), version):
                typer.echo(names_line(each))
            return
        for cluster, operations in operations_of(_node_records(paths or [])).items():
            out.print(f"Cluster {plain(cluster)}, scheduler {plain(version)}:")
            for line in scheduler_report(simulate(operations, version)):
                out.print(f"  {plain(line, MESSAGE)}", soft_wrap=True)
    except (BadOperations, UnknownVersion) as error:
        fail(str(error), EXIT_USAGE)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None


def _node_records(paths: list[Path]) -> Iterator[NodeRecord]:
    for item in read_sources(paths):
        if isinstance(item, Observed) and item.observation.resource == "nodes":
            with suppress(BadRecord):
                yield from (
                    each for each in normalize(item.observation) if isinstance(each, NodeRecord) and each.node
                )
