"""The `leadsman` command: wires the rooms together and holds nothing else."""

import asyncio
import sys
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn

import typer
from rich.console import Console

from ingest.capture import SourceError
from ingest.inspect import inspect as inspect_sources
from ingest.inspect import render
from ingest.normalize import normalize
from ingest.observation import BadRecord, Observed, Unreadable
from ingest.progress import progress_bar
from ingest.records import NodeRecord
from ingest.rotate import Rotation
from ingest.sources import read_sources
from ingest.stopping import stop_on_signals
from ingest.text import plain
from ingest.versions import VersionsError
from sql.checkpoints import DatabaseCheckpoints
from sql.database import Database, connect
from sql.digest import digest as digest_tables
from sql.errors import BadDsn, DatabaseError, QueryFailed, SchemaError
from sql.fit import read_known
from sql.fit_present import fit_json, fit_lines, fit_table
from sql.landing import Lander
from sql.migrate import check_migrated
from sql.migrate import migrate as migrate_database
from sql.present import as_csv, as_json, as_table, query_list
from sql.queries import BadParameter, UnknownQuery, saved_query
from sql.queries import run as run_saved
from sql.retention import RAW_TABLES, ROLLUP_TABLES, keep
from sql.settle import settle
from sql.story import tell
from streams.analytics.registry import REDUCERS
from streams.embedded import Replay, ReplayReport
from streams.fit import BadQuestion, answer, question
from streams.rules.node_tree import UnknownVersion
from streams.simulate_scheduler import BadOperations, names_line, operations_of, parse_operations, simulate
from streams.simulate_scheduler import report as scheduler_report

if TYPE_CHECKING:
    from ingest.settings import Settings

EXIT_NO_FIT: Final = 1
EXIT_USAGE: Final = 2
EXIT_BAD_INPUT: Final = 3
EXIT_NO_SOURCE: Final = 4
EXIT_NO_DATABASE: Final = 5
EXIT_SCHEMA: Final = 6
EXIT_QUERY: Final = 7
EXIT_NO_KAFKA: Final = 8
EXIT_INTERRUPTED: Final = 130
MESSAGE: Final = 2000
"""Characters of an error."""
EXITS: Final = """
Exit status: 0 done; 1 fit found no room; 2 wrong usage; 3 done, but some input was bad (see dead_letters); 4 a
source cannot be used; 5 the database cannot be used; 6 its schema is newer, or a migration changed or is missing; 7
a query was refused; 8 Kafka cannot be used; 130 interrupted.
"""

app = typer.Typer(
    name="leadsman",
    help="Tells what is left under the keel of a Kubernetes node.\n\n" + EXITS,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
)
out = Console(highlight=False, markup=False)
"""Words: wrapped at the terminal's width."""
wide = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 4096)
"""Tables: whole lines where no terminal sets a width."""
err = Console(stderr=True, highlight=False, markup=False)


class Into(StrEnum):
    """Where `replay` puts what it reads."""

    DATABASE = "database"
    KAFKA = "kafka"


