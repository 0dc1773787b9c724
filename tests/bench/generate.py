"""Write captures of any number of nodes, pods and samples: `python -m tests.bench.generate --help`."""

import argparse
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec

from fakes.checkpoints import write_cpu_manager_state
from ingest.files.capture import CaptureWriter, Compression
from ingest.model.observation import Change, Observation, Origin
from streams.rules.numa.cpu_checkpoint import CpuManagerState

from .shapes import Json, Shapes, load_shapes
from .summaries import Summaries, node_name, node_uid, pod_names

CLUSTER: Final = "bench"
BEGIN: Final = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)
INTERVAL: Final = timedelta(seconds=10)
LISTING: Final = timedelta(seconds=1)
"""Time between the list of objects and the first sample."""
NODES_AN_EVENT: Final = 20
"""One event of so many nodes in each interval."""
SAMPLES_HELD: Final = 60
"""So long a pod holds its exclusive CPUs."""
TOPOLOGY: Final[Json] = {
    "cpus": [{"cpu": cpu, "core": cpu // 2, "socket": cpu // 8, "numa": cpu // 8} for cpu in range(16)]
}
COMPRESSIONS: Final[dict[str, Compression]] = {".gz": "gzip", ".zst": "zstd"}


def write_capture(
    path: Path,
    *,
    nodes: int,
    pods: int,
    samples: int,
    seed: int = 0,
    numa: bool = False,
    interval: timedelta = INTERVAL,
) -> int:
    """Write a capture anew, compressed as its suffix says, and give the number of its observations.

    It lists the nodes, their pods and their kubelets' settings; then, every `interval`, it has a summary of each
    node and some events, in order of time; with `numa` also the CPU topology, and with each summary the CPU Manager's
    checkpoint. Memory does not grow with any of the numbers but `pods`.
    """
    path.unlink(missing_ok=True)
    count = 0
    with closing(CaptureWriter(path, COMPRESSIONS.get(path.suffix, "none"))) as capture:
        for observation in observations(
            nodes=nodes, pods=pods, samples=samples, seed=seed, numa=numa, interval=interval
        ):
            capture.write(observation)
            count += 1
    return count


def observations(
    *, nodes: int, pods: int, samples: int, seed: int = 0, numa: bool = False, interval: timedelta = INTERVAL
) -> Iterator[Observation]:
    """Give the observations of `write_capture`; the same arguments give the same ones."""
    shapes = load_shapes()
    yield from _listing(shapes, nodes, pods, numa=numa)
    summaries = Summaries(shapes, pods, seed, BEGIN)
    for sample in range(samples):
        for node in range(nodes):
            ts = BEGIN + interval * (sample + node / nodes)
            summary = summaries.at(node, ts)
            yield observed(ts, "kubelet", "stats/summary", "SNAPSHOT", summary, node_name(node))
            if numa:
                checkpoint = _checkpoint(node, sample)
                yield observed(ts, "agent", "cpu_manager_state", "SNAPSHOT", checkpoint, node_name(node))
            if pods and node % NODES_AN_EVENT == sample % NODES_AN_EVENT:
                yield observed(ts, "watch", "events", "ADDED", _event(shapes, node, sample, ts))


def _listing(shapes: Shapes, nodes: int, pods: int, *, numa: bool) -> Iterator[Observation]:
    listed_at = BEGIN - LISTING
    for node in range(nodes):
        yield observed(listed_at, "list", "nodes", "ADDED", node_object(shapes, node))
    for node in range(nodes):
        for pod in range(pods):
            yield observed(listed_at, "list", "pods", "ADDED", pod_object(shapes, node, pod))
    for node in range(nodes):
        yield observed(listed_at, "kubelet", "configz", "SNAPSHOT", shapes.configz, node_name(node))
    if numa:
        for node in range(nodes):
            yield observed(listed_at, "agent", "cpu_topology", "SNAPSHOT", TOPOLOGY, node_name(node))


def _checkpoint(node: int, sample: int) -> Json:
    """The node's first pod holds two CPUs; every 60th sample it lets go of them, or takes them again."""
    _, _, uid = pod_names(node, 0)
    held = (sample + node) // SAMPLES_HELD % 2 == 0
    state = CpuManagerState(
        "static", "0-1,4-15" if held else "0-15", {uid: {"w": "2-3"}} if held else {}, {}, version=2
    )
    checkpoint: Json = msgspec.json.decode(write_cpu_manager_state(state))
    return checkpoint


def observed(
    ts: datetime, source: Origin, resource: str, change: Change, content: Json, node: str = ""
) -> Observation:
    """An observation of the made-up cluster."""
    return Observation(
        ts=ts,
        cluster=CLUSTER,
        source=source,
        resource=resource,
        type=change,
        node=node,
        object=msgspec.Raw(msgspec.json.encode(content)),
    )


def node_object(shapes: Shapes, node: int) -> Json:
    """The Node of a number; it may be changed by whoever asked."""
    shape = deepcopy(shapes.node)
    shape["metadata"].update(name=node_name(node), uid=node_uid(node))
    return shape


def pod_object(shapes: Shapes, node: int, pod: int) -> Json:
    """The Pod of a node; it may be changed by whoever asked."""
    namespace, name, uid = pod_names(node, pod)
    shape = deepcopy(shapes.pod)
    shape["metadata"].update(namespace=namespace, name=name, uid=uid)
    shape["spec"]["nodeName"] = node_name(node)
    shape["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "25m", "memory": f"{16 * (pod + 1)}Mi"}}
    shape["status"]["qosClass"] = "Burstable"
    return shape


def _event(shapes: Shapes, node: int, sample: int, ts: datetime) -> Json:
    namespace, name, uid = pod_names(node, 0)
    number = f"{sample:08x}{node:08x}"
    shape = deepcopy(shapes.events[(node + sample) % len(shapes.events)])
    shape["metadata"].update(namespace=namespace, name=f"{name}.{number}", uid=f"{uid[:-12]}{number[-12:]}")
    shape["involvedObject"].update(kind="Pod", namespace=namespace, name=name, uid=uid)
    shape["source"]["host"] = node_name(node)
    shape["firstTimestamp"] = shape["lastTimestamp"] = f"{ts:%Y-%m-%dT%H:%M:%SZ}"
    return shape


def main() -> None:
    """Parse the command line and write."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.generate",
        description="Write a capture with the shape of real summaries, for benchmarks.",
        epilog="Example: python -m tests.bench.generate --nodes 1000 --pods 30 --samples 2 -o /tmp/bench.jsonl.zst",
    )
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=30, help="of each node")
    parser.add_argument("--samples", type=int, default=2, help="of each node, 10 seconds apart")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path, required=True, help="plain, .gz or .zst")
    given = parser.parse_args()
    count = write_capture(given.output, nodes=given.nodes, pods=given.pods, samples=given.samples, seed=given.seed)
    print(f"{given.output}: {count} observations, {given.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
