"""`leadsman replay`: writes files to a database, or sends them through the live pipeline."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from common.amounts import counted
from common.text import plain
from leadsman.cli import options
from leadsman.cli.exits import EXIT_BAD_INPUT, note

if TYPE_CHECKING:
    from ingest.kafka.replay import Published
    from streams.local.replay import ReplayReport


def speed(text: str) -> float | None:
    """Parse a multiple of real time; None for maximum speed."""
    if text == "max":
        return None
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise click.BadParameter(f"{text!r} is not a speed; write max, or a factor of real time, such as 10")
    return found


@click.command(
    "replay", epilog="Example: leadsman replay examples/node-pressure-k8s-1.36.jsonl.gz --db chdb://leadsman-db"
)
@options.db
@options.sources
@options.since_until
@options.quiet
@click.option(
    "--into",
    type=click.Choice(["database", "kafka"]),
    default="database",
    help="kafka: send it through the live pipeline, where work and land process it.",
)
@click.option(
    "--speed", type=speed, metavar="max|N", default="max", help="With --into kafka: replay at N times real time."
)
@options.config
@options.kafka
def command(
    paths: tuple[Path, ...],
    *,
    db: str,
    since: datetime | timedelta | None,
    until: datetime | timedelta | None,
    cluster: str,
    node: str,
    at: datetime | None,
    quiet: bool,
    into: str,
    speed: float | None,
    config: Path | None,
    kafka: str | None,
) -> None:
    """Analyse captures, kubectl dumps, must-gathers and support bundles, and print what happened.

    Input that the database already has is skipped, so a capture can be replayed again, or in pieces, in order.
    Into Kafka, the same input counts once, however often it is replayed.
    """
    import asyncio

    from ingest.files.ahead import read_ahead
    from ingest.files.fingerprint import fingerprint
    from ingest.files.progress import progress_bar
    from ingest.files.sources import read_sources
    from leadsman.cli.console import out
    from leadsman.cli.database import called_as
    from leadsman.cli.live import live_settings
    from leadsman.cli.piped import begun, on_disk
    from leadsman.cli.present.story import print_story
    from leadsman.cli.since import last_in_files, settled
    from leadsman.run.kafka import feed
    from leadsman.run.replay import replay
    from leadsman.run.settings import load
    from sql.database.dsn import parse_dsn
    from sql.database.open import connect
    from sql.schema.migrate import migrate

    if into == "kafka":
        settings = live_settings(config, kafka=kafka)
        with on_disk(paths) as files, progress_bar(quiet=quiet) as progress:
            between = settled(since, until, lambda: last_in_files(files, cluster, node, at))
            observed = read_sources(files, cluster=cluster, node=node, at=at, progress=progress)
            name = fingerprint(files, cluster, node, at, *between)
            strict = settings.live().strict
            sending = feed(settings.kafka, observed, name=name, speed=speed, strict=strict, **between._asdict())
            published = asyncio.run(sending)
        _print_published(published, quiet=quiet)
        return
    skipped: Counter[str] = Counter()
    settings = load(config)
    parse_dsn(db)
    with ExitStack() as stack:
        with on_disk(paths) as files, progress_bar(quiet=quiet) as progress:
            between = settled(since, until, lambda: last_in_files(files, cluster, node, at))
            read = read_ahead(
                files, cluster=cluster, node=node, at=at, progress=progress, skipped=skipped, **between._asdict()
            )
            items = begun(read)
            database = stack.enter_context(connect(db))
            migrate(database)
            report, refused = replay(database, items, settings)
        if not quiet and (report.read or refused is None):
            _print_report(report, skipped)
            print_story(database, sorted(report.clusters), out, called_as(db))
    if report.dead_letters:
        _print_dead_letters(report, db)
    if refused is not None:
        if not report.read:
            raise refused
        note(f"leadsman: {refused}")
    if report.dead_letters or refused is not None:
        click.get_current_context().exit(EXIT_BAD_INPUT)


def _print_published(published: Published, *, quiet: bool) -> None:
    from leadsman.cli.console import out
    from leadsman.cli.piped import kinds

    if not quiet:
        out.print(
            f"{counted(published.read, 'observation')} read, {counted(published.records.total(), 'record')} sent to "
            f"Kafka. Left out: {published.repeated} repeated, {published.outside} outside --since and --until."
        )
    if published.dead_letters:
        note(f"leadsman: some input was bad: {kinds(published.dead_letters)}. It is in the dead letters.")
        click.get_current_context().exit(EXIT_BAD_INPUT)


def _print_report(report: ReplayReport, skipped: Counter[str]) -> None:
    from leadsman.cli.console import out
    from leadsman.cli.piped import kinds

    new = report.read - report.known - report.outside
    out.print(f"{counted(report.read, 'observation')} read, {new:,} new, {report.known:,} known already.")
    if report.outside:
        out.print(f"{counted(report.outside, 'observation')} outside --since and --until skipped.")
    for cluster in sorted(report.separate):
        out.print(
            f"Cluster {plain(cluster)}: this input is older than stored data and was analysed separately; "
            "counts at the boundary may be low."
        )
    if skipped:
        out.print(f"Skipped kinds that Leadsman does not use: {kinds(skipped)}.")


def _print_dead_letters(report: ReplayReport, dsn: str) -> None:
    from leadsman.cli.database import called_as
    from leadsman.cli.piped import files_in_part, kinds

    first = report.first_dead_letter
    where = f"; the first at {plain(first.position)}: {plain(first.reason)}" if first else ""
    note(
        f"leadsman: some input was bad; everything else was replayed: {kinds(report.dead_letters)}{where}. "
        f"Read in part: {files_in_part(report.in_part)}. To see what and where: {called_as(dsn)} query dead_letters"
    )
