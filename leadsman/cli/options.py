"""Options and arguments that several commands share."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial, reduce
from pathlib import Path
from typing import Any, Final, TypeAlias

import click
from click.shell_completion import CompletionItem

from common.durations import parse_duration
from common.errors import BadValue
from leadsman.cli import completion
from leadsman.cli.given import DEFAULT_DSN, Kubeconfig, ReadableFile, existing_database, readable_sources

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
Completed: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
PORT: Final = 8420
NODES: Final = 2
"""Number of nodes that a report shows in detail."""
_DAYS: Final = re.compile(r"([0-9]{1,6})d")


READABLE: Final = ReadableFile(path_type=Path)
FILE: Final = click.Path(path_type=Path)


def time(text: str) -> datetime:
    """Parse a time in ISO 8601, in the user's zone unless it names one, or a duration before now, such as 1h or
    2d.
    """
    try:
        before = ago(text)
        found = datetime.fromisoformat(text) if before is None else datetime.now(UTC) - before
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(f"{text!r} is not a time; write 2026-11-21T04:19, 2026-11-21T04:19Z or 1h") from None


def when(text: str) -> datetime | timedelta:
    """Parse a time like `time`, or a duration before an end that `leadsman.cli.since` finds."""
    return ago(text) or time(text)


def ago(text: str) -> timedelta | None:
    """Parse a duration such as 90s, 1h30m or 2d; None for text that is not a positive duration."""
    days = _DAYS.fullmatch(text)
    try:
        seconds = int(days[1]) * 86_400 if days else parse_duration(text)
    except BadValue:
        return None
    return timedelta(seconds=seconds) if seconds > 0 else None


def duration(text: str) -> float:
    """Parse a duration such as `60s`, `5m` or `1h` to seconds."""
    try:
        found = parse_duration(text)
    except BadValue as error:
        raise click.BadParameter(str(error)) from None
    if found <= 0:
        raise click.BadParameter(f"{text!r} must be a positive duration, such as 90s, 5m or 1h")
    return found


def pair(text: str) -> tuple[str, str]:
    """Split K=V into K and V. Raises BadParameter for other text."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.BadParameter(f"{text!r} is not K=V")
    return key, value


def _all(*options: Decorator) -> Decorator:
    """Combine several options into one decorator; the help lists them in this order."""
    return lambda command: reduce(lambda inner, option: option(inner), reversed(options), command)


def of_database(name: str, complete: Completed, text: str, *short: str) -> Decorator:
    """Build an option with completion from the database; empty if it is not given."""
    return click.option(
        name, *short, default="", show_default=False, metavar="NAME", shell_complete=complete, help=text
    )


FORMS: Final = ("table", "wide", "json", "yaml", "csv")
FOR_PEOPLE: Final = frozenset({"table", "wide"})
namespace = of_database(
    "--namespace",
    completion.namespaces,
    "Show only pods of this namespace. Nodes and cluster-wide findings are always shown.  [default: all]",
    "-n",
)
output = click.option(
    "--output",
    "-o",
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="table",
    help="wide: all columns, one line for each row. json, yaml and csv: raw values.",
)
"""Adds the option for the output format; `--format` is its older name."""


_database = partial(
    click.option,
    "--db",
    envvar="LEADSMAN_DB",
    show_envvar=True,
    metavar="DSN",
    default=DEFAULT_DSN,
    help="A folder (chdb://FOLDER), or http(s)://user:password@host:8123/database.",
)
db = _database()
existing_db = _database(callback=existing_database)
"""The address of an existing database, for commands that only query it."""
live_db = click.option(
    "--db", metavar="DSN", help=f"Database DSN; same as for replay. Also LEADSMAN_DB.  [default: {DEFAULT_DSN}]"
)

