"""A day of a cluster, written as a capture and replayed by `leadsman replay` into an embedded database."""

import os
import subprocess
import time
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from bench.generate import write_capture
from components.command import COMMAND

from .ground import MIB
from .tables import two_columns

INTERVAL: Final = timedelta(seconds=60)


class Day(NamedTuple):
    """What replaying took."""

    nodes: int
    pods: int
    hours: float
    observations: int
    summaries: int
    capture_bytes: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    """Of its largest process."""
    database_bytes: int


def run(folder: Path, nodes: int, pods: int, hours: float) -> Day:
    """Write, replay, measure; CalledProcessError where the replay finds something wrong."""
    capture, database = folder / "day.jsonl.zst", folder / "db"
    samples = round(timedelta(hours=hours) / INTERVAL)
    observations = write_capture(capture, nodes=nodes, pods=pods, samples=samples, interval=INTERVAL)
    began = time.monotonic()
    replay = subprocess.Popen([COMMAND, "replay", str(capture), f"--db=chdb://{database}", "--quiet"])
    _, status, used = os.wait4(replay.pid, 0)
    seconds = time.monotonic() - began
    replay.returncode = os.waitstatus_to_exitcode(status)
    if replay.returncode:
        raise subprocess.CalledProcessError(replay.returncode, replay.args)
    size = sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
    return Day(
        nodes,
        pods,
        hours,
        observations,
        nodes * samples,
        capture.stat().st_size,
        seconds,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * 1024,
        size,
    )


def text(day: Day) -> str:
    """The outcome as Markdown."""
    what = (
        f"{day.nodes} nodes of {day.pods} pods, {day.hours:g} h, a summary every {INTERVAL.seconds} s: observations"
    )
    return two_columns(
        {
            what: f"{day.observations:,}",
            "capture, compressed with zstd": f"{day.capture_bytes / MIB:,.0f} MiB",
            "replay": f"{day.seconds:,.0f} s",
            "summaries a second": f"{day.summaries / day.seconds:,.0f}",
            "CPU time": f"{day.cpu_seconds:,.0f} s",
            "memory of its largest process at its peak": f"{day.peak_bytes / MIB:,.0f} MiB",
            "database": f"{day.database_bytes / MIB:,.0f} MiB",
        }
    )
