"""`leadsman up` without Kafka: one process for a whole cluster, with what it stores and takes."""

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from components.processes import free_port
from sql.database.open import connect
from waiting import eventually

from .cluster import LargeCluster
from .ground import MIB, Part, Used, stub_kubelets
from .nodes import INTERVAL_SECONDS
from .tables import two_columns

LAG_SECONDS: Final = 15.0
"""Before the end: what was taken by then must be stored."""
WARM_SECONDS: Final = 60.0
_STORED: Final = """
SELECT uniqExact(node, ts) FROM node_samples
WHERE toFloat64(ts) >= {begin:Float64} AND toFloat64(ts) < {end:Float64}
SETTINGS final = 0"""


class Up(NamedTuple):
    """What was measured."""

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
        flags = ["--kubelet=direct", "--kubelet-insecure", f"--kubeconfig={cluster.kubeconfig()}"]
        up = Part("up", [*flags, "--port=0", f"--db=chdb://{folder / 'db'}"], folder)
        stack.callback(up.process.stop)
        up.start()
        eventually(
            "every kubelet is asked", lambda: up.figures().get(("leadsman_kubelets", "asked"), 0) == nodes, 300
        )
        time.sleep(WARM_SECONDS)
        before, began = up.used(), time.time()
        time.sleep(seconds)
        after, ended, load = up.used(), time.time(), os.getloadavg()[0]
    with connect(f"chdb://{folder / 'db'}", make=False, read_only=True) as database:
        window = {"begin": began - LAG_SECONDS, "end": ended - LAG_SECONDS}
        stored = int(database.query(_STORED, window).rows[0][0])
    used = Used(after.cpu_seconds - before.cpu_seconds, after.peak_bytes)
    return Up(nodes, pods, ended - began, stored, used, load)


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
