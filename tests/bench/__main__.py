"""`make bench`: the replay of 1,000 nodes against what cannot be beaten, and the way through Kafka and Faust against
Faust's idiom, all measured in this one run.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Final

from . import faust_path
from .generate import write_capture
from .measure import CLICKHOUSE_THREADS, Measured, measure_separately

MIB: Final = 1 << 20
PAIRS: Final = 6
"""Runs with and without NUMA, which of them goes first in turn, and the least of each counts: on a shared machine the
CPU time of the same work differs by a fifth.
"""
ROUNDS: Final = 3
"""Rounds of the replay and of bare decoding, in turn; the fastest of each counts."""
LEAST_SECONDS: Final = 1.0
"""Shorter runs give no ratio: starts and ends of processes would count."""
NUMA_SECONDS: Final = 10.0
"""The same of CPU time, which differs by a tenth between two runs."""
WANTED_OF_DECODING: Final = 0.4
WANTED_OF_EACH_FIELD: Final = 3.0
SHORT: Final = 4
"""The short capture is so many times shorter than the long one."""


def main() -> None:
    """Measure and print; slow figures are printed like fast ones."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=30, help="of each node")
    parser.add_argument("--samples", type=int, default=20, help="of each node; 1,000 nodes take 82 MB of disk each")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as folder:
        _bench(Path(folder), given.nodes, given.pods, given.samples)


