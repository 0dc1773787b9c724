"""`python -m tests.bench.first_answer`: CPU time until `leadsman look` has printed what is wrong, by stage.

With `--growth`, how each stage and each saved question grows with each kind of input. An exponent is that between
the two larger of SIZES: fixed costs lower it and never raise it, so one above MOST is a defect.
"""

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from components.proc import peak_bytes
from ingest.normalize.decode import Decoded
from leadsman.cli import look
from leadsman.cli.present.findings import Findings
from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.questions.queries import run, with_forms
from streams.local.replay import Replay, ReplayReport

from .dumps import Size, write_dump
from .generate import write_capture

MIB: Final = 1 << 20
SIZES: Final = (1, 4, 16)
MOST: Final = 1.15
ENOUGH_SECONDS: Final = 0.1
"""Stages that cost less at the largest size say nothing about their growth."""
ANSWERS: Final = {
    "a dump of 1 MB": Size(10, 36, events=100),
    "12,000 failed pods of one node": Size(1, 20, ended=12_000),
    "20,000 pods on 400 nodes": Size(400, 50),
}
GROWS: Final[dict[str, Callable[[int], Size]]] = {
    "nodes": lambda times: Size(25 * times, 10),
    "pods a node": lambda times: Size(1, 250 * times),
    "Events": lambda times: Size(events=500 * times),
    "pulls": lambda times: Size(pulls=500 * times),
    "pending pods": lambda times: Size(pending=250 * times),
    "rejected pods": lambda times: Size(ended=250 * times),
    "OOM-killed pods": lambda times: Size(killed=250 * times),
    "pods without a NUMA place": lambda times: Size(misfits=250 * times),
}
SAMPLES: Final = 30
"""Stored days of each of 20 nodes at the smallest size."""


class Measured(msgspec.Struct):
    """Counts what one look took: CPU seconds of each stage, and of each question that was asked after it."""

    wall_seconds: float
    peak_bytes: int
    stages: dict[str, float]
    questions: dict[str, float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.first_answer", description=__doc__)
    parser.add_argument("--growth", action="store_true")
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as folder:
        (_growth if parser.parse_args().growth else _answers)(Path(folder))


def _answers(folder: Path) -> None:
    for name, size in ANSWERS.items():
        dump = folder / "dump.json"
        megabytes = write_dump(dump, size) / 1e6
        found = _measured(dump)
        cpu = sum(found.stages.values())
        print(
            f"{name}, {megabytes:.1f} MB: {cpu:.2f} s of CPU, {found.wall_seconds:.2f} s by the clock,"
            f" {found.peak_bytes / MIB:.0f} MiB"
        )
        for stage, seconds in found.stages.items():
            print(f"  {stage:40}{seconds:6.2f} s{seconds / cpu:7.0%}")


def _growth(folder: Path) -> None:
    inputs = {name: partial(_dump, folder / "input", size) for name, size in GROWS.items()}
    for name, write in (inputs | {"days stored": partial(_capture, folder / "input")}).items():
        found = [_measured(write(times), "questions") for times in SIZES]
        print(f"{name}: peaks of {', '.join(f'{each.peak_bytes / MIB:.0f}' for each in found)} MiB")
        for kind, of in (("", [each.stages for each in found]), ("query ", [each.questions for each in found])):
            for what in of[-1]:
                _print_growth(kind + what, [each[what] for each in of])


def _print_growth(what: str, seconds: list[float]) -> None:
    if seconds[-1] >= ENOUGH_SECONDS and seconds[-2]:
        exponent = math.log(seconds[-1] / seconds[-2], SIZES[-1] / SIZES[-2])
        figures = "".join(f"{each:8.2f}" for each in seconds)
        print(f"  {what:40}{figures} s   exponent {exponent:5.2f}{'  !' if exponent > MOST else ''}")


def _dump(path: Path, size: Callable[[int], Size], times: int) -> Path:
    write_dump(path, size(times))
    return path


def _capture(path: Path, times: int) -> Path:
    write_capture(path, nodes=20, pods=10, samples=SAMPLES * times)
    return path


def _measured(path: Path, *more: str) -> Measured:
    """A look in a process of its own, as a person starts one."""
    command = [sys.executable, "-m", "tests.bench.first_answer", "inside", str(path), *more]
    began = time.perf_counter()
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    found = msgspec.json.decode(answer.splitlines()[-1], type=Measured)
    if not more:
        found.wall_seconds = time.perf_counter() - began
    return found


def _inside(path: str, *more: str) -> Measured:
    stages: dict[str, float] = {}
    questions: dict[str, float] = {}
    run_replay, print_answer = Replay.run, look._print

    def ended(stage: str) -> None:
        stages[stage] = time.process_time() - sum(stages.values())

    def folded(self: Replay, items: Iterable[Decoded]) -> ReplayReport:
        ended("start: modules, engine, tables, views")
        report = run_replay(self, items)
        ended("fold, columns, insert")
        return report

    def printed(database: Database, form: str, namespace: str, stored_by: str) -> list[Findings]:
        ended("calculate, merge")
        found = print_answer(database, form, namespace, stored_by)
        ended("questions and words")
        if more:
            questions.update(_asked(database))
        return found

    Replay.run, look._print = folded, printed  # type: ignore[method-assign]  # measured from outside
    began = time.perf_counter()
    with suppress(SystemExit):
        look.command([path])
    reading = resource.getrusage(resource.RUSAGE_CHILDREN)
    stages["read and decode, in a process of its own"] = reading.ru_utime + reading.ru_stime
    return Measured(time.perf_counter() - began, peak_bytes(os.getpid()), stages, questions)


def _asked(db: Database) -> Iterator[tuple[str, float]]:
    """CPU seconds of each saved question that needs nothing to be given."""
    for query in with_forms():
        began = time.process_time()
        with suppress(DatabaseError):
            run(db, query, {})
            yield query.name, time.process_time() - began


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        sys.stdout.buffer.write(b"\n" + msgspec.json.encode(_inside(*sys.argv[2:])) + b"\n")
    else:
        main()
