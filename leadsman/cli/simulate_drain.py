"""`leadsman simulate-drain`: shows what happens to the pods of drained nodes."""

from collections.abc import Sequence

import click

from leadsman.cli import completion, options
from leadsman.cli.exits import EXIT_NO_FIT


@click.command(
    "simulate-drain",
    epilog="Examples: leadsman simulate-drain master-1 --cluster late-joiners; "
    "kubectl get nodes,pods,poddisruptionbudgets -A -o json | leadsman replay - --db chdb://one; "
    "leadsman simulate-drain node-1 node-2 --db chdb://one",
)
@click.argument("nodes", metavar="NODE...", nargs=-1, required=True, shell_complete=completion.nodes)
@options.of_database("--cluster", completion.clusters, "The cluster, if the database holds several.")
@options.output
@options.db
def command(nodes: Sequence[str], cluster: str, form: str, db: str) -> None:
    """Show what a drain of nodes would do to each pod: where it moves, why it is refused, or that it ends.

    It changes nothing. A drain refuses pods whose disruption budget allows no disruption, and those with two budgets.
    A pod without a controller ends for good. A pod moves to a node where the rules of `leadsman fit` find room, after
    the drained pods of higher priority. The scheduler may choose other nodes. Pods of DaemonSets and static pods
    stay. A drain loses the data of emptyDir volumes. Exit status 1 if a pod cannot move, or if no disruption budgets
    were read, so that one could refuse a pod.
    """
    from leadsman.cli.database import existing_database
    from leadsman.cli.present.drain import drain_columns, drain_document, drain_lines, drain_rows
    from leadsman.cli.present.tables import show_columns, show_lines, show_raw
    from sql.questions.drain import read_drain
    from streams.questions.drain import HARMLESS, preview, summary

    with existing_database(db) as database:
        drain = read_drain(database, cluster, set(nodes))
    fates = preview(drain.pods, drain.cluster)
    if not show_raw(form, lambda: drain_document(drain, fates), lambda: drain_rows(fates)):
        show_lines(drain_lines(drain, fates), form)
        show_columns(drain_columns(fates), form)
    outcomes = summary(fates).keys()
    could_be_refused = "moves" in outcomes and not (drain.budgets_are_listed or drain.cluster.budgets)
    if could_be_refused or not outcomes <= HARMLESS:
        click.get_current_context().exit(EXIT_NO_FIT)
