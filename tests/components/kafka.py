"""Apache Kafka as one KRaft node that is broker and controller (contributing.md#real-components), from Maven
Central.
"""

import shutil
import socket
import struct
import subprocess
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final, Self

from components.processes import HOST, Process, free_port
from components.programs.cache import cached, tool
from components.programs.maven import jars
from waiting import NotReady

VERSION: Final = "4.1.1"
LOG4J_VERSION: Final = "2.24.3"
CLASSES: Final = "kafka.jsa"
OWN_CLASSES: Final = "-Xshare:auto"
"""Java's default: it maps its own classes and no broker's."""
META: Final = "meta.properties"
"""The file of a broker's folder that has the identities of the cluster, the broker and the folder."""
BRIEF: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:CICompilerCount=1", "-XX:-UsePerfData")
"""Options of a JVM that lives for a test: compiling well would cost more than it saves."""


def kafka_libraries() -> Path:
    """The folder of Kafka's jars, fetched on the first call."""
    coordinates = (
        f"org.apache.kafka:kafka_2.13:{VERSION}",
        f"org.apache.logging.log4j:log4j-slf4j-impl:{LOG4J_VERSION}",
    )
    return jars("kafka", VERSION, "43 MB", coordinates)


@cache
def kafka_classes() -> Path:
    """The classes of a broker as this machine's Java maps them, written by one that ran: with them one starts in half
    the time.
    """
    reported = subprocess.run([tool("java"), "--version"], check=True, capture_output=True).stdout

    def build(folder: Path) -> None:
        broker = Kafka(folder / "broker", classes=f"-XX:ArchiveClassesAtExit={folder / CLASSES}")
        broker.start()
        broker.stop()
        shutil.rmtree(folder / "broker")

    return cached("kafka-classes", f"{VERSION}-{sha256(reported).hexdigest()[:12]}", build) / CLASSES


@cache
def kafka_storage() -> Path:
    """A formatted folder of a broker, to copy: what names the broker in it is its file META alone."""

    def build(folder: Path) -> None:
        broker = Kafka(folder / "broker", classes=OWN_CLASSES)  # the broker that writes `kafka_classes` copies this
        broker.format()
        broker.data.rename(folder / "data")
        shutil.rmtree(folder / "broker")

    return cached("kafka-storage", VERSION, build) / "data"


