"""An OpenTelemetry Collector beside Leadsman, on the same stub kubelets: CPU of a sample, and what is stored of it.

They run one after the other in each round, in another order each time. One collector has a receiver for each node; as
it is deployed, each node has one, which pays for its own runtime, so this is to its advantage.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from components.clickhouse import ClickHouseHttp
from components.processes import HOST
from sql.database.open import connect

from . import nodes, up
from .bare import decode_seconds
from .beside_text import ENGINE, EXPORTER, OURS, RECEIVER, UP, Outcome, Result, Round, Stored
from .collector import Collector, kubelets_of
from .ground import Ground, Used, used

WORKERS: Final = 1
WARM_SECONDS: Final = 40.0
"""Warm-up of the collector: four samples of each node."""
FLUSHED_SECONDS: Final = 10.0
"""Time after which the collector has stored its input: its batches wait for 5 s."""
_ACCEPTED: Final = "otelcol_receiver_accepted_metric_points_total"
"""Data points; what its scrapers count are metrics."""
_ERROR: Final = "\terror\t"
"""A line of the collector's log about a scrape that failed, or an insert."""
_SCRAPED_STORED: Final = """
SELECT uniqExact(ResourceAttributes['k8s.node.name'], TimeUnix) FROM otel_metrics_gauge
WHERE MetricName = 'k8s.node.memory.available'
AND toFloat64(TimeUnix) >= {begin:Float64} AND toFloat64(TimeUnix) < {end:Float64}"""
_GROUPS: Final = r"""
SELECT extract(MetricName, '^(?:k8s\.)?([a-z]+)') AS group, count(), uniqExact(MetricName)
FROM merge(currentDatabase(), '^otel_metrics_(gauge|sum)$') GROUP BY group ORDER BY count() DESC"""
_TABLES: Final = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree%'"
_STORED: Final = """
SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts
WHERE active AND database = currentDatabase() GROUP BY table ORDER BY sum(rows) DESC"""


def run(folder: Path, count: int, pods: int, seconds: float, rounds: int) -> Iterator[Outcome]:
    """Yield the measurements so far after each round."""
    measured = list[Round]()
    with Ground(folder, count, pods) as ground:
        ground.grow(count)
        bench = _Bench(ground, folder, seconds)
        for number in range(rounds):
            results = {name: bench.METHODS[name](bench) for name in _turned(list(bench.METHODS), number)}
            measured.append(Round(results, os.getloadavg()[0]))
            yield Outcome(count, pods, seconds, measured, bench.points, bench.metrics, bench.stored)


def _turned(names: list[str], number: int) -> list[str]:
    at = number % len(names)
    return [*names[at:], *names[:at]]


