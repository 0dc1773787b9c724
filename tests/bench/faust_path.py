"""`python -m tests.bench.faust_path`: our Faust path against an idiomatic one, and the CPU time of each stage.

The same records in two sets of topics, the same reducers, one run, a real Kafka; the database's part is the real
engine behind HTTP, whose CPU time is not counted.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from components.kafka import Kafka
from components.processes import Process
from ingest.observation import Observed, Position
from integration.clickhouse_http import ClickHouseHttp
from integration.pipeline import Pipeline

from .generate import observations

WANTED: Final = 3.0
POLL_SECONDS: Final = 0.25
HERE: Final = Path(__file__).parents[2]
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Stage(NamedTuple):
    """What a process did with a backlog."""

    name: str
    messages: int
    wall_seconds: float
    cpu_seconds: float

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
    parser.add_argument("--samples", type=int, default=20, help="of each node")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as folder:
        run(Path(folder), given.nodes, given.pods, given.samples)


def run(folder: Path, nodes: int, pods: int, samples: int) -> None:
    """Print the stages of both paths; `folder` is empty and large enough."""
    kafka = Kafka(folder).start()
    try:
        with ClickHouseHttp(folder / "db") as http:
            stages = list(_stages(kafka, http, folder, nodes, pods, samples))
    finally:
        kafka.stop()
    print(f"\n{'through Kafka':54}{'messages':>9}{'a second':>10}{'CPU µs each':>13}")
    for stage in stages:
        print(f"  {stage.name:52}{stage.messages:9,}{stage.rate:10,.0f}{stage.cpu_micros:13.0f}")
    idiomatic, ours = stages[1], stages[2]
    print(f"  our Faust path is {ours.rate / idiomatic.rate:.1f} times as fast as the idiomatic one   >= {WANTED}")


def _stages(kafka: Kafka, http: ClickHouseHttp, folder: Path, nodes: int, pods: int, samples: int) -> Iterator[Stage]:
    def items() -> Iterator[Observed]:
        for number, seen in enumerate(observations(nodes=nodes, pods=pods, samples=samples)):
            yield Observed(seen, Position("bench", str(number)), b"")

    for name in ("idiomatic", "ours"):
        (folder / name).mkdir()
        pipeline = Pipeline(kafka, http.dsn(name), folder / name)
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
                pipeline.environment("work", "0") | {"PYTHONPATH": f"{HERE}{os.pathsep}{HERE / 'tests'}"},
            )
            yield _drain("work, idiomatic: async for, a table write an event", pipeline.waiting_for_work, part)
        else:
            work, land = pipeline.part("work", "0"), pipeline.part("land", "0")
            yield _drain("work, ours: batches, a state write a key and batch", pipeline.waiting_for_work, work)
            yield _drain("land: decode, columns, insert (the client's part)", pipeline.waiting, land)


def _drain(name: str, waiting: Callable[[], int], part: Process) -> Stage:
    """From the first acknowledgement until nothing waits: the start of a process is not counted."""
    backlog = waiting()
    part.start()
    try:
        while (begun := waiting()) >= backlog:
            time.sleep(POLL_SECONDS)
        wall, cpu = time.perf_counter(), _cpu_seconds(part.pid)
        while waiting():
            time.sleep(POLL_SECONDS)
        return Stage(name, begun, time.perf_counter() - wall, _cpu_seconds(part.pid) - cpu)
    finally:
        part.stop()


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


if __name__ == "__main__":
    main()
