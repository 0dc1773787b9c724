"""`leadsman fit`: shows where a pod would fit now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import IO, TYPE_CHECKING, Any

import click

from common.errors import WrongUsage
from common.text import plain_json
from leadsman.cli import completion, options
from leadsman.cli.exits import EXIT_BAD_INPUT, EXIT_NO_FIT

if TYPE_CHECKING:
    from sql.questions.fit import ClusterFacts
    from streams.questions.fit import Answer
    from streams.questions.fit_request import FitRequest


@click.command(
    "fit",
    epilog="Examples: leadsman fit --cpu 4 --exclusive --memory 4Gi --count 2 --cluster late-joiners; "
    "leadsman fit -f examples/deployment.yaml --cluster late-joiners; "
    "leadsman fit --pod shop/needs-8 --cluster late-joiners --like node-5; "
    "leadsman fit --cpu 8 --exclusive --count 3 --cluster late-joiners --like node-5; "
    "leadsman fit --cpu 500m --cluster lab -o json",
)
@click.option("--cpu", metavar="QUANTITY", help="CPUs of each container, for example 8 or 500m.")
@click.option(
    "-f",
    "--filename",
    "manifest",
    type=click.File("rb"),
    metavar="FILE",
    help="A manifest with the pod or its template; - reads standard input.",
)
@click.option(
    "--pod",
    "pending",
    metavar="NAMESPACE/NAME",
    help="A pod that is pending in the database; without a namespace, of default.",
)
@click.option("--memory", default="0", metavar="QUANTITY", help="Memory of each container, for example 16Gi.")
@click.option("--device", "devices", multiple=True, metavar="NAME=COUNT", help="Another resource of each container.")
@click.option(
    "--exclusive",
    is_flag=True,
    help="Require exclusive CPUs: only nodes with the static CPU Manager qualify. With --cpu, the pod is Guaranteed.",
)
@click.option(
    "--containers", type=click.IntRange(1, 100), default=1, metavar="N", help="Number of such containers in the pod."
)
@click.option(
    "--count",
    type=click.IntRange(1),
    metavar="N",
    help="Number of such pods to place at once; by default 1, or the replicas in the manifest.",
)
@options.of_database("--node", completion.nodes, "This node only.")
@options.of_database(
    "--like", completion.nodes, "Judge one new node like this one instead, on which only its DaemonSet pods run."
)
@options.of_database("--cluster", completion.clusters, "The cluster, if the database holds several.")
@click.option(
    "--questions",
    type=click.File("rb"),
    metavar="FILE",
    help='Answer each line of this file, as {"id": 7, "cpu": "8", "exclusive": true}; - reads standard input.',
)
@options.output
@options.db
def command(
    *,
    cpu: str | None,
    manifest: IO[bytes] | None,
    pending: str | None,
    memory: str,
    devices: Sequence[str],
    exclusive: bool,
    containers: int,
    count: int | None,
    node: str,
    like: str,
    cluster: str,
    questions: Iterable[bytes] | None,
    form: str,
    db: str,
) -> None:
    """Show which nodes and NUMA nodes can take a pod now, and why the others cannot.

    A pod given by --cpu has no tolerations and no node selector. A pod given by --filename is judged by its whole
    manifest: node selector and affinity, tolerations, host ports, affinity to other pods, topology spread, and
    claims of volumes and devices. Its init containers are admitted in their order. The result of a claim made from a
    template is unknown. A pod with nodeName skips the scheduler. ResourceQuota and LimitRange are not
    judged. A Guaranteed pod with whole CPUs also fits nodes whose kubelet pins none, unless --exclusive
    is given. Exit status 1 if the pod, or one of --count, does not fit; an unknown result does not count as fitting.

    With --filename or --pod, each node that passes the scheduler's filters has its score, and the highest wins. It is
    the sum over the plugins of the default profile of kube-scheduler 1.36, with their weights. Other profiles are not
    read. A plugin without evidence is named and does not count; -o json has null for it. A pod given by --pod is
    judged by its stored row, without its memory and devices in NUMA nodes.

    If no node passes the filters, it names the pods of lower priority that the scheduler would end for the pod, and
    the node. It does so by the rules of kube-scheduler 1.36, without extenders and pods nominated to a node already.
    The value of a priority class other than the system's is unknown, unless the manifest has its priority.

    With --like, it shows what one more node would take. That node is ready, and runs only the DaemonSet pods and
    static pods of the named one. Its exclusive CPUs are unknown if the named node's reserved CPUs are.

    With --questions, each line of JSON is a question with the keys id, cpu, memory, containers, exclusive, count,
    devices and node. Only cpu is required. Each answer is a line of JSON with the same id, in the same order. A line
    that is not a question gets its error as the answer, and the exit status is 3.
    """
    from msgspec.structs import replace

    from leadsman.cli.database import existing_database
    from sql.questions.fit import one_more, read_known
    from sql.questions.fit_pending import pending_pod
    from sql.questions.fit_preemption import read_preemption
    from streams.questions.fit import answer
    from streams.questions.fit_like import adds_up
    from streams.questions.fit_request import fit_request, request_of_manifest

    if sum(each is not None for each in (cpu, manifest, pending, questions)) != 1:
        raise WrongUsage("give one pod with --cpu, --filename or --pod, or many with --questions")
    if pending is not None and (count is not None or exclusive):
        raise WrongUsage("--pod asks about one pod as it is: give it without --count and --exclusive")
    if like and (node or questions is not None):
        raise WrongUsage("--like asks about one new node: give it without --node and --questions")
    if questions is not None:
        with existing_database(db) as database:
            known = read_known(database, cluster)
        _print_answers(questions, known, node)
        return
    pod = None
    if manifest is not None:
        request, pod = request_of_manifest(_read(manifest), count, insists=exclusive)
    elif cpu is not None:
        request = fit_request(cpu, memory, devices, exclusive=exclusive, containers=containers, count=count or 1)
    with existing_database(db) as database:
        known = read_known(database, cluster, node, with_pods=cpu is None)
        if pending is not None:
            request, pod = pending_pod(database, known, pending)
        known = one_more(database, known, like) if like else known
        found = answer(
            request,
            known.candidates,
            known.strategies,
            known.scheduler_minor,
            pod=pod,
            everywhere=known.everywhere,
            storage=known.storage,
            namespaces=known.namespaces,
            devices=known.devices,
        )
        if pod is not None and not (found.pods or like):
            found = replace(found, preemption=read_preemption(database, known, pod))
    _print(known, request, found, form, insists=pod is None or exclusive, more=bool(like) and adds_up(pod))
    if not found.fits:
        click.get_current_context().exit(EXIT_NO_FIT)


def _print(known: ClusterFacts, request: FitRequest, found: Answer, form: str, *, insists: bool, more: bool) -> None:
    from leadsman.cli.present.fit import fit_columns, fit_lines, fit_rows
    from leadsman.cli.present.tables import show_columns, show_lines, show_raw
    from sql.questions.fit import fit_document

    if not show_raw(form, lambda: fit_document(known, request, found), lambda: fit_rows(found)):
        show_lines(fit_lines(known, request, found, insists=insists, more=more), form)
        show_columns(fit_columns(found), form, fewer=True)


def _print_answers(questions: Iterable[bytes], known: ClusterFacts, node: str) -> None:
    import msgspec

    bad = False
    for each in _answers(questions, known, node):
        bad = bad or "error" in each
        click.echo(plain_json(msgspec.json.encode(each)))
    if bad:
        click.get_current_context().exit(EXIT_BAD_INPUT)


def _read(manifest: IO[bytes]) -> Any:
    """Read the first document of a YAML file. Raises BadFitRequest."""
    import yaml

    from ingest.files.yaml_documents import AliasError, first_document
    from streams.questions.fit_request import BadFitRequest

    try:
        return first_document(manifest.read())
    except AliasError:
        raise BadFitRequest(
            "the manifest is too large with its YAML aliases: replace each alias with its content"
        ) from None
    except RecursionError:
        raise BadFitRequest("not YAML that can be read: it is nested too deep") from None
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        raise BadFitRequest(f"not YAML: {' '.join(str(error).split())[:200]}") from None


def _answers(lines: Iterable[bytes], known: ClusterFacts, node: str) -> Iterator[dict[str, Any]]:
    """Yield the answer to each line that is not blank; a line without a node uses `node`."""
    from sql.questions.fit import fit_document
    from sql.questions.queries import BadParameter
    from streams.questions.fit import answer
    from streams.questions.fit_request import BadFitRequest, line_id, parse_line

    of = cache(known.of)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            parsed = parse_line(line)
            target = of(parsed.node or node) if parsed.node or node else known
            request = parsed.fit_request()
        except (BadFitRequest, BadParameter) as error:
            yield {"id": line_id(line), "error": f"line {number}: {error}"}
            continue
        found = answer(request, target.candidates, target.strategies, target.scheduler_minor)
        yield {"id": parsed.id, **fit_document(target, request, found)}
