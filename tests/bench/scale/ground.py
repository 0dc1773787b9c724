"""Starts what a measurement needs: the real Kafka, API server and engine, stub kubelets, and our own commands."""

import sys
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple, Self

import yaml
from prometheus_client.parser import text_string_to_metric_families

from components.clickhouse import ClickHouseHttp
from components.command import leadsman_process
from components.kafka import Kafka
from components.proc import cpu_seconds, peak_bytes
from components.processes import HOST, Process, free_port
from components.secured import Authority
from paths import IMPORTS
from sql.database.open import connect
from sql.schema.migrate import migrate
from waiting import eventually

from .cluster import LargeCluster

MIB: Final = 1 << 20


class Used(NamedTuple):
    """CPU seconds that processes have taken so far."""

    cpu_seconds: float
    peak_bytes: int


class Part:
    """One of our commands, with its telemetry."""

    def __init__(self, what: str, flags: Sequence[str], folder: Path, instance: int | None = None) -> None:
        self._port = free_port()
        name = what if instance is None else f"{what}-{instance}"
        env = {
            "LEADSMAN_TELEMETRY__PORT": str(self._port),
            **({} if instance is None else {f"LEADSMAN_{what.upper()}__INSTANCE": name}),
        }
        self.process = leadsman_process(what, *flags, folder=folder, name=name, environment=env)

    def start(self) -> Self:
        """Returns when it tells figures."""
        self.process.start()
        self.process.await_ready(lambda: bool(self.figures()))
        return self

    def used(self) -> Used:
        """CPU seconds that its process has taken so far."""
        return used(self.process.pid)

    def figures(self) -> Mapping[tuple[str, ...], float]:
        """Sums of its metrics: by name, and by name and the values of the labels; none while it does not answer."""
        return figures(self._port)


class Ground:
    """Everything on loopback addresses; `workers` are as many as `scale_workers` was last told."""

    def __init__(self, folder: Path, nodes: int, pods: int) -> None:
        self.nodes = 0
        self._most, self.pods = nodes, pods
        self._folder = folder
        self._stack = ExitStack()
        self.kafka = Kafka(folder, heap_mib=1024)
        self.engine = ClickHouseHttp(folder / "db")
        self.kubelet_port = free_port()
        self.cluster = LargeCluster(folder, self.kubelet_port)
        self.stubs = stub_kubelets(folder, self.kubelet_port, nodes, pods)
        self.workers: list[Part] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.kafka.start()
            stack.callback(self.kafka.stop)
            stack.enter_context(self.engine)
            stack.callback(self.cluster.stop)
            self.cluster.start()
            self.stubs.start()
            stack.callback(self.stubs.stop)
            self.stubs.await_ready(lambda: "listening" in self.stubs.last_lines())
            self.dsn = self.engine.dsn()
            with connect(self.dsn) as database:
                migrate(database)
            self._config = self._configure()
            self.watch, self.land = self._part("watch"), self._part("land", 0)
            for part in (self.watch, self.land):
                stack.callback(part.process.stop)
            stack.callback(self.scale_workers, 0)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def grow(self, nodes: int) -> None:
        """So many nodes, each with its pods."""
        self.cluster.add(range(self.nodes, nodes), self.pods)
        self.nodes = max(nodes, self.nodes)

    def scale_workers(self, count: int) -> None:
        """Start or stop workers; the last that came goes first."""
        while len(self.workers) > count:
            self.workers.pop().process.stop()
        while len(self.workers) < count:
            self.workers.append(self._part("work", len(self.workers)).start())
        eventually("every worker folds", lambda: all(map(_folds, self.workers)), 120)

    def used(self) -> dict[str, Used]:
        """CPU seconds by part; a program's children count as its own."""
        return {
            "watch": used(self.watch.process.pid),
            "work": used(*[worker.process.pid for worker in self.workers]),
            "land": used(self.land.process.pid),
            "Kafka": used(self.kafka.process.pid),
            "engine": used(self.engine.pid),
            "API server": self.used_by_cluster(),
            "stubs": used(self.stubs.pid),
        }

    def used_by_cluster(self) -> Used:
        """API server and etcd."""
        return used(self.cluster.api_server.pid, self.cluster.etcd.pid)

    def _part(self, what: str, instance: int | None = None) -> Part:
        return Part(what, [f"--config={self._config}"], self._folder, instance)

    def _configure(self) -> Path:
        config = self._folder / "leadsman.yaml"
        settings = {
            "db": self.dsn,
            "kafka": {"bootstrap_servers": self.kafka.bootstrap_servers},
            "watch": {
                "cluster": "large",
                "kubeconfig": str(self.cluster.kubeconfig()),
                "kubelet": {"access": "direct", "insecure": True},
            },
        }
        config.write_text(yaml.safe_dump(settings))
        return config


def stub_kubelets(folder: Path, port: int, nodes: int, pods: int) -> Process:
    """A process that answers for so many kubelets on one port, not started."""
    given = [str(port), str(nodes), str(pods), *map(str, Authority(folder, "kubelets").issue("kubelet"))]
    command = [sys.executable, "-m", "bench.scale.stubs", *given]
    return Process("stubs", command, folder / "stubs.log", {"PYTHONPATH": IMPORTS})


def _folds(worker: Part) -> bool:
    return worker.figures().get(("leadsman_folded_messages_total",), 0) > 0


def figures(port: int) -> Mapping[tuple[str, ...], float]:
    """Sums of what a program has at /metrics: by name, and by name and the values of the labels; none while it does
    not answer.
    """
    try:
        with urllib.request.urlopen(f"http://{HOST}:{port}/metrics", timeout=60) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    found: dict[tuple[str, ...], float] = defaultdict(float)
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found[sample.name,] += sample.value
            if sample.labels:
                found[sample.name, *sample.labels.values()] += sample.value
    return found


def used(*pids: int) -> Used:
    """CPU time is summed up, the peak is that of the largest."""
    return Used(sum(map(cpu_seconds, pids)), max(map(peak_bytes, pids), default=0))