class Format(StrEnum):
    """How `query` prints."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class FitFormat(StrEnum):
    """How `fit` prints."""

    TABLE = "table"
    JSON = "json"


class Compress(StrEnum):
    """How `capture` packs the files of a folder."""

    NONE = "none"
    GZIP = "gzip"
    ZSTD = "zstd"


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
Cluster = Annotated[str, typer.Option(help="Name of the cluster, for dumps, which do not tell it.")]
Node = Annotated[str, typer.Option(help="The node that a kubelet's answer is of, where the file does not tell it.")]


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no time; write 2026-11-21T04:19:00Z") from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


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


@app.command(epilog="Example: leadsman replay examples/node-pressure-k8s-1.36.jsonl.gz --db chdb://leadsman-db")
def replay(
    paths: Paths,
    *,
    db: Dsn = DEFAULT_DSN,
    since: Annotated[
        datetime | None, typer.Option(parser=_time, metavar="TIME", help="Leave out what was observed before.")
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(parser=_time, metavar="TIME", help="Leave out what was observed from then on.")
    ] = None,
    cluster: Cluster = "default",
    node: Node = "",
    at: At = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    into: Annotated[
        Into, typer.Option(help="kafka: through the live pipeline; work and land do the rest.")
    ] = Into.DATABASE,
    speed: Annotated[
        float | None,
        typer.Option(parser=_speed, metavar="max|N", help="Into Kafka: N times real time. [default: max]"),
    ] = None,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
) -> None:
    """Replay captures and dumps into a database, and say what happened.

    What the database holds already is skipped, so a capture can be replayed again, or in pieces in their order.
    """
    skipped: Counter[str] = Counter()
    if into is Into.KAFKA:
        with progress_bar(quiet=quiet) as progress:
            items = read_sources(paths, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped)
            _replay_into_kafka(items, config, kafka, speed, since, until, quiet=quiet)
        return
    refused: SourceError | None = None
    with connect(db) as database:
        migrate_database(database)
        with Lander(database) as lander, progress_bar(quiet=quiet) as progress:
            items = read_sources(paths, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped)
            replayed = Replay(REDUCERS, lander, DatabaseCheckpoints(database))
            try:
                replayed.run(items, since=since, until=until)
            except SourceError as error:
                refused = error
        report = replayed.report
        settle(database)
        if not quiet and (report.read or refused is None):
            _print_report(report, skipped)
            tell(database, sorted(report.clusters), out, _called_as(db))
    if report.dead_letters:
        _print_dead_letters(report, db)
    if refused is not None:
        raise refused
    if report.dead_letters:
        raise typer.Exit(EXIT_BAD_INPUT)


@app.command(
    epilog="Examples: leadsman query; leadsman query eviction_causes --format json; "
    "leadsman query --sql 'SELECT node, max(ts) FROM node_samples GROUP BY node'"
)
def query(
    name: Annotated[str | None, typer.Argument(help="A saved query; without one, all are listed.")] = None,
    sql: Annotated[str | None, typer.Option("--sql", metavar="TEXT", help="Your own query instead.")] = None,
    param: Annotated[
        list[str] | None, typer.Option("--param", metavar="K=V", help="A value for {k:Type} in the query.")
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print.")] = Format.TABLE,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Ask a saved question, or your own, in SQL."""
    if name is None and sql is None:
        wide.print(query_list())
        return
    if name is not None and sql is not None:
        raise typer.BadParameter("give a saved query's name or --sql, not both")
    given = dict(_pair(text) for text in param or ())
    with _database(db) as database:
        if sql is not None:
            result = database.query(sql, given)
        else:
            result = run_saved(database, saved_query(name or ""), given)
    match format_:
        case Format.TABLE:
            wide.print(as_table(result))
        case Format.JSON:
            typer.echo(as_json(result))
        case Format.CSV:
            typer.echo(as_csv(result), nl=False)


@app.command(epilog="Example: leadsman migrate --db http://default@localhost:8123/leadsman --keep-samples-days 14")
def migrate(
    db: Dsn = DEFAULT_DSN,
    keep_samples_days: Annotated[
        int | None, typer.Option(min=0, help="Keep raw samples so long after they landed; 0 keeps them for ever.")
    ] = None,
    keep_rollups_days: Annotated[
        int | None, typer.Option(min=0, help="Keep five-minute roll-ups so long; 0 keeps them for ever.")
    ] = None,
) -> None:
    """Bring a database to this version's schema, and change how long it keeps samples.

    A server keeps raw samples 7 days and roll-ups 90 days after they landed; an embedded database keeps all.
    """
    with connect(db) as database:
        applied = migrate_database(database)
        for tables, days in ((RAW_TABLES, keep_samples_days), (ROLLUP_TABLES, keep_rollups_days)):
            if days is not None:
                keep(database, tables, days or None)
    out.print("\n".join(f"applied {each}" for each in applied) or "nothing to apply")
    for what, days in (("raw samples", keep_samples_days), ("five-minute roll-ups", keep_rollups_days)):
        if days is not None:
            out.print(f"{what} are kept {f'{days} days after they landed' if days else 'for ever'}")


