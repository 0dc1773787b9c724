"""`leadsman up` without Kafka: one process for a whole cluster, with what it stores and takes."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from components.processes import free_port
from sql.database.open import connect
from waiting import eventually

from .cluster import LargeCluster
from .ground import MIB, Part, Used, stub_kubelets
from .nodes import INTERVAL_SECONDS, STORED
from .tables import two_columns

LAG_SECONDS: Final = 15.0
"""Before the end: what was taken by then must be stored."""
WARM_SECONDS: Final = 60.0


class Up(NamedTuple):
    """The measurements."""

    nodes: int
    pods: int
    seconds: float
    stored: int
    used: Used
    """In that time; the peak is of the whole run, with the engine, whose pages of files count too."""
    load: float

    @property
    def due(self) -> float:
        return self.nodes * self.seconds / INTERVAL_SECONDS


def run(folder: Path, nodes: int, pods: int, seconds: float) -> Up:
    """Start it beside a real API server with so many nodes, let it run, and look into its database."""
    port = free_port()
    cluster, stubs = LargeCluster(folder, port), stub_kubelets(folder, port, nodes, pods)
    with ExitStack() as stack:
        stack.callback(cluster.stop)
        cluster.start()
        cluster.add(range(nodes), pods)
        stack.callback(stubs.stop)
        stubs.start()
        stubs.await_ready(lambda: "listening" in stubs.last_lines())
        up = stack.enter_context(watching(folder, cluster, nodes))
        before, began = up.used(), time.time()
        time.sleep(seconds)
        after, ended, load = up.used(), time.time(), os.getloadavg()[0]
    stored = stored_by(folder, began - LAG_SECONDS, ended - LAG_SECONDS)
    used = Used(after.cpu_seconds - before.cpu_seconds, after.peak_bytes)
    return Up(nodes, pods, ended - began, stored, used, load)


@contextmanager
def watching(folder: Path, cluster: LargeCluster, nodes: int) -> Iterator[Part]:
    """It runs, with a database in `folder`, and has asked each kubelet for a minute."""
    flags = ["--kubelet=direct", "--kubelet-insecure", f"--kubeconfig={cluster.kubeconfig()}"]
    up = Part("up", [*flags, "--port=0", f"--db=chdb://{folder / 'db'}"], folder)
    up.start()
    try:
        eventually(
            "every kubelet is asked", lambda: up.figures().get(("leadsman_kubelets", "asked"), 0) == nodes, 300
        )
        time.sleep(WARM_SECONDS)
        yield up
    finally:
        up.process.stop()


def stored_by(folder: Path, began: float, ended: float) -> int:
    """Return the number of samples of that time in its database, which has ended."""
    with connect(f"chdb://{folder / 'db'}", make=False, read_only=True) as database:
        return int(database.query(STORED, {"begin": began, "end": ended}).rows[0][0])


def text(up: Up) -> str:
    """The outcome as Markdown."""
    what = (
        f"{up.nodes} nodes of {up.pods} pods, asked every {INTERVAL_SECONDS:g} s for {up.seconds:.0f} s: samples due"
    )
    return two_columns(
        {
            what: f"{up.due:,.0f}",
            "stored": f"{up.stored / up.due:.1%}",
            "cores in use": f"{up.used.cpu_seconds / up.seconds:.2f}",
            "CPU time of a sample with all that comes with it": f"{up.used.cpu_seconds / up.stored * 1000:.1f} ms",
            "memory at its peak, engine and page included": f"{up.used.peak_bytes / MIB:,.0f} MiB",
            "load of the machine at the end": f"{up.load:.1f}",
        }
    )