class Kafka:
    """One Kafka node on free loopback ports; its data is in `folder` and survives `kill` and `restart`.

    Its settings are Kafka's own, but for what one broker, a killed one and a test's time need: what a topic needs is
    set where it is made. `settings` go over them; `format_flags` are given to the storage tool, `classes` to Java
    in place of where it finds those of a broker.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        heap_mib: int = 512,
        format_flags: Sequence[str] = (),
        cluster_id: str = "",
        controller_port: int = 0,
        classes: str = "",
    ) -> None:
        self._cluster_id = cluster_id or _identity()
        self._format_flags = format_flags
        self.port = free_port()
        self.bootstrap_servers = f"{HOST}:{self.port}"
        options = (f"-Xmx{heap_mib}m", *BRIEF, classes or f"-XX:SharedArchiveFile={kafka_classes()}")
        self._java = [tool("java"), *options, "-Dlog4j2.level=WARN", "-cp", f"{kafka_libraries()}/*"]
        self.data = folder / "kafka-data"
        self._properties = folder / "server.properties"
        defaults = _settings(self.port, controller_port or free_port(), self.data)
        folder.mkdir(parents=True, exist_ok=True)
        properties = {**defaults, **(settings or {})}
        self._node_id = properties["node.id"]
        self._has_own_storage = bool(format_flags) or properties["log.dirs"] != str(self.data)
        _write(self._properties, properties)
        command = [*self._java, "kafka.Kafka", str(self._properties)]
        self.process = Process("Kafka", command, folder / "kafka.log")

    def start(self) -> "Kafka":
        """Start, formatting the storage the first time; returns when the broker answers for itself, or NotReady."""
        self.begin()
        self.await_ready()
        return self

    def begin(self) -> None:
        """Start, and return at once."""
        if not self.data.exists():
            self._format()
        self.process.start()

    def await_ready(self) -> None:
        """Return when the broker answers for itself, or NotReady."""
        self.process.await_ready(lambda: _knows_a_broker(self.port))

    def stop(self) -> None:
        """A controlled shutdown."""
        self.process.stop()

    def kill(self) -> None:
        """SIGKILL."""
        self.process.kill()

    def restart(self) -> None:
        """A controlled shutdown, then the same ports and data again."""
        self.stop()
        self.start()

    def tool(self, main: str, *arguments: str) -> None:
        """One of Kafka's own commands, as admin on the plain listener; CalledProcessError when it fails."""
        command = [*self._java, main, "--bootstrap-server", self.bootstrap_servers, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    def _format(self) -> None:
        if not self._has_own_storage:
            shutil.copytree(kafka_storage(), self.data)
            identity = {"version": "1", "cluster.id": self._cluster_id, "directory.id": _identity()}
            _write(self.data / META, {**identity, "node.id": self._node_id})
            return
        self.format()

    def format(self) -> None:
        """Format the storage by Kafka's own tool, which takes a Java of its own."""
        flags = [f"--cluster-id={self._cluster_id}", *self._format_flags]
        command = [*self._java, "kafka.tools.StorageTool", "format", "-c", str(self._properties), *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            shutil.rmtree(self.data, ignore_errors=True)
            raise NotReady(f"Kafka's storage was not formatted:\n{done.stdout}{done.stderr}")


class KafkaCluster:
    """Several nodes of one Kafka, each broker and controller, with its own topics on three of them, of which two must
    be in sync.
    """

    def __init__(self, folder: Path, nodes: int = 3, heap_mib: int = 256) -> None:
        ports = {number: free_port() for number in range(1, nodes + 1)}
        settings = {
            "controller.quorum.voters": ",".join(f"{number}@{HOST}:{port}" for number, port in ports.items()),
            "offsets.topic.replication.factor": "3",
            "transaction.state.log.replication.factor": "3",
            "transaction.state.log.min.isr": "2",
            "min.insync.replicas": "2",
        }
        identity = _identity()
        self.nodes = [
            Kafka(
                folder / str(number),
                {**settings, "node.id": str(number)},
                heap_mib,
                cluster_id=identity,
                controller_port=port,
            )
            for number, port in ports.items()
        ]
        self.bootstrap_servers = ",".join(node.bootstrap_servers for node in self.nodes)

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for node in self.nodes:
                node.begin()
                stack.callback(node.kill)
            for node in self.nodes:
                node.await_ready()
            stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes:
            node.kill()


def _write(file: Path, properties: Mapping[str, str]) -> None:
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))


def _identity() -> str:
    """Return a new identity of a cluster or a folder, as Kafka writes it."""
    return urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def _settings(port: int, controller_port: int, data: Path) -> dict[str, str]:
    return {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "controller.listener.names": "CONTROLLER",
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": str(data),
        "broker.session.timeout.ms": "3000",  # a killed node comes back only when its last life's session is over
        "broker.heartbeat.interval.ms": "500",
        "metadata.max.idle.interval.ms": "10000",  # a record of nothing each half second wakes a third of the broker
        "num.network.threads": "1",
        "num.io.threads": "2",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "4",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),  # of memory
    }


def _knows_a_broker(port: int) -> bool:
    """Return whether the node's metadata answer (Kafka protocol, Metadata v0) names a broker: itself."""
    client = b"leadsman-tests"
    request = struct.pack(">hhih", 3, 0, 1, len(client)) + client + struct.pack(">i", 0)
    try:
        with socket.create_connection((HOST, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.makefile("rb").read(12)
    except OSError:
        return False
    return len(answer) == 12 and struct.unpack(">iii", answer)[2] > 0
