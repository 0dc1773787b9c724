"""`leadsman capture`: records a live cluster to files."""

from pathlib import Path
from typing import Any, Final, Literal

import click

from ingest.apiserver.kubeconfig import check
from ingest.files.rotate import Rotation
from leadsman.cli import options
from leadsman.cli.exits import EXIT_NO_SOURCE, fail, note

ROTATION: Final = Rotation()


@click.command(
    "capture",
    epilog="Examples: leadsman capture --output incident/; "
    "leadsman capture --output now.jsonl.gz --seconds 600 --kubeconfig ~/.kube/config; "
    "leadsman capture --output to-vendor/ --strict",
)
@click.option(
    "--output",
    "-o",
    required=True,
    type=options.FILE,
    metavar="DIR|FILE",
    help="A folder of files that rotate, or one .jsonl, .jsonl.gz, .jsonl.zst.",
)
@options.config
@options.live
@options.watched_namespace
@click.option("--seconds", type=click.FloatRange(0), metavar="SECONDS", help="Stop after this time.")
@click.option(
    "--rotate-mib",
    type=click.IntRange(1),
    metavar="MIB",
    default=ROTATION.limit_bytes >> 20,
    help="Begin a new file at this size.",
)
@click.option(
    "--rotate-seconds",
    type=click.FloatRange(1),
    default=ROTATION.limit_seconds,
    metavar="SECONDS",
    help="Begin a new file at this age.",
)
@click.option("--keep", type=click.IntRange(1), metavar="N", help="Keep this many files; by default all.")
@click.option(
    "--compress",
    type=click.Choice(["none", "gzip", "zstd"]),
    default=ROTATION.compression,
    help="Compression of files in a folder.",
)
@click.option(
    "--strict",
    is_flag=True,
    help="Withhold every text that no known component writes, for captures that you share with outsiders.",
)
@options.quiet
def command(
    *,
    output: Path,
    config: Path | None,
    seconds: float | None,
    rotate_mib: int,
    rotate_seconds: float,
    keep: int | None,
    compress: Literal["none", "gzip", "zstd"],
    strict: bool,
    quiet: bool,
    **flags: Any,
) -> None:
    """Record what a cluster and its kubelets report, without credentials, until Ctrl-C; replay it anywhere.

    If it is killed, at most the last line is lost.
    """
    from leadsman.cli.live import live_settings, run_served, watch_flags

    redact = "strict" if strict else None
    settings = live_settings(config, watch=watch_flags(**flags), redact=redact)
    check(settings.live().kubeconfig)

    from ingest.live.record import record

    rotation = Rotation(rotate_mib * 1024 * 1024, rotate_seconds, compress, keep)
    report = (lambda _: None) if quiet else note
    capturing = record(settings.live(), output, rotation, report, seconds=seconds)
    try:
        captured = run_served(settings, "capture", capturing)
    except OSError as error:
        fail(f"{output}: {error}", EXIT_NO_SOURCE)
    if not captured.observations:
        fail("nothing was captured", EXIT_NO_SOURCE)
