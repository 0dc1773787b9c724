"""Options and arguments that several commands share."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from sql.database.open import Database, connect
from sql.schema.migrate import check_migrated

Dsn = Annotated[
    str,
    typer.Option(
        "--db",
        envvar="LEADSMAN_DB",
        metavar="DSN",
        help="chdb:///absolute/folder, chdb://relative/folder, or http(s)://user:password@host:8123/database.",
    ),
]


DEFAULT_DSN: Final = "chdb://leadsman-db"


Paths = Annotated[list[Path], typer.Argument(metavar="PATH...", help="Captures, kubectl dumps, must-gather folders.")]


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time; write 2026-11-21T04:19:00Z") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


Since = Annotated[
    datetime | None, typer.Option("--since", parser=_time, metavar="TIME", help="Leave out what was observed before.")
]


Until = Annotated[
    datetime | None,
    typer.Option("--until", parser=_time, metavar="TIME", help="Leave out what was observed from then on."),
]


Cluster = Annotated[str, typer.Option(help="Name of the cluster, for dumps, which do not tell it.")]


Node = Annotated[str, typer.Option(help="The node that a kubelet's answer is of, where the file does not tell it.")]


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed < float("inf"):
        raise typer.BadParameter(f"{text!r} is no speed; write max, or how many times real time, as 10")
    return speed


At = Annotated[
    datetime | None,
    typer.Option("--at", parser=_time, metavar="TIME", help="When a dump was taken, where it does not tell it."),
]


ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", metavar="FILE", help="Settings as YAML; LEADSMAN_... and flags go over it."),
]


KafkaServers = Annotated[
    str | None,
    typer.Option("--kafka", metavar="HOST:PORT", help="Kafka; several with commas.  [default: localhost:9092]"),
]


LiveDsn = Annotated[
    str | None,
    typer.Option("--db", metavar="DSN", help="As of replay, and LEADSMAN_DB.  [default: chdb://leadsman-db]"),
]


Watched = Annotated[str | None, typer.Option("--cluster", help="Name of the cluster.  [default: default]")]


Kubeconfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="By default the pod's service account, else $KUBECONFIG, else ~/.kube/config."),
]


KubeContext = Annotated[str | None, typer.Option("--context", help="A context of the kubeconfig.")]


KubeletAccess = Annotated[
    str | None,
    typer.Option(
        "--kubelet",
        metavar="proxy|direct|off",
        help="Ask kubelets through the API server, at their own port, or not at all.  [default: proxy]",
    ),
]


KubeletAddress = Annotated[
    list[str] | None,
    typer.Option(metavar="NODE=HOST:PORT", help="With --kubelet direct: where a node's kubelet is."),
]


KubeletCa = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --kubelet direct: the CA of the kubelets' certificates.")
]


KubeletInsecure = Annotated[
    bool | None,
    typer.Option(
        "--kubelet-insecure", help="With --kubelet direct: check no kubelet's certificate.", show_default=False
    ),
]


Every = Annotated[
    float | None,
    typer.Option("--every", metavar="SECONDS", help="How often each kubelet is asked.  [default: 10]"),
]


Versions = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Keep here where each watch goes on after a restart.")
]


Election = Annotated[
    bool | None,
    typer.Option(
        "--leader-election/--no-leader-election",
        help="Of several watchers of a cluster, one works: the one that has the Lease.",
        show_default=False,
    ),
]


@contextmanager
def existing_database(dsn: str) -> Iterator[Database]:
    """A database that is there and of this version."""
    with connect(dsn, make=False) as database:
        check_migrated(database)
        yield database


def called_as(dsn: str) -> str:
    """The command as the reader typed it, with the database where it is another folder; a server's may be secret."""
    return f"LEADSMAN_DB={dsn} {sys.argv[0]}" if dsn != DEFAULT_DSN and dsn.startswith("chdb:") else sys.argv[0]


def pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} is no K=V", param_hint="--param")
    return key, value