sources = _all(
    click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=FILE, callback=readable_sources),
    click.option("--cluster", default="default", metavar="NAME", help="Cluster name for dumps, which lack one."),
    click.option(
        "--node",
        default="",
        show_default=False,
        metavar="NAME",
        help="Node of a saved kubelet response, if the file does not name it.",
    ),
    click.option("--at", type=time, metavar="TIME", help="When a dump was taken, if the dump does not say."),
)
"""The files to read, and facts that a dump lacks: `paths`, `cluster`, `node`, `at`."""
since_until = _all(
    click.option(
        "--since",
        type=when,
        metavar="TIME",
        help="Start of the range. 1h counts back from --until, else from now or, if it is old, the last observation.",
    ),
    click.option(
        "--until",
        type=when,
        metavar="TIME",
        help="End of the range, exclusive. 1h counts back from now or, if it is old, the last observation.",
    ),
)

config = click.option(
    "--config",
    "-c",
    type=READABLE,
    metavar="FILE",
    help="Settings as YAML; LEADSMAN_... variables and flags override it.",
)
_kafka = partial(click.option, "--kafka", metavar="HOST:PORT")
kafka = _kafka(help="Kafka brokers, separated by commas.  [default: localhost:9092]")
kafka_if_any = _kafka(help="Kafka brokers, separated by commas.  [default: those of the settings, or no Kafka]")
asked_cluster = of_database("--cluster", completion.clusters, "Only this cluster.  [default: all]")
asked_node = of_database("--node", completion.nodes, "Only this node.  [default: all]")
"""Limits an answer to one node; completion offers the nodes of the database."""
_cluster = partial(click.option, "--cluster", metavar="NAME")
cluster = _cluster(help="Name of the cluster.  [default: default]")
_cluster_of_context = _cluster(help="Name of the cluster.  [default: name of the context]")
watched_namespace = click.option(
    "--namespace",
    "-n",
    metavar="NAME",
    help="Watch only pods and Events of this namespace, for an account that may read nothing else.",
)

_connection = _all(
    click.option(
        "--kubeconfig",
        type=Kubeconfig(path_type=Path),
        metavar="FILE",
        help="By default the pod's service account, else $KUBECONFIG, else ~/.kube/config.",
    ),
    click.option(
        "--context", metavar="NAME", shell_complete=completion.contexts, help="Context of the kubeconfig to use."
    ),
    click.option(
        "--kubelet",
        metavar="direct|proxy|off",
        help="How to reach kubelets: at their own port, through the API server, or not at all.  [default: direct]",
    ),
    click.option(
        "--kubelet-address", multiple=True, type=pair, metavar="NODE=HOST:PORT", help="Address of a node's kubelet."
    ),
    click.option("--kubelet-ca", type=READABLE, metavar="FILE", help="CA that signed the kubelets' certificates."),
    click.option("--kubelet-insecure", is_flag=True, default=None, help="Do not verify the kubelets' certificates."),
    click.option("--every", type=float, metavar="SECONDS", help="How often each kubelet is polled.  [default: 10]"),
)
live = _all(cluster, _connection)
"""Options of a live cluster, which `leadsman.cli.live.watch_flags` reads."""
live_by_context = _all(_cluster_of_context, _connection)
"""The same options for commands that take the cluster's name from the context."""
for_long = _all(
    watched_namespace,
    click.option(
        "--versions",
        type=FILE,
        metavar="FILE",
        help="File for the resource versions from which watches resume; by default they are in Kafka, and without "
        "Kafka beside the database.",
    ),
    click.option(
        "--leader-election/--no-leader-election",
        default=None,
        help="Elect a leader: of several watchers, only the holder of the Lease works.",
    ),
)

host = click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address to listen on. Any other than loopback needs a token.",
)
page = _all(
    host,
    click.option(
        "--port",
        type=click.IntRange(0, 65535),
        metavar="N",
        default=PORT,
        help="Port of the page; 0 picks a free one.",
    ),
    click.option(
        "--token-file",
        type=READABLE,
        metavar="FILE",
        help="File with the token. Readers send it as a bearer token, or as the password of any user.",
    ),
)
"""The page's address and port, and its access token."""

quiet = click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors.")
