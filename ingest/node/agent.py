"""The on-node agent: reads the kubelet's checkpoints, the CPU topology and the podresources service, as observations.

It reads read-only mounts of a DaemonSet (rules: cpu-checkpoint, memory-checkpoint, podresources, cpu-topology), and
neither environment variables nor volumes.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from common.clock import SYSTEM, Clock, steadily
from common.tasks import run_until, stop_on_signals
from common.telemetry import Figure, Values, registered
from common.text import plain
from ingest.files.envelope import encode_line
from ingest.files.rotate import Rotation, open_capture
from ingest.model.observation import Observation, observation_of
from ingest.model.reports import Failure, Report, error_observation
from ingest.node.cgroups import NumaUsage, read_cgroup_values, read_cpu_throttling
from ingest.node.machine import read_machine
from ingest.node.podresources_api import read_podresources
from ingest.node.sysfs import CannotReadError, is_there, read_caches, read_cpu_topology, read_distances, read_file
from ingest.normalize.redact import redact
from ingest.resources.agent import (
    CGROUP_VALUES,
    CPU_THROTTLING,
    CPU_TOPOLOGY,
    MACHINE_USAGE,
    NUMA_USAGE,
    PODRESOURCES,
)
from ingest.resources.table import OF_NODES

LOOKS: Final = Figure("agent_looks", "counter", "Looks at this machine")
UNREADABLE: Final = Figure("agent_unreadable", "gauge", "1 for what cannot be read on this machine", ("resource",))
FULL_SECONDS: Final = 600.0
"""Time after which everything is emitted again, so that a reader that starts later catches up."""
SIGN_SECONDS: Final = 60.0
"""Seconds between two heartbeats, and the maximum between two reads: an agent counts as silent after 2 minutes."""
SAMPLE_SECONDS: Final = 60.0
"""Seconds between two samples of values that always change."""
ROTATION: Final = Rotation(limit_bytes=16 * 1024 * 1024, limit_seconds=86_400.0, compression="gzip", keep=30)
"""Limits for a folder on the machine's own disk: a month, and at most 480 MiB."""

Write: TypeAlias = Callable[[Observation], None]
Read: TypeAlias = Callable[[], bytes | None]
"""Returns a resource's object as JSON; None if this machine does not have it. Raises CannotReadError."""


class AgentSettings(NamedTuple):
    cluster: str
    node: str
    """Name of the machine's Node."""
    root: Path = Path("/")
    """Folder with the machine's `/sys`, `/proc` and `/var/lib/kubelet`."""
    interval_seconds: float = 10.0


class Agent:
    """Reads one machine, and emits the changes since the last read."""

    def __init__(self, settings: AgentSettings, clock: Clock = SYSTEM) -> None:
        self._settings = settings
        self._clock = clock
        self._reads = _resources(settings.root, clock)
        self._failures = {resource: Failure(clock) for resource in self._reads}
        self._emitted: dict[str, bytes] = {}
        self._full_at: float | None = None
        self._sign_at: float | None = None
        self._looks = 0

    def figures(self) -> dict[Figure, Callable[[], Values]]:
        failing = self._failures.items()
        return {
            LOOKS: lambda: {(): self._looks},
            UNREADABLE: lambda: {(resource,): 1.0 for resource, failure in failing if failure.text},
        }

    def why_not(self) -> list[str]:
        return [failure.text for failure in self._failures.values() if failure.text]

    def observe(self) -> list[Observation]:
        """Read, and emit a heartbeat each minute, so that a dead agent differs from a node without changes."""
        seen = self.look()
        now = self._clock.monotonic()
        # the next look would be too late
        if self._sign_at is None or now + self._settings.interval_seconds > self._sign_at + SIGN_SECONDS:
            self._sign_at = now
            at, cluster, node = self._clock.now(), self._settings.cluster, self._settings.node
            seen.append(observation_of(at, cluster, "agent", CPU_TOPOLOGY.name, b"{}", node, "BOOKMARK"))
        return seen

    def look(self) -> list[Observation]:
        """Read everything; return the changes since the last emission, and everything every 10 minutes.

        An unreadable source is an observation of type ERROR, at once and then every 5 minutes.
        """
        self._looks += 1
        now = self._clock.monotonic()
        if self._full_at is None or now - self._full_at >= FULL_SECONDS:
            self._emitted.clear()
            self._full_at = now
        seen = [self._look_at(resource, read) for resource, read in self._reads.items()]
        return [observation for observation in seen if observation]

    def _look_at(self, resource: str, read: Read) -> Observation | None:
        failure, cluster, node = self._failures[resource], self._settings.cluster, self._settings.node
        try:
            data = read()
        except CannotReadError as error:
            self._emitted.pop(resource, None)
            if not failure.should_report(str(error)):
                return None
            return error_observation(self._clock, cluster, "agent", resource, Report(str(error)), node)
        failure.recovered()
        if data is None or data == self._emitted.get(resource):
            return None
        self._emitted[resource] = data
        return observation_of(self._clock.now(), cluster, "agent", resource, data, node)


