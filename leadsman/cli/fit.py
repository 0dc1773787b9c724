"""`leadsman fit`: where a pod would fit now."""

from collections.abc import Sequence

import click

from leadsman.cli import options
from leadsman.cli.console import out, wide
from leadsman.cli.database import existing_database
from leadsman.cli.exits import EXIT_NO_FIT
from leadsman.cli.present.fit import fit_json, fit_lines, fit_table
from sql.questions.fit import read_known
from streams.questions.fit import answer, question


@click.command("fit", epilog="Example: leadsman fit --cpu 8 --exclusive --memory 16Gi --count 3")
@click.option("--cpu", required=True, metavar="QUANTITY", help="CPUs of each container, as 8 or 500m.")
@click.option("--memory", default="0", metavar="QUANTITY", help="Memory of each container, as 16Gi.")
@click.option("--device", "devices", multiple=True, metavar="NAME=COUNT", help="Another resource of each container.")
@click.option("--exclusive", is_flag=True, help="Guaranteed QoS, with whole CPUs that the CPU Manager pins.")
@click.option("--containers", type=click.IntRange(1, 100), default=1, metavar="N", help="Such containers in the pod.")
@click.option("--count", type=click.IntRange(1), default=1, metavar="N", help="Such pods, one after the other.")
@click.option("--node", default="", show_default=False, metavar="NAME", help="This node only.")
@click.option(
    "--cluster", default="", show_default=False, metavar="NAME", help="The cluster, where the database holds several."
)
@click.option("--format", "format_", type=click.Choice(["table", "json"]), default="table", help="How to print.")
@options.db
def command(
    *,
    cpu: str,
    memory: str,
    devices: Sequence[str],
    exclusive: bool,
    containers: int,
    count: int,
    node: str,
    cluster: str,
    format_: str,
    db: str,
) -> None:
    """Show which nodes and NUMA nodes can take such a pod now, in which placement, and why the others cannot.

    The pod tolerates no taint and selects no node. Exit status 1 where it, or one of --count, does not fit; what is
    not known for sure does not count as fitting.
    """
    asked = question(cpu, memory, devices, exclusive=exclusive, containers=containers, count=count)
    with existing_database(db) as database:
        known = read_known(database, cluster, node)
    found = answer(asked, known.candidates, known.strategies, known.scheduler_minor)
    if format_ == "json":
        click.echo(fit_json(known, asked, found))
    else:
        for line in fit_lines(known, asked, found):
            out.print(line, soft_wrap=True)
        wide.print(fit_table(found))
    if not found.fits:
        click.get_current_context().exit(EXIT_NO_FIT)