def _bench(folder: Path, nodes: int, pods: int, samples: int) -> None:
    long, short = folder / "long.jsonl", folder / "short.jsonl"
    for capture, length in ((long, samples), (short, max(1, samples // SHORT))):
        count = write_capture(capture, nodes=nodes, pods=pods, samples=length)
        print(
            f"{capture.name}: {nodes:,} nodes, {pods} pods each, {length} samples each:"
            f" {count:,} observations, {capture.stat().st_size / 1e6:,.0f} MB"
        )
    engine = _measure("engine", short, folder)
    decodes, longs = list[Measured](), list[Measured]()
    for _ in range(ROUNDS):
        decodes.append(_measure("decode", long, folder))
        longs.append(_measure("replay", long, folder))
    decode = max(decodes, key=_rate)
    extracts = [_measure(form, long, folder) for form in ("each_field", "one_tuple")]
    replays = {"long": max(longs, key=_rate), "short": _measure("replay", short, folder)}
    for each in extracts:
        each.summaries = decode.summaries
    _print_speed(replays["long"], decode, *extracts)
    if min(each.wall_seconds for each in (*longs, *decodes)) >= LEAST_SECONDS:
        _print_rounds(longs, decodes)
    _print_stages(replays["long"])
    _print_memory(replays, engine)
    long.unlink()
    numa = folder / "numa.jsonl"
    write_capture(numa, nodes=nodes, pods=pods, samples=max(1, samples // 2), numa=True)
    whole, without = list[Measured](), list[Measured]()
    turns = [("replay", whole), ("without_numa", without)]
    for _ in range(PAIRS):
        for kind, runs in turns:
            runs.append(_measure(kind, numa, folder))
        turns.reverse()
    _print_numa(whole, without)
    numa.unlink()
    kafka = folder / "kafka"
    kafka.mkdir()
    faust_path.run(kafka, max(1, nodes // 5), pods, 2 * samples)


def _measure(kind: str, capture: Path, folder: Path) -> Measured:
    with tempfile.TemporaryDirectory(dir=folder) as database:
        return measure_separately(kind, capture, Path(database) / "db")


def _print_speed(replay: Measured, decode: Measured, each_field: Measured, one_tuple: Measured) -> None:
    """Ratios first: figures of one run say little on another day."""
    if min(replay.wall_seconds, decode.wall_seconds) < LEAST_SECONDS:
        print(
            f"\nThe replay or bare decoding took less than {LEAST_SECONDS:g} s: no ratio. Take more nodes or samples."
        )
        return
    rows = (
        ("(a) bare typed decoding by msgspec, one core", decode, WANTED_OF_DECODING),
        (
            f"(b) a JSONExtract a pod's field, one table, {CLICKHOUSE_THREADS} threads",
            each_field,
            WANTED_OF_EACH_FIELD,
        ),
        (f"    one JSONExtract of a tuple a line, {CLICKHOUSE_THREADS} threads", one_tuple, None),
    )
    print(f"\n{'the replay, with every table stored, to':54}{'speed':>8}{'CPU time':>10}   wanted speed")
    for name, each, wanted in rows:
        cpu = replay.cpu_seconds / replay.summaries / (each.cpu_seconds / each.summaries)
        print(f"  {name:52}{_rate(replay) / _rate(each):8.2f}{cpu:10.1f}{f'   >= {wanted}' if wanted else ''}")
    print(f"\n{'summaries':54}{'a second':>8}{'CPU µs each':>14}")
    for name, each, _ in (("replay: read, decode, analytics, every table stored", replay, None), *rows):
        print(f"  {name:52}{_rate(each):8,.0f}{_micros(each.cpu_seconds, each):14.0f}")
    print(
        f"  The replay stored {replay.rows:,} rows; {replay.listing_seconds:.1f} of its {replay.wall_seconds:.1f} s"
        " went to the listing of nodes, pods and settings before the first summary."
    )


def _print_rounds(replays: Sequence[Measured], decodes: Sequence[Measured]) -> None:
    rates = [", ".join(f"{_rate(run):,.0f}" for run in runs) for runs in (replays, decodes)]
    print(f"  The fastest of {len(replays)} rounds; replay: {rates[0]}; (a): {rates[1]}.")
    speeds = [_rate(replay) / _rate(decode) for decode, replay in zip(decodes, replays, strict=True)]
    print(f"  Its speed to (a), by round: median {median(speeds):.2f} ({min(speeds):.2f} to {max(speeds):.2f}).")


def _rate(measured: Measured) -> float:
    return measured.summaries / measured.wall_seconds


def _micros(seconds: float, measured: Measured) -> float:
    return seconds / measured.summaries * 1e6


def _print_stages(replay: Measured) -> None:
    print(f"\n{'CPU time of the replay':54}{'seconds':>8}{'µs a summary':>14}")
    for name, seconds in (*replay.stages.items(), ("all", replay.cpu_seconds)):
        print(f"  {name:52}{seconds:8.2f}{_micros(seconds, replay):14.0f}")


def _print_memory(replays: dict[str, Measured], engine: Measured) -> None:
    print(f"\n{'memory at its peak, MiB':54}{'held':>8}   above the engine's own   wanted")
    print(f"  {'a process that only puts one row into each table':52}{engine.peak_bytes / MIB:8.0f}")
    for name, each in replays.items():
        above = (each.peak_bytes - engine.peak_bytes) / MIB
        print(f"  {f'replay of the {name} capture':52}{each.peak_bytes / MIB:8.0f}   {above:22.0f}    < 300")


def _print_numa(whole: Sequence[Measured], without: Sequence[Measured]) -> None:
    print(f"\n{'NUMA and scheduling, a checkpoint with each summary':54}{'CPU s':>8}{'added':>14}   wanted")
    least = [min(run.cpu_seconds for run in runs) for runs in (without, whole)]
    print(f"  {'replay without them':52}{least[0]:8.2f}")
    added = f"{least[1] / least[0] - 1:14.1%}   < 10 %" if least[0] >= NUMA_SECONDS else "   too little to compare"
    print(f"  {'replay':52}{least[1]:8.2f}{added}")
    seconds = [", ".join(f"{run.cpu_seconds:.1f}" for run in runs) for runs in (without, whole)]
    print(f"  The least of {len(whole)} runs each; without: {seconds[0]}; with: {seconds[1]}.")


if __name__ == "__main__":
    main()