@app.command(epilog="Example: leadsman inspect examples/node-pressure-k8s-1.36.jsonl.gz")
def inspect(paths: Paths, cluster: Cluster = "default", node: Node = "", at: At = None) -> None:
    """Say what a source holds: resources, time range, nodes, gaps, errors. Nothing is written."""
    with progress_bar() as progress:
        inspection = inspect_sources(paths, cluster=cluster, node=node, at=at, progress=progress)
    wide.print(render(inspection))
    if inspection.unreadable:
        raise typer.Exit(EXIT_BAD_INPUT)


@app.command(epilog="Example: diff <(leadsman digest --db chdb://one) <(leadsman digest --db chdb://two)")
def digest(db: Dsn = DEFAULT_DSN) -> None:
    """Print row count and hash of each table, and nothing else, to compare two databases."""
    with _database(db) as database:
        for each in digest_tables(database):
            typer.echo(f"{each.table} {each.rows} {each.hash}")


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
        _fail(str(error), EXIT_USAGE)


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


@app.command(
    epilog="Examples: leadsman capture --output incident/; "
    "leadsman capture --output now.jsonl.gz --seconds 600 --kubeconfig ~/.kube/config"
)
def capture(
    *,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR|FILE",
            help="A folder of files that rotate, or one .jsonl, .jsonl.gz, .jsonl.zst.",
        ),
    ],
    config: ConfigFile = None,
    cluster: Watched = None,
    kubeconfig: Kubeconfig = None,
    context: KubeContext = None,
    kubelet: KubeletAccess = None,
    kubelet_address: KubeletAddress = None,
    kubelet_ca: KubeletCa = None,
    kubelet_insecure: KubeletInsecure = None,
    every: Every = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="Stop after so long.")] = None,
    rotate_mib: Annotated[int, typer.Option(min=1, help="Begin a new file at this size.")] = 256,
    rotate_seconds: Annotated[float, typer.Option(min=1, help="Begin a new file after so long.")] = 3600.0,
    keep: Annotated[int | None, typer.Option(min=1, help="Keep so many files; by default all.")] = None,
    compress: Annotated[Compress, typer.Option(help="Of the files of a folder.")] = Compress.NONE,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Record what a cluster and its kubelets tell, without secrets, until Ctrl-C; replay it anywhere.

    A process that is killed loses at most its last line.
    """
    from ingest.capturing import record  # noqa: PLC0415 - its Kubernetes client takes seconds to import

    watch = _watch_flags(
        cluster, kubeconfig, context, kubelet, kubelet_address, kubelet_ca, every, insecure=kubelet_insecure
    )
    rotation = Rotation(rotate_mib * 1024 * 1024, rotate_seconds, compress.value, keep)
    tell = _tell_nothing if quiet else _tell
    with _live_mistakes():
        live = _live_settings(config, watch=watch).watched()
        try:
            captured = asyncio.run(record(live, output, rotation, tell, seconds=seconds))
        except OSError as error:
            _fail(f"{output}: {error}", EXIT_NO_SOURCE)
    if not captured.observations:
        _fail("nothing was captured", EXIT_NO_SOURCE)


@app.command(
    epilog="Example: leadsman watch --cluster prod --kafka kafka-1:9092,kafka-2:9092 "
    "--versions /var/lib/leadsman/versions.json"
)
def watch(
    *,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
    cluster: Watched = None,
    kubeconfig: Kubeconfig = None,
    context: KubeContext = None,
    kubelet: KubeletAccess = None,
    kubelet_address: KubeletAddress = None,
    kubelet_ca: KubeletCa = None,
    kubelet_insecure: KubeletInsecure = None,
    every: Every = None,
    versions: Versions = None,
    leader_election: Election = None,
) -> None:
    """Send what a cluster and its kubelets tell to Kafka, without secrets, until SIGTERM.

    Nothing is acknowledged before Kafka has it. Several replicas can run: the one that has the Lease watches.
    """
    from ingest.watcher import run_watcher  # noqa: PLC0415 - as in capture

    flags = _watch_flags(
        cluster,
        kubeconfig,
        context,
        kubelet,
        kubelet_address,
        kubelet_ca,
        every,
        insecure=kubelet_insecure,
        versions_file=versions,
        leader_election=leader_election,
    )
    with _live_mistakes():
        settings = _live_settings(config, kafka=_kafka_flags(kafka), watch=flags)
        asyncio.run(_until_signal(partial(run_watcher, settings.kafka, settings.watched())))


@app.command(epilog="Example: leadsman work --kafka kafka-1:9092,kafka-2:9092")
def work(config: ConfigFile = None, kafka: KafkaServers = None) -> None:
    """Conclude from what the watchers sent to Kafka, until SIGTERM. Several workers share the nodes."""
    from sql.run import run_worker  # noqa: PLC0415 - Faust takes seconds to import

    with _live_mistakes():
        asyncio.run(run_worker(_live_settings(config, kafka=_kafka_flags(kafka))))


@app.command(
    epilog="Example: leadsman land --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman"
)
def land(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Bring what is in Kafka into the database, once, until SIGTERM."""
    from sql.run import run_lander  # noqa: PLC0415 - as in work

    with _live_mistakes():
        asyncio.run(run_lander(_live_settings(config, db=db, kafka=_kafka_flags(kafka))))