async def run_agent(settings: AgentSettings, output: Path | None) -> None:
    """Write the agent's observations to standard output, a capture file or a folder of them, until SIGTERM or SIGINT.

    Raises OSError and SourceError if it cannot be written.
    """
    with _sink(settings, output) as write:
        await follow(Agent(settings), write, settings.interval_seconds)


def run_agent_once(settings: AgentSettings, output: Path | None) -> None:
    with _sink(settings, output) as write:
        for observation in Agent(settings).look():
            write(observation)


async def follow(agent: Agent, write: Write, interval_seconds: float, clock: Clock = SYSTEM) -> None:
    """Look at regular intervals until SIGTERM or SIGINT; a started line is completed."""

    async def look() -> None:
        for observation in agent.observe():
            write(observation)

    with stop_on_signals() as stop, registered(agent.figures(), agent.why_not):
        await run_until(stop, steadily(interval_seconds, look, clock))


def _resources(root: Path, clock: Clock) -> dict[str, Read]:
    return {
        CPU_TOPOLOGY.name: partial(_cpu_topology, root),
        **{each.name: partial(_json_file, root / each.file) for each in OF_NODES if each.file},
        NUMA_USAGE.name: _Sampled(NumaUsage(root), clock),
        MACHINE_USAGE.name: _Sampled(partial(read_machine, root), clock),
        CPU_THROTTLING.name: _Sampled(partial(read_cpu_throttling, root), clock),
        CGROUP_VALUES.name: _Sampled(partial(read_cgroup_values, root), clock),
        PODRESOURCES.name: _PodResources(root / "var/lib/kubelet/pod-resources/kubelet.sock"),
    }


def _cpu_topology(root: Path) -> bytes:
    beside = {"distances": read_distances(root), "caches": read_caches(root)}
    return msgspec.json.encode(
        {"cpus": read_cpu_topology(root), **{name: each for name, each in beside.items() if each}}
    )


class _Sampled:
    """A reading that is reused for a minute. A failure is retried at the next look."""

    def __init__(self, read: Callable[[], dict[str, Any] | None], clock: Clock) -> None:
        self._read = read
        self._clock = clock
        self._read_at: float | None = None
        self._data: bytes | None = None

    def __call__(self) -> bytes | None:
        now = self._clock.monotonic()
        if self._read_at is None or now - self._read_at >= SAMPLE_SECONDS:
            sample = self._read()
            self._data, self._read_at = None if sample is None else msgspec.json.encode(sample), now
        return self._data


def _json_file(path: Path) -> bytes:
    """Return the file unchanged; the rule verifies its checksum."""
    text = read_file(path).strip()
    try:
        msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, RecursionError) as error:
        raise CannotReadError(f"{plain(path)}: is not a JSON object: {plain(error)}") from None
    return text.encode()


class _PodResources:
    """Queries the service if its socket exists. If the socket disappears, that is a failure."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._was_there = False

    def __call__(self) -> bytes | None:
        if not is_there(self._socket):
            if self._was_there:
                raise CannotReadError(f"{plain(self._socket)}: the socket is gone; is the kubelet down?")
            return None
        self._was_there = True
        return msgspec.json.encode(read_podresources(self._socket))


@contextmanager
def _sink(settings: AgentSettings, output: Path | None) -> Iterator[Write]:
    """Return a function that writes observations without their secrets."""
    if output is None:
        yield _write_out
        return
    with closing(open_capture(output, f"{settings.cluster}-{settings.node}", ROTATION)) as writer:
        yield lambda observation: writer.write(redact(observation))


def _write_out(observation: Observation) -> None:
    sys.stdout.buffer.write(encode_line(redact(observation)))
    sys.stdout.buffer.flush()
