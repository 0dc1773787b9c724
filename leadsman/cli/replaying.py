"""`replay` and `inspect`: files as sources."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from common.text import plain
from ingest.files.ahead import read_ahead
from ingest.files.capture import SourceError
from ingest.files.inspect import inspect as inspect_sources
from ingest.files.inspect import render
from ingest.files.progress import progress_bar
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable
from leadsman.cli.console import EXIT_BAD_INPUT, err, out, wide
from leadsman.cli.live import kafka_flags, live_mistakes, live_settings
from leadsman.cli.options import (
    DEFAULT_DSN,
    At,
    Cluster,
    ConfigFile,
    Dsn,
    KafkaServers,
    Node,
    Paths,
    Since,
    Until,
    _speed,
    called_as,
)
from leadsman.cli.present.story import tell
from sql.database.open import connect
from sql.landing.batches import Lander
from sql.landing.checkpoints import DatabaseCheckpoints
from sql.landing.settle import settle
from sql.schema.migrate import migrate as migrate_database
from streams.analytics.registry import REDUCERS
from streams.local.replay import Replay, ReplayReport

app = typer.Typer()


class Into(StrEnum):
    """Where `replay` puts what it reads."""

    DATABASE = "database"
    KAFKA = "kafka"


@app.command(epilog="Example: leadsman replay examples/node-pressure-k8s-1.36.jsonl.gz --db chdb://leadsman-db")
def replay(
    paths: Paths,
    *,
    db: Dsn = DEFAULT_DSN,
    since: Since = None,
    until: Until = None,
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
            observed = read_sources(paths, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped)
            _replay_into_kafka(observed, config, kafka, speed, since, until, quiet=quiet)
        return
    refused: SourceError | None = None
    with connect(db) as database:
        migrate_database(database)
        with Lander(database) as lander, progress_bar(quiet=quiet) as progress:
            items = read_ahead(
                paths,
                cluster=cluster,
                node=node,
                at=at,
                since=since,
                until=until,
                progress=progress,
                skipped=skipped,
            )
            replayed = Replay(REDUCERS, lander, DatabaseCheckpoints(database))
            try:
                replayed.run(items)
            except SourceError as error:
                refused = error
        report = replayed.report
        settle(database)
        if not quiet and (report.read or refused is None):
            _print_report(report, skipped)
            tell(database, sorted(report.clusters), out, called_as(db))
    if report.dead_letters:
        _print_dead_letters(report, db)
    if refused is not None:
        raise refused
    if report.dead_letters:
        raise typer.Exit(EXIT_BAD_INPUT)


@app.command(epilog="Example: leadsman inspect examples/node-pressure-k8s-1.36.jsonl.gz")
def inspect(paths: Paths, cluster: Cluster = "default", node: Node = "", at: At = None) -> None:
    """Say what a source holds: resources, time range, nodes, gaps, errors. Nothing is written."""
    with progress_bar() as progress:
        inspection = inspect_sources(paths, cluster=cluster, node=node, at=at, progress=progress)
    wide.print(render(inspection))
    if inspection.unreadable:
        raise typer.Exit(EXIT_BAD_INPUT)


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
    from leadsman.run.parts import feed  # noqa: PLC0415 - Faust takes seconds to import

    with live_mistakes():
        settings = live_settings(config, kafka=kafka_flags(kafka))
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
        f"To see what and where: {called_as(dsn)} query dead_letters",
        soft_wrap=True,
    )
