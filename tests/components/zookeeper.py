"""Apache ZooKeeper as one node, which ClickHouse keeps the metadata of replicated tables in, from Maven Central."""

import socket
from pathlib import Path
from typing import Final, Self

from components.processes import HOST, Process, free_port
from components.programs.cache import tool
from components.programs.maven import jars

VERSION: Final = "3.9.3"
_BESIDE: Final = ("io.dropwizard.metrics:metrics-core:4.1.12.1", "org.xerial.snappy:snappy-java:1.1.10.5")
"""Libraries that ZooKeeper needs and does not ask Maven for."""


def zookeeper_libraries() -> Path:
    """The folder of its jars, fetched on the first call."""
    return jars("zookeeper", VERSION, "13 MB", (f"org.apache.zookeeper:zookeeper:{VERSION}", *_BESIDE))


class ZooKeeper:
    """One node on a free loopback port."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        settings = {
            "tickTime": "500",
            "dataDir": str(folder / "zookeeper-data"),
            "clientPort": str(self.port),
            "clientPortAddress": HOST,
            "admin.enableServer": "false",
            "4lw.commands.whitelist": "srvr",
        }
        properties = folder / "zookeeper.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        main = ["org.apache.zookeeper.server.quorum.QuorumPeerMain", str(properties)]
        command = [tool("java"), "-Xmx128m", "-cp", f"{zookeeper_libraries()}/*", *main]
        self._process = Process("ZooKeeper", command, folder / "zookeeper.log")

    def __enter__(self) -> Self:
        self._process.start()
        self._process.await_ready(self._answers)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.stop()

    def _answers(self) -> bool:
        """Tell whether it serves: one that starts answers too, and refuses each session."""
        try:
            with socket.create_connection((HOST, self.port), timeout=2) as connection:
                connection.sendall(b"srvr")
                return connection.recv(64).startswith(b"Zookeeper version")
        except OSError:
            return False