@app.command(
    epilog="Example: leadsman up --kafka localhost:9092 --db http://leadsman:leadsman@localhost:8123/leadsman"
)
def up(
    *,
    config: ConfigFile = None,
    kafka: KafkaServers = None,
    db: LiveDsn = None,
    cluster: Watched = None,
    kubeconfig: Kubeconfig = None,
    context: KubeContext = None,
    kubelet: KubeletAccess = None,
    kubelet_address: KubeletAddress = None,
    kubelet_ca: KubeletCa = None,
    kubelet_insecure: KubeletInsecure = None,
    every: Every = None,
    versions: Versions = None,
    leader_election: Election = None,
) -> None:
    """Run watch, work and land together on this machine until SIGTERM; a part that ends is started again.

    It needs Kafka, a database and a kubeconfig, nothing else.
    """
    from ingest.supervise import PartFailedError  # noqa: PLC0415 - other commands do without
    from ingest.together import run_together  # noqa: PLC0415 - as above

    flags = _watch_flags(
        cluster,
        kubeconfig,
        context,
        kubelet,
        kubelet_address,
        kubelet_ca,
        every,
        insecure=kubelet_insecure,
        versions_file=versions,
        leader_election=leader_election,
    )
    with _live_mistakes():
        settings = _live_settings(config, db=db, kafka=_kafka_flags(kafka), watch=flags)
        try:
            asyncio.run(_until_signal(partial(run_together, settings, LASTING)))
        except PartFailedError as error:
            _fail(str(error), error.status)


