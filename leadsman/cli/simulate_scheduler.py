"""`leadsman simulate-scheduler`: replays changes of nodes on the scheduler's node tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from common.errors import BadRecord, SourceUnusable
from common.text import plain
from leadsman.cli import options
from leadsman.cli.exits import MESSAGE
from leadsman.cli.given import readable_sources

if TYPE_CHECKING:
    from ingest.model.records import NodeRecord


@click.command(
    "simulate-scheduler",
    epilog="Examples: leadsman simulate-scheduler examples/late-joiners.jsonl.gz --version 1.18.4; "
    "leadsman simulate-scheduler --ops ops.json",
)
@click.argument("paths", metavar="[PATH...]", nargs=-1, type=options.FILE, callback=readable_sources)
@click.option("--version", default="1.18.4", metavar="X.Y.Z", help="The scheduler's version.")
@click.option(
    "--ops",
    type=options.FILE,
    metavar="FILE",
    help='Replay a JSON list of {"op": "add"|"remove", "node", "region", "zone"} and {"op": "snapshot"}.',
)
@options.output
def command(paths: tuple[Path, ...], version: str, ops: Path | None, form: str) -> None:
    """Show which nodes a scheduler's node tree would have lost in each snapshot, and how a repaired one differs.

    PATH is a capture or a dump; its nodes arrive in the order in which they were created. With --ops it prints one
    JSON list of node names for each snapshot. In JSON and YAML, each snapshot also has the cursors
    after it: zone_index, and last_index of each zone.
    """
    from leadsman.cli.console import out
    from leadsman.cli.present.tables import raw_rows, show, show_document
    from streams.questions.simulate_scheduler import (
        Simulated,
        names_line,
        operations_of,
        parse_operations,
        report,
        simulate,
    )

    if bool(paths) == (ops is not None):
        raise click.BadParameter("give either captures and dumps (PATH), or operations (--ops FILE)")
    by_cluster = {"": parse_operations(_read(ops))} if ops is not None else operations_of(_node_records(paths))
    snapshots = {cluster: simulate(operations, version) for cluster, operations in by_cluster.items()}
    if ops is not None and form in options.FOR_PEOPLE:
        for each in snapshots[""]:
            click.echo(names_line(each))
        return
    if form not in options.FOR_PEOPLE:
        found = [{"cluster": cluster, **each._asdict()} for cluster, results in snapshots.items() for each in results]
        if form == "csv":
            show(raw_rows(("cluster", *Simulated._fields), (tuple(each.values()) for each in found)), form)
        else:
            show_document(found, form)
        return
    for cluster, results in snapshots.items():
        out.print(f"Cluster {plain(cluster)}, scheduler {plain(version)}:")
        for line in report(results):
            out.print(f"  {plain(line, MESSAGE)}", soft_wrap=True)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SourceUnusable(f"{path}: {error.strerror}") from None


def _node_records(paths: Sequence[Path]) -> Iterator[NodeRecord]:
    from ingest.files.sources import read_sources
    from ingest.model.observation import Observed
    from ingest.model.records import NodeRecord
    from ingest.normalize.normalize import normalize

    for item in read_sources(paths):
        if isinstance(item, Observed) and item.observation.resource == "nodes":
            with suppress(BadRecord):
                yield from (
                    each for each in normalize(item.observation) if isinstance(each, NodeRecord) and each.node
                )
