"""All parts of Leadsman at once, what may befall them, and what they hold of memory and open files meanwhile."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final, Self, TypeAlias

import msgspec

from components.clickhouse import REFUSALS
from components.cluster.kubernetes import Cluster
from components.command import leadsman_process
from components.hook import Hook
from components.pipeline import Pipeline, waiting
from components.proc import open_files, resident_bytes
from components.processes import HOST, Process, free_port
from components.telemetry import get
from faults.fire import Ground
from faults.history import Span
from streams.alerting.receivers.choose import group_of
from waiting import NotReady, eventually, lasting

FIGURES: Final = "tests/faults/soak.jsonl"
CLUSTER: Final = "soak"
SAMPLE_SECONDS: Final = 10.0
LISTED_SECONDS: Final = 30.0
"""Time from when all parts are ready until a watcher lists its earlier objects again."""
FULL_MIB: Final = 32
"""Free space that an insert refuses to begin with (`sql.database.client.SETTINGS`)."""
MIB: Final = 1 << 20


class Figures(msgspec.Struct):
    """Counts what the parts hold at a moment, by part; a part that is being started is not there."""

    seconds: int
    """Seconds from the beginning."""
    faults: int
    """Until then."""
    resident_mib: dict[str, float]
    open_files: dict[str, int]


class Soak:
    """Watcher, worker, lander, alert consumer and page over a real API server, Kafka and the engine behind HTTP; a
    part that ends is started again, as a Deployment would.
    """

    def __init__(self, cluster: Cluster, ground: Ground, folder: Path) -> None:
        self.cluster, self.ground = cluster, ground
        self.direct = ground.clickhouse.dsn("soak")
        through = self.direct.replace(str(ground.clickhouse.port), str(ground.to_clickhouse.port))
        self.pipeline = Pipeline(ground.kafka, through, folder)
        self.to_api = ground.toxiproxy.before(cluster.port)
        self.chance = random.Random(7)  # noqa: S311  # only moments
        self.hook = Hook()
        self.figures: list[Figures] = []
        self.again: list[Span] = []
        """When a watcher may have published what had been published."""
        self.faults = 0
        self._folder = folder
        self._ports = {name: free_port() for name in ("watch", "work", "land", "alert", "serve")}
        self.parts = {name: self._part(name) for name in self._ports}
        self._began = time.monotonic()
        self._over = Event()
        self.tended = Lock()
        self._threads = [Thread(target=each, name=each.__name__) for each in (self._tend, self._look, self._read)]

    def _part(self, name: str) -> Process:
        kubeconfig = self._folder / "kubeconfig"
        kubeconfig.write_text(
            self.cluster.kubeconfig().read_text().replace(self.cluster.url, f"https://{HOST}:{self.to_api.port}")
        )
        environment = self.pipeline.environment("work", "0") | {
            "LEADSMAN_LAND__INSTANCE": "0",
            "LEADSMAN_WATCH__CLUSTER": CLUSTER,
            "LEADSMAN_WATCH__KUBECONFIG": str(kubeconfig),
            "LEADSMAN_WATCH__KUBELET__ACCESS": "off",
            "LEADSMAN_WATCH__RESOURCES": '["nodes","pods","events"]',
        }
        arguments = {
            "alert": ("--to", f"webhook={self.hook.url}"),
            "serve": ("--port", str(self._ports["serve"])),
        }.get(name, ())
        if name != "serve":
            environment["LEADSMAN_TELEMETRY__PORT"] = str(self._ports[name])
        return leadsman_process(name, *arguments, folder=self._folder, environment=environment)

    def __enter__(self) -> Self:
        for part in self.parts.values():
            part.start()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for part in self.parts.values():
            part.stop()
        self.pipeline.stop()
        self.hook.close()

    def befall(self, name: str) -> None:
        """One of FAULTS, and return when every part is ready again; NotReady where that is not within 5 minutes."""
        began = time.time()
        {**FATAL, **PASSING}[name](self)
        self.faults += 1
        for proxy in (self.to_api, self.ground.to_kafka, self.ground.to_clickhouse):
            proxy.heal()
        self.ground.clickhouse.heal()
        if self.ground.disk_of_clickhouse is not None:
            self.ground.disk_of_clickhouse.free()
        eventually(f"all are ready after {name}: {self.unready()}", lambda: not self.unready(), every_seconds=0.5)
        self.again.append(Span(began, time.time() + LISTED_SECONDS))

    def unready(self) -> list[str]:
        """Parts that do not say that they are ready."""
        return [name for name, port in self._ports.items() if get(port, "readyz")[0] != 200]

    @contextmanager
    def untended(self, name: str = "") -> Iterator[Process]:
        """A part by its name, or any, that is not started again meanwhile."""
        with self.tended:
            yield self.parts[name or self.chance.choice(list(self.parts))]

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Nothing is published any more, and all that was is stored and told: Kafka, tables and receiver can be
        compared. The API server goes on; so what is watched of it would come between two looks.
        """
        with self.untended("watch") as watcher:
            watcher.stop()
            self.pipeline.settle()
            eventually("no alert waits for the receiver", lambda: self._untold() == 0, every_seconds=1)
            yield

    def _untold(self) -> int:
        kafka = self.pipeline.settings.kafka
        group = group_of(kafka.topic_prefix, f"webhook={self.hook.url}")
        return waiting(kafka.bootstrap_servers, group, [self.pipeline.topics.alerts.name])

    def _tend(self) -> None:
        while not self._over.wait(0.5):
            with self.tended:
                for name, part in self.parts.items():
                    if not part.runs:
                        part.start()
                        if name == "watch":
                            self.again.append(Span(time.time() - 1, time.time() + 2 * LISTED_SECONDS))

    def _look(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            resident, files = dict[str, float](), dict[str, int]()
            for name, part in self.parts.items():
                with suppress(NotReady, OSError):
                    resident[name] = round(resident_bytes(part.pid) / MIB, 1)
                    files[name] = open_files(part.pid)
            self.figures.append(Figures(round(time.monotonic() - self._began), self.faults, resident, files))

    def _read(self) -> None:
        """Somebody has the page open; beside `_look`, which would miss what happens while the page takes its time."""
        while not self._over.wait(SAMPLE_SECONDS):
            get(self._ports["serve"], "")


Fault: TypeAlias = Callable[[Soak], None]


def _killed(on: Soak) -> None:
    with on.untended() as part:
        part.kill()
        part.start()


def _ended(on: Soak) -> None:
    with on.untended() as part:
        part.stop()
        part.start()


def _paused(on: Soak) -> None:
    with on.untended() as part, suppress(NotReady, ProcessLookupError):
        os.kill(part.pid, signal.SIGSTOP)
        lasting(on.chance.uniform(2, 15))
        os.kill(part.pid, signal.SIGCONT)


def _others_come_and_go(on: Soak) -> None:
    others = [on.pipeline.part("work", "1"), on.pipeline.part("land", "1")]
    for other in others:
        other.start()
    lasting(10)
    for other in others:
        other.stop()


def _database_killed(on: Soak) -> None:
    on.ground.clickhouse.__exit__()
    lasting(3)
    on.ground.clickhouse.__enter__()


def _broker_restarted(on: Soak) -> None:
    on.ground.kafka.restart()


def _broker_killed(on: Soak) -> None:
    on.ground.kafka.kill()
    lasting(10)
    on.ground.kafka.start()


def _wire(which: str, how: str, *arguments: int) -> Fault:
    def befall(on: Soak) -> None:
        wires = {"kafka": on.ground.to_kafka, "clickhouse": on.ground.to_clickhouse, "api": on.to_api}
        getattr(wires[which], how)(*arguments)
        lasting(on.chance.uniform(3, 15))

    return befall


def _answers(fault: str) -> Fault:
    def befall(on: Soak) -> None:
        on.ground.clickhouse.inject(fault)
        lasting(5)

    return befall


def _disk_full(on: Soak) -> None:
    disk = on.ground.disk_of_clickhouse
    for _ in range(20):
        on.ground.clickhouse.inject("full") if disk is None else disk.leave(FULL_MIB)
        lasting(0.5)


def _api_server_restarted(on: Soak) -> None:
    on.cluster.restart_api_server()


def _history_gone(on: Soak) -> None:
    """Watches resume at versions that etcd no longer has."""
    on.to_api.cut()
    lasting(3)
    on.cluster.compact()
    on.cluster.restart_api_server()


def _impossible_event(on: Soak) -> None:
    name = f"impossible-{on.faults}"
    about = {"kind": "Pod", "name": name, "namespace": "default"}
    times: dict[str, Any] = {"firstTimestamp": "9999-12-31T23:59:59Z", "lastTimestamp": "0001-01-01T00:00:01Z"}
    event = {"metadata": {"name": name}, "involvedObject": about, "reason": "Evicted", "type": "Warning", **times}
    on.cluster.request("POST", "/api/v1/namespaces/default/events", {**event, "count": 2**31 - 1})


def _not_records(on: Soak) -> None:
    for topic in (on.pipeline.topics.nodes, on.pipeline.topics.cluster):
        on.pipeline.send(topic.name, [(b"soak/nobody", bytes([number, 0xFF]), []) for number in range(20)])


FATAL: Final[Mapping[str, Fault]] = {
    "kill -9": _killed,
    "kill -9 once more": _killed,
    "SIGTERM": _ended,
    "SIGSTOP": _paused,
    "SIGSTOP once more": _paused,
    "second worker and lander": _others_come_and_go,
}
"""Faults that end processes, or let others take over."""
PASSING: Final[Mapping[str, Fault]] = {
    "ClickHouse killed": _database_killed,
    "disk of ClickHouse full": _disk_full,
    "broker restarted": _broker_restarted,
    "broker killed": _broker_killed,
    "API server restarted": _api_server_restarted,
    "etcd compacted": _history_gone,
    "impossible Event": _impossible_event,
    "messages that are not records": _not_records,
    **{f"Kafka {how}": _wire("kafka", how) for how in ("reset", "hang", "cut")},
    **{f"ClickHouse {how}": _wire("clickhouse", how) for how in ("reset", "hang", "cut")},
    **{f"API server {how}": _wire("api", how) for how in ("reset", "hang", "cut")},
    "Kafka slow": _wire("kafka", "slow", 200),
    "API server slow": _wire("api", "slow", 500),
    **{f"ClickHouse answers {fault}": _answers(fault) for fault in ("drop_before", "drop_after", "error", *REFUSALS)},
}
"""Faults that parts survive."""