@app.command(epilog="Example: leadsman config --config leadsman.yaml")
def config(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Print the settings in force, from file, environment and flags; of secrets, only that there is one."""
    from ingest.settings import shown  # noqa: PLC0415 - other commands do without

    with _live_mistakes():
        typer.echo(shown(_live_settings(config, db=db, kafka=_kafka_flags(kafka))), nl=False)


@app.command(epilog="Example: leadsman validate --config leadsman.yaml")
def validate(config: ConfigFile = None, kafka: KafkaServers = None, db: LiveDsn = None) -> None:
    """Check the settings and try every connection that they name; nothing is changed."""
    from sql.validate import validate as try_connections  # noqa: PLC0415 - other commands do without

    with _live_mistakes():
        checked = asyncio.run(try_connections(_live_settings(config, db=db, kafka=_kafka_flags(kafka))))
    for each in checked:
        told = each.problem or each.note
        verdict = "NOT USABLE" if each.problem else "ok"
        out.print(plain(f"{each.what}: {verdict}{f': {told}' if told else ''}", MESSAGE), soft_wrap=True)
    if any(each.problem for each in checked):
        raise typer.Exit(EXIT_USAGE)


def _replay_into_kafka(
    items: Iterator[Observed | Unreadable],
    config: Path | None,
    kafka: str | None,
    speed: float | None,
    since: datetime | None,
    until: datetime | None,
    *,
    quiet: bool,
) -> None:
    from sql.run import feed  # noqa: PLC0415 - Faust takes seconds to import

    with _live_mistakes():
        settings = _live_settings(config, kafka=_kafka_flags(kafka))
        published = asyncio.run(feed(settings, items, speed=speed, since=since, until=until))
    if not quiet:
        out.print(
            f"{published.read} observations read, {published.records.total()} records sent to Kafka, "
            f"{published.repeated} repeated ones and {published.outside} not between --since and --until left out."
        )
    if published.dead_letters:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(published.dead_letters.items()))
        err.print(f"leadsman: some input was bad: {kinds}. It is in the dead letters.", soft_wrap=True)
        raise typer.Exit(EXIT_BAD_INPUT)


LASTING: Final = frozenset({EXIT_USAGE, EXIT_NO_SOURCE, EXIT_SCHEMA})
"""With which a part of `up` ends when no restart heals it."""


def _watch_flags(
    cluster: str | None,
    kubeconfig: Path | None,
    context: str | None,
    access: str | None,
    addresses: list[str] | None,
    ca_file: Path | None,
    every_seconds: float | None,
    *,
    insecure: bool | None,
    versions_file: Path | None = None,
    leader_election: bool | None = None,
) -> dict[str, Any]:
    """The flags that were given, as settings."""
    kubelet = {
        "access": access,
        "addresses": dict(_pair(text) for text in addresses) if addresses else None,
        "ca_file": ca_file,
        "insecure": insecure,
        "summary_seconds": every_seconds,
        "metrics_seconds": every_seconds,
    }
    return _given(
        {
            "cluster": cluster,
            "kubeconfig": kubeconfig,
            "context": context,
            "versions_file": versions_file,
            "kubelet": _given(kubelet),
            "election": _given({"enabled": leader_election}),
        }
    )


def _kafka_flags(servers: str | None) -> dict[str, Any]:
    return _given({"bootstrap_servers": servers})


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _live_settings(config: Path | None, **flags: Any) -> "Settings":
    """The settings in force; raises SettingsError."""
    from ingest.settings import load  # noqa: PLC0415 - other commands do without

    return load(config, **flags)


async def _until_signal(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    with stop_on_signals() as stop:
        await work(stop)


@contextmanager
def _live_mistakes() -> Iterator[None]:
    """Settings, a cluster, Kafka, or a place for a capture, that cannot be used."""
    try:
        yield
    except Exception as error:
        status = _status_of(error)
        if status is None:
            raise
        _fail(str(error), status)


def _status_of(error: Exception) -> int | None:
    """The status with which a live command ends for this; None where it is no mistake of the user's."""
    # imported only now: their clients take seconds, and most commands need one or none of them
    from ingest.connect import KubeconfigError  # noqa: PLC0415
    from ingest.settings import SettingsError  # noqa: PLC0415
    from ingest.topics_admin import TopicsUnusable  # noqa: PLC0415
    from ingest.watcher import ElectionRefusedError  # noqa: PLC0415

    statuses: dict[type[Exception], int] = {
        SettingsError: EXIT_USAGE,
        TopicsUnusable: EXIT_NO_KAFKA,
        KubeconfigError: EXIT_NO_SOURCE,
        VersionsError: EXIT_NO_SOURCE,
        ElectionRefusedError: EXIT_NO_SOURCE,
        FileNotFoundError: EXIT_NO_SOURCE,
        PermissionError: EXIT_NO_SOURCE,
    }
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), None)


def _tell(line: str) -> None:
    err.print(plain(line, MESSAGE), soft_wrap=True)


def _tell_nothing(line: str) -> None:
    """Quiet."""


