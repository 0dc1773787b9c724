"""A day of a cluster, written as a capture and replayed by `leadsman replay` into an embedded database.

A tenth of its nodes are replayed before it: ten times what those took is the forecast of its time.
"""

import resource
import subprocess
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from bench.generate import write_capture
from bench.measure import measure_separately
from components.command import COMMAND
from components.proc import children, peak_bytes

from .ground import MIB
from .tables import two_columns

INTERVAL: Final = timedelta(seconds=60)
LOOK_SECONDS: Final = 0.2
PART: Final = 10


class Day(NamedTuple):
    """The cost of a replay."""

    nodes: int
    pods: int
    hours: float
    observations: int
    summaries: int
    capture_bytes: int
    seconds: float
    forecast_seconds: float
    """Duration that a replay of a tenth of its nodes predicts."""
    cpu_seconds: float
    peak_bytes: int
    """Peak memory of its two processes."""
    engine_bytes: int
    """Peak memory of the engine alone, given the same inserts."""
    database_bytes: int


class _Replayed(NamedTuple):
    observations: int
    seconds: float
    cpu_seconds: float
    peak_bytes: int


def run(folder: Path, nodes: int, pods: int, hours: float) -> Day:
    """Write, replay, measure; CalledProcessError where the replay finds something wrong."""
    capture, database = folder / "day.jsonl.zst", folder / "db"
    samples = round(timedelta(hours=hours) / INTERVAL)
    part = _replayed(folder / "part.jsonl.zst", folder / "part", nodes // PART, pods, samples)
    whole = _replayed(capture, database, nodes, pods, samples)
    size = sum(path.stat().st_size for path in database.rglob("*") if path.is_file())
    measure_separately("kept_inserts", capture, folder / "kept")
    engine = measure_separately("same_inserts", capture, folder / "engine")
    return Day(
        nodes,
        pods,
        hours,
        whole.observations,
        nodes * samples,
        capture.stat().st_size,
        whole.seconds,
        PART * part.seconds,
        whole.cpu_seconds,
        whole.peak_bytes,
        engine.peak_bytes,
        size,
    )


def _replayed(capture: Path, database: Path, nodes: int, pods: int, samples: int) -> _Replayed:
    observations = write_capture(capture, nodes=nodes, pods=pods, samples=samples, interval=INTERVAL)
    began, peaks = time.monotonic(), dict[int, int]()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [COMMAND, "replay", str(capture), f"--db=chdb://{database}", "--quiet"]
    with subprocess.Popen(command) as replay:
        while replay.poll() is None:
            peaks |= _peaks(replay.pid)
            time.sleep(LOOK_SECONDS)
    if replay.returncode:
        raise subprocess.CalledProcessError(replay.returncode, command)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return _Replayed(observations, time.monotonic() - began, cpu_seconds, sum(peaks.values()))


def _peaks(pid: int) -> dict[int, int]:
    """Return the peak memory of the process and of its children."""
    with suppress(OSError):  # it ends meanwhile
        return {each: peak_bytes(each) for each in (pid, *children(pid))}
    return {}


def text(day: Day) -> str:
    """The outcome as Markdown."""
    what = (
        f"{day.nodes} nodes of {day.pods} pods, {day.hours:g} h, a summary every {INTERVAL.seconds} s: observations"
    )
    return two_columns(
        {
            what: f"{day.observations:,}",
            "capture, compressed with zstd": f"{day.capture_bytes / MIB:,.0f} MiB",
            f"replay, forecast by a replay of {day.nodes // PART} nodes": f"{day.forecast_seconds:,.0f} s",
            "replay, as it was": f"{day.seconds:,.0f} s",
            "summaries a second": f"{day.summaries / day.seconds:,.0f}",
            "CPU time": f"{day.cpu_seconds:,.0f} s",
            "memory of its two processes at its peak": f"{day.peak_bytes / MIB:,.0f} MiB",
            "of the engine alone, given the same inserts": f"{day.engine_bytes / MIB:,.0f} MiB",
            "database": f"{day.database_bytes / MIB:,.0f} MiB",
        }
    )
