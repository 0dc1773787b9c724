"""`python -m tests.bench.faust_path`: our Faust path against an idiomatic one, and the CPU time of each stage.

The same records in two sets of topics, the same reducers, one run, a real Kafka; the database's part is the real
engine behind HTTP, whose CPU time is not counted.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import Pipeline
from components.proc import peak_bytes
from components.processes import Process, free_port
from ingest.model.observation import Observed, Position
from paths import IMPORTS
from sql.database.open import connect
from sql.schema.migrate import migrate

from .generate import observations
from .scale.ground import figures

WANTED: Final = 3.0
ROUNDS: Final = 3
"""Rounds of both paths in turn, of which the fastest counts: on a shared machine the same work may take half as long
again.
"""
POLL_SECONDS: Final = 0.25
LEAST_SECONDS: Final = 5.0
"""Shorter runs give no rate: Kafka acknowledges much at once, and progress is read every POLL_SECONDS."""
QUIET_SECONDS: Final = 2.0
QUIET_CPU_SECONDS: Final = 0.2
"""A process that takes less in QUIET_SECONDS has started."""
MIB: Final = 1 << 20
FOLDED: Final = "leadsman_folded_messages_total"
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Stage(NamedTuple):
    """Counts what a process did with a backlog."""

    name: str
    messages: int
    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int = 0
    """Memory of the process; 0 if it belongs to another one."""

    @property
    def is_enough(self) -> bool:
        return self.messages > 0 and self.wall_seconds >= LEAST_SECONDS

    @property
    def rate(self) -> float:
        return self.messages / self.wall_seconds

    @property
    def cpu_micros(self) -> float:
        return self.cpu_seconds / self.messages * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.faust_path", description=__doc__)
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=30, help="of each node")
    parser.add_argument("--samples", type=int, default=40, help="of each node")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as folder:
        run(Path(folder), given.nodes, given.pods, given.samples)


def run(folder: Path, nodes: int, pods: int, samples: int) -> None:
    """Print the stages of both paths; `folder` is empty and large enough."""
    kafka = Kafka(folder).start()
    try:
        with ClickHouseHttp(folder / "db") as http:
            rounds = [list(_stages(kafka, http, folder / str(n), nodes, pods, samples)) for n in range(ROUNDS)]
    finally:
        kafka.stop()
    print("\n".join(lines(rounds)))


def lines(rounds: Sequence[Sequence[Stage]]) -> Iterator[str]:
    """Yield what the rounds show, and nothing about stages that were too short."""
    stages = [
        max(of_stage, key=lambda stage: (stage.is_enough, stage.rate)) for of_stage in zip(*rounds, strict=True)
    ]
    yield f"\n{'through Kafka':54}{'messages':>9}{'a second':>10}{'CPU µs each':>13}{'MiB':>7}"
    for stage in stages:
        figures = f"{stage.messages:9,}   took less than {LEAST_SECONDS:g} s: take more nodes or samples"
        if stage.is_enough:
            figures = f"{stage.messages:9,}{stage.rate:10,.0f}{stage.cpu_micros:13.0f}{stage.peak_bytes / MIB:7.0f}"
        yield f"  {stage.name:52}{figures}"
    idiomatic, ours = stages[1], stages[2]
    if idiomatic.is_enough and ours.is_enough:
        yield (
            f"  in CPU time {idiomatic.cpu_micros / ours.cpu_micros:.1f} times less; our Faust path is"
            f" {ours.rate / idiomatic.rate:.1f} times as fast as the idiomatic one   >= {WANTED}"
        )
        rates = ["; ".join(f"{each[stage].rate:,.0f}" for each in rounds) for stage in (1, 2)]
        yield f"  The fastest of {ROUNDS} rounds; idiomatic {rates[0]}, ours {rates[1]} a second."


def _stages(kafka: Kafka, http: ClickHouseHttp, folder: Path, nodes: int, pods: int, samples: int) -> Iterator[Stage]:
    def items() -> Iterator[Observed]:
        for number, seen in enumerate(observations(nodes=nodes, pods=pods, samples=samples)):
            yield Observed(seen, Position("bench", str(number)), b"")

    for name in ("idiomatic", "ours"):
        (folder / name).mkdir(parents=True)
        pipeline = Pipeline(kafka, http.dsn(f"{name}_{folder.name}"), folder / name)
        wall, cpu = time.perf_counter(), time.process_time()
        records = pipeline.replay(items()).records.total()
        if name == "idiomatic":
            yield Stage(
                "publish: normalise, encode, send (with making the input)",
                records,
                time.perf_counter() - wall,
                time.process_time() - cpu,
            )
            part = Process(
                name,
                [sys.executable, "-m", "tests.bench.idiomatic"],
                folder / "idiomatic.log",
                pipeline.environment("work", "0") | {"PYTHONPATH": IMPORTS},
            )
            yield drain("work, idiomatic: async for, a table write an event", pipeline.waiting_for_work, part)
        else:
            with connect(pipeline.dsn) as database:
                migrate(database)
            work, unfolded = folding(pipeline, state_seconds=2)
            yield drain("work, ours: batches, states written when due", unfolded, work)
            yield _drain_all(
                "land: decode, columns, insert (the client's part)", pipeline.waiting, pipeline.part("land", "0")
            )


def folding(pipeline: Pipeline, state_seconds: int) -> tuple[Process, Callable[[], int]]:
    """A worker, not started, and how many messages of nodes it has not folded: it acknowledges much at once."""
    backlog, port = pipeline.waiting_for_work(), free_port()
    environment = {"LEADSMAN_WORK__STATE_SECONDS": f"{state_seconds}", "LEADSMAN_TELEMETRY__PORT": f"{port}"}

    def unfolded() -> int:
        return max(0, backlog - int(figures(port).get((FOLDED, pipeline.topics.nodes.name), 0)))

    return pipeline.part("work", "0", **environment), unfolded


def drain(name: str, waiting: Callable[[], int], part: Process) -> Stage:
    """Time from the first acknowledgement until nothing waits: the start of a process does not count."""
    backlog = waiting()
    part.start()
    try:
        while (begun := waiting()) >= backlog:
            time.sleep(POLL_SECONDS)
        wall, cpu = time.perf_counter(), _cpu_seconds(part.pid)
        while waiting():
            time.sleep(POLL_SECONDS)
        return Stage(name, begun, time.perf_counter() - wall, _cpu_seconds(part.pid) - cpu, peak_bytes(part.pid))
    finally:
        part.stop()


def _drain_all(name: str, waiting: Callable[[], int], part: Process) -> Stage:
    """Time from its start until nothing waits, less the time of a start without work: it commits rarely."""
    backlog = waiting()
    part.start()
    began = time.perf_counter()
    while waiting():
        time.sleep(POLL_SECONDS)
    wall, cpu, peak = time.perf_counter() - began, _cpu_seconds(part.pid), peak_bytes(part.pid)
    part.stop()
    part.start()
    began, idle_cpu, idle_wall = time.perf_counter(), 0.0, 0.0
    while (now := _cpu_seconds(part.pid)) > idle_cpu + QUIET_CPU_SECONDS or not idle_wall:
        idle_cpu, idle_wall = now, time.perf_counter() - began
        time.sleep(QUIET_SECONDS)
    part.stop()
    return Stage(name, backlog, max(wall - idle_wall, POLL_SECONDS), max(cpu - idle_cpu, 0.0), peak)


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