@app.command(epilog="Example: leadsman fit --cpu 8 --exclusive --memory 16Gi --count 3")
def fit(
    *,
    cpu: Annotated[str, typer.Option(metavar="QUANTITY", help="CPUs of each container, as 8 or 500m.")],
    memory: Annotated[str, typer.Option(metavar="QUANTITY", help="Memory of each container, as 16Gi.")] = "0",
    device: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COUNT", help="Another resource of each container.")
    ] = None,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="Guaranteed, with whole CPUs that the CPU Manager pins.")
    ] = False,
    containers: Annotated[int, typer.Option(min=1, max=100, help="So many such containers in the pod.")] = 1,
    count: Annotated[int, typer.Option(min=1, help="So many such pods, one after the other.")] = 1,
    node: Annotated[str, typer.Option(help="Judge this node only.")] = "",
    cluster: Annotated[str, typer.Option(help="The cluster, where the database holds several.")] = "",
    format_: Annotated[FitFormat, typer.Option("--format", help="How to print.")] = FitFormat.TABLE,
    db: Dsn = DEFAULT_DSN,
) -> None:
    """Say which nodes and NUMA nodes take such a pod now, why each other does not, and by which placement it would.

    The pod tolerates no taint and asks for no particular node. Exit status 1 where it, or one of --count, does not
    fit; what nothing tells for sure does not count as fitting.
    """
    try:
        asked = question(cpu, memory, device or (), exclusive=exclusive, containers=containers, count=count)
    except BadQuestion as error:
        raise typer.BadParameter(str(error)) from None
    with _database(db) as database:
        known = read_known(database, cluster, node)
    found = answer(asked, known.candidates, known.strategies, known.scheduler_minor)
    if format_ is FitFormat.JSON:
        typer.echo(fit_json(known, asked, found))
    else:
        for line in fit_lines(known, asked, found):
            out.print(line, soft_wrap=True)
        wide.print(fit_table(found))
    if not found.fits:
        raise typer.Exit(EXIT_NO_FIT)


def main() -> NoReturn:
    """Run the command; a mistake of the user's is one sentence, not a traceback."""
    try:
        app()
    except SourceError as error:
        _fail(str(error), EXIT_NO_SOURCE)
    except SchemaError as error:
        _fail(str(error), EXIT_SCHEMA)
    except (BadDsn, BadParameter, UnknownQuery) as error:
        _fail(str(error), EXIT_USAGE)
    except QueryFailed as error:
        _fail(str(error), EXIT_QUERY)
    except DatabaseError as error:
        _fail(str(error), EXIT_NO_DATABASE)
    except SystemExit as ending:
        if ending.code == EXIT_INTERRUPTED:  # typer makes it of Ctrl-C
            _fail("interrupted; what is stored stays, and the same command again does the rest", EXIT_INTERRUPTED)
        raise
    sys.exit(0)


def _fail(message: str, status: int) -> NoReturn:
    err.print(f"leadsman: {plain(message, MESSAGE)}", soft_wrap=True)
    sys.exit(status)


@contextmanager
def _database(dsn: str) -> Iterator[Database]:
    """A database that is there and of this version."""
    with connect(dsn, make=False) as database:
        check_migrated(database)
        yield database


def _called_as(dsn: str) -> str:
    """The command as the reader typed it, with the database where it is another folder; a server's may be secret."""
    return f"LEADSMAN_DB={dsn} {sys.argv[0]}" if dsn != DEFAULT_DSN and dsn.startswith("chdb:") else sys.argv[0]


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} is no K=V", param_hint="--param")
    return key, value


def _print_report(report: ReplayReport, skipped: Counter[str]) -> None:
    new = report.read - report.known - report.outside
    out.print(f"{report.read} observations read, {new} new, {report.known} known already.")
    if report.outside:
        out.print(f"{report.outside} are not between --since and --until.")
    for cluster in sorted(report.apart):
        out.print(
            f"Cluster {plain(cluster)}: these lie before what the database holds of it, and were folded by "
            "themselves; at the seam, counts are lower bounds."
        )
    if skipped:
        kinds = ", ".join(f"{count} {plain(kind)}" for kind, count in sorted(skipped.items()))
        out.print(f"Left out of the dump, for Leadsman does not use them: {kinds}.")


def _print_dead_letters(report: ReplayReport, dsn: str) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(report.dead_letters.items()))
    first = report.first_dead_letter
    where = f"; the first at {plain(first.position)}: {plain(first.reason)}" if first else ""
    err.print(
        f"leadsman: some input was bad, all else was replayed: {kinds}{where}. "
        f"To see what and where: {_called_as(dsn)} query dead_letters",
        soft_wrap=True,
    )


if __name__ == "__main__":
    main()