class _Bench:
    """Measures one method at a time; the exporter first, for it shows how many points a sample has."""

    points: Mapping[str, float] = {}
    metrics = 0

    def __init__(self, ground: Ground, folder: Path, seconds: float) -> None:
        self._ground, self._folder, self._seconds = ground, folder, seconds
        self._kubelets = kubelets_of(folder, ground.kubelet_port, ground.nodes)
        self._runs = 0
        self.stored: dict[str, Stored] = {}

    @contextmanager
    def _collecting(self, export: Mapping[str, Any]) -> Iterator[Collector]:
        self._runs += 1
        collector = Collector(self._folder / f"collector-{self._runs}", self._kubelets, export)
        try:
            collector.start()
            time.sleep(WARM_SECONDS)
            yield collector
            if failed := [line for line in collector.process.log.read_text().splitlines() if _ERROR in line]:
                raise RuntimeError(f"the collector failed {len(failed)} times: {failed[0]}")
        finally:
            collector.process.stop()

    def _receiver(self) -> Result:
        with self._collecting({"nop": {}}) as collector:
            before, points, began = used(collector.process.pid), collector.figures()[_ACCEPTED,], time.time()
            time.sleep(self._seconds)
            after, points = used(collector.process.pid), collector.figures()[_ACCEPTED,] - points
            took = time.time() - began
        samples = points / sum(self.points.values())
        return self._result(samples, took, {"collector": (before, after)}, after.peak_bytes)

    def _exporter(self) -> Result:
        with ClickHouseHttp(self._folder / f"engine-{self._runs}") as engine:
            export = {
                "endpoint": f"http://{HOST}:{engine.port}",
                "database": "otel",
                "compress": "none",
                "timeout": "60s",
            }
            with self._collecting({"clickhouse": export}) as collector:
                pids = {"collector": collector.process.pid, ENGINE: engine.pid}
                before, began = {part: used(pid) for part, pid in pids.items()}, time.time()
                time.sleep(self._seconds)
                after, ended = {part: used(pid) for part, pid in pids.items()}, time.time()
                time.sleep(FLUSHED_SECONDS)
            dsn = engine.dsn("otel")
            samples = _samples(dsn, _SCRAPED_STORED, began, ended)
            self.stored[EXPORTER] = stored = _stored(dsn, _SCRAPED_STORED)
            with connect(dsn, make=False) as database:
                groups = database.query(_GROUPS).rows
            of_sample = sum(stored.rows.values())
            if round(of_sample, 6) % 1:
                raise RuntimeError("the collector repeated inserts that took too long: the machine is too busy")
            rows = sum(count for _, count, _ in groups)
            self.points = {group: count / rows * of_sample for group, count, _ in groups}
            self.metrics = sum(names for *_, names in groups)
        spent = {part: (before[part], after[part]) for part in pids}
        return self._result(samples, ended - began, spent, after["collector"].peak_bytes)

    def _ours(self) -> Result:
        ground = self._ground
        parts = (ground.watch, ground.land)
        for part in parts:
            part.start()
        ground.scale_workers(WORKERS)
        try:
            nodes.settle(ground)
            before, began = ground.used(), time.time()
            time.sleep(self._seconds)
            after, ended = ground.used(), time.time()
            time.sleep(FLUSHED_SECONDS)
        finally:
            ground.scale_workers(0)
            for part in parts:
                part.process.stop()
        samples = _samples(ground.dsn, nodes.STORED, began, ended)
        self.stored[OURS] = _stored(ground.dsn, nodes.STORED)
        its_own = sum(after[part].peak_bytes for part in ("watch", "work", "land"))
        spent = {part: (before[part], after[part]) for part in after if part != "stubs"}
        return self._result(samples, ended - began, spent, its_own)

    def _up(self) -> Result:
        self._runs += 1
        folder, ground = self._folder / f"up-{self._runs}", self._ground
        folder.mkdir()
        with up.watching(folder, ground.cluster, ground.nodes) as part:
            before, api_server, began = part.used(), ground.used_by_cluster(), time.time()
            time.sleep(self._seconds)
            spent = {"up": (before, part.used()), "API server": (api_server, ground.used_by_cluster())}
            ended = time.time()
            time.sleep(up.LAG_SECONDS)
        _, after = spent["up"]
        return self._result(up.stored_by(folder, began, ended), ended - began, spent, after.peak_bytes)

    def _result(
        self, samples: float, took_seconds: float, spent: Mapping[str, tuple[Used, Used]], peak_bytes: int
    ) -> Result:
        cpu = {part: after.cpu_seconds - before.cpu_seconds for part, (before, after) in spent.items()}
        due = self._ground.nodes * took_seconds / nodes.INTERVAL_SECONDS
        return Result(samples, due, cpu, decode_seconds(self._ground.pods), peak_bytes)

    METHODS: Final[dict[str, Callable[["_Bench"], Result]]] = {
        EXPORTER: _exporter,
        RECEIVER: _receiver,
        OURS: _ours,
        UP: _up,
    }


def _samples(dsn: str, query: str, began: float, ended: float) -> int:
    with connect(dsn, make=False) as database:
        if found := int(database.query(query, {"begin": began, "end": ended}).rows[0][0]):
            return found
    raise RuntimeError(f"{dsn} has no samples")


def _stored(dsn: str, query: str) -> Stored:
    samples = _samples(dsn, query, 0.0, time.time())
    with connect(dsn, make=False) as database:
        for (name,) in database.query(_TABLES).rows:
            database.command(f"OPTIMIZE TABLE `{name}` FINAL")
        rows = database.query(_STORED).rows
    shares = {name: count / samples for name, count, _ in rows}
    return Stored(shares, sum(size for *_, size in rows) / samples)
