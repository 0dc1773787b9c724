"""The on-node agent over a folder that stands in for the machine (rules: cpu-checkpoint, memory-checkpoint,
podresources, cpu-topology).
"""

import asyncio
import json
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fakes import podresources as fake
from fakes.clock import FakeClock
from fakes.machine import Thread, write, write_checkpoints, write_sysfs
from ingest.files.capture import read_capture
from ingest.files.lines import SourceFile
from ingest.model.observation import Observation, Observed
from ingest.model.records import (
    CpuManagerRecord,
    CpuThrottlingRecord,
    CpuTopologyRecord,
    HeartbeatRecord,
    MemoryManagerRecord,
    PodResourcesRecord,
    Record,
)
from ingest.node.agent import Agent, AgentSettings, follow, run_agent_once
from ingest.normalize.normalize import normalize
from waiting import PATIENCE_SECONDS

CPU_STATE = '{"policyName":"static","defaultCpuSet":"0","entries":{"5f3a":{"w":"1"}},"checksum":2703986358}'
"""The checkpoint of G with another uid: the agent ignores checksums."""
MEMORY_STATE = '{"policyName":"None","machineState":{},"entries":{},"checksum":4236770233}'
RESOURCES = {"cpu_topology", "cpu_manager_state", "memory_manager_state"}
SOCKET = "var/lib/kubelet/pod-resources/kubelet.sock"


@pytest.fixture
def root() -> Iterator[Path]:
    """A machine of 2 CPUs; its path is short, because a socket's may have only 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="leadsman-") as folder:
        write_sysfs(Path(folder), [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)])
        write_checkpoints(Path(folder), CPU_STATE, MEMORY_STATE)
        yield Path(folder)


@pytest.fixture
def time() -> FakeClock:
    return FakeClock()


@pytest.fixture
def agent(root: Path, time: FakeClock) -> Agent:
    return Agent(AgentSettings("c", "n1", root), time.clock)


def reported(observations: list[Observation]) -> list[tuple[str, str]]:
    return sorted((each.resource, each.type) for each in observations)


def object_of(observations: list[Observation], resource: str) -> Any:
    (found,) = [each for each in observations if each.resource == resource]
    return json.loads(bytes(found.object))


def test_the_first_look_reports_everything(agent: Agent) -> None:
    seen = agent.look()
    assert reported(seen) == sorted((resource, "SNAPSHOT") for resource in RESOURCES)
    assert {(each.cluster, each.source, each.node) for each in seen} == {("c", "agent", "n1")}
    assert object_of(seen, "cpu_topology") == {
        "cpus": [{"cpu": 0, "core": 0, "socket": 0, "numa": 0}, {"cpu": 1, "core": 1, "socket": 0, "numa": 0}]
    }


def test_a_checkpoint_is_reported_as_it_is_in_the_file(agent: Agent) -> None:
    """Its checksum is over its content: nothing of it may be changed."""
    seen = {each.resource: bytes(each.object).decode() for each in agent.look()}
    assert (seen["cpu_manager_state"], seen["memory_manager_state"]) == (CPU_STATE, MEMORY_STATE)


def test_an_agent_without_news_gives_a_sign_of_life_each_minute(agent: Agent, time: FakeClock) -> None:
    agent.observe()
    signs = []
    for _ in range(30):  # five minutes, looked at every ten seconds
        time.seconds += 10
        signs += [(each.resource, each.type, time.seconds) for each in agent.observe()]
    assert signs == [("cpu_topology", "BOOKMARK", seconds) for seconds in (60, 120, 180, 240, 300)]


def test_a_sign_of_life_is_on_the_log_of_the_cluster_and_names_its_node(agent: Agent, time: FakeClock) -> None:
    agent.look()
    (sign,) = agent.observe()
    assert normalize(sign) == [HeartbeatRecord(ts=time.clock.now(), cluster="c", resource="agent", target="n1")]


def test_unchanged_readings_are_not_reported_again(agent: Agent, time: FakeClock) -> None:
    agent.look()
    time.seconds += 599
    assert agent.look() == []


def test_only_changed_readings_are_reported(agent: Agent, root: Path, time: FakeClock) -> None:
    agent.look()
    time.seconds += 10
    write(root / "var/lib/kubelet/cpu_manager_state", '{"policyName":"none"}')
    (change,) = agent.look()
    assert (change.resource, bytes(change.object), change.ts) == (
        "cpu_manager_state",
        b'{"policyName":"none"}',
        time.now(),
    )


def test_counters_are_reported_once_a_minute(agent: Agent, root: Path, time: FakeClock) -> None:
    """A record for the node, whatever the number of its pods."""
    seen = []
    for periods in range(13):  # two minutes, looked at every ten seconds
        for pod in ("11111111-0000", "22222222-0000"):
            folder = root / f"sys/fs/cgroup/kubepods/burstable/pod{pod}-0000-0000-000000000000"
            write(folder / "cpu.stat", f"nr_periods {periods}\nnr_throttled 0\nthrottled_usec 0\n")
        seen += [(time.seconds, each) for each in agent.look() if each.resource == "cpu_throttling"]
        time.seconds += 10
    assert [seconds for seconds, _ in seen] == [0, 60, 120]
    (record,) = normalize(seen[-1][1])
    assert isinstance(record, CpuThrottlingRecord)
    assert [(pod.uid[:8], pod.cgroups[0].periods) for pod in record.pods] == [("11111111", 12), ("22222222", 12)]


def test_everything_is_reported_every_10_minutes(agent: Agent, time: FakeClock) -> None:
    agent.look()
    time.seconds += 600
    assert reported(agent.look()) == sorted((resource, "SNAPSHOT") for resource in RESOURCES)
    time.seconds += 599
    assert agent.look() == []


def test_what_cannot_be_read_is_an_error_and_all_else_is_reported(agent: Agent, root: Path) -> None:
    (root / "var/lib/kubelet/memory_manager_state").unlink()
    seen = agent.look()
    assert ("memory_manager_state", "ERROR") in reported(seen)
    assert len(seen) == len(RESOURCES)
    assert "memory_manager_state: missing" in object_of(seen, "memory_manager_state")["error"]


def test_an_error_is_reported_at_once_and_then_every_5_minutes(agent: Agent, root: Path, time: FakeClock) -> None:
    agent.look()
    (root / "var/lib/kubelet/cpu_manager_state").unlink()
    time.seconds += 10
    assert reported(agent.look()) == [("cpu_manager_state", "ERROR")]
    time.seconds += 299
    assert agent.look() == []
    time.seconds += 1
    assert reported(agent.look()) == [("cpu_manager_state", "ERROR")]


def test_what_can_be_read_again_is_reported_although_it_is_what_it_was(agent: Agent, root: Path) -> None:
    agent.look()
    (root / "var/lib/kubelet/cpu_manager_state").unlink()
    agent.look()
    write(root / "var/lib/kubelet/cpu_manager_state", CPU_STATE)
    assert reported(agent.look()) == [("cpu_manager_state", "SNAPSHOT")]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b'{"policyName":',
        b'{"a": "\xff"}',
        b'{"a":' * 100_000,
        b" " * (4 * 1024 * 1024 + 1),
    ],
    ids=["empty", "binary", "list", "number", "cut", "not-utf8", "deep", "long"],
)
def test_a_checkpoint_that_is_no_json_object_is_an_error(agent: Agent, root: Path, content: bytes) -> None:
    (root / "var/lib/kubelet/cpu_manager_state").write_bytes(content)
    assert ("cpu_manager_state", "ERROR") in reported(agent.look())


def test_a_machine_without_the_socket_is_not_asked_for_its_pods(agent: Agent) -> None:
    assert "podresources" not in {each.resource for each in agent.look()}


def test_pods_learn_where_the_socket_is(agent: Agent, root: Path) -> None:
    pod = fake.pod("default", "pinned", fake.container("w", [1]))
    with fake.served(root / SOCKET, {fake.LIST: fake.pods(pod), fake.ALLOCATABLE: fake.allocatable([1])}):
        seen = agent.look()
        assert agent.look() == []
    assert object_of(seen, "podresources") == {
        "pods": [
            {
                "name": "pinned",
                "namespace": "default",
                "containers": [{"name": "w", "cpu_ids": [1], "devices": [], "memory": []}],
            }
        ],
        "allocatable": {"cpu_ids": [1], "devices": [], "memory": []},
    }


def test_a_socket_that_went_is_an_error(agent: Agent, root: Path) -> None:
    with fake.served(root / SOCKET, {fake.LIST: b""}):
        agent.look()
    assert reported(agent.look()) == [("podresources", "ERROR")]


def test_a_service_that_refuses_is_an_error(agent: Agent, root: Path) -> None:
    with fake.served(root / SOCKET, {}):
        assert ("podresources", "ERROR") in reported(agent.look())


@pytest.mark.asyncio
async def test_the_agent_looks_at_a_steady_pace(root: Path, time: FakeClock) -> None:
    """A look that takes 3 s of the interval of 10 leaves 7 to wait; 13 s leave 7 of the next interval."""
    agent = _Slow(AgentSettings("c", "n1", root), time, iter([3.0, 13.0, 10.0]))
    with pytest.raises(_Over):
        await follow(agent, lambda _: None, 10.0, time.clock)
    assert time.slept == [7.0, 7.0, 10.0]


class _Over(Exception):
    pass


class _Slow(Agent):
    """An agent whose looks take time."""

    def __init__(self, settings: AgentSettings, time: FakeClock, spent: Iterator[float]) -> None:
        super().__init__(settings, time.clock)
        self._time = time
        self._spent = spent

    def look(self) -> list[Observation]:
        seconds = next(self._spent, None)
        if seconds is None:
            raise _Over
        self._time.seconds += seconds
        return super().look()


@pytest.mark.parametrize("name", ["node.jsonl", "node.jsonl.gz", "node.jsonl.zst"])
def test_what_is_written_to_a_file_is_a_capture_and_becomes_records(root: Path, name: str) -> None:
    settings = AgentSettings("c", "n1", root)
    with fake.served(root / SOCKET, {fake.LIST: fake.pods(fake.pod("ns", "p"))}):
        run_agent_once(settings, root / name)
        run_agent_once(settings, root / name)
    assert [type(record) for record in _records(root / name)] == 2 * [
        CpuTopologyRecord,
        CpuManagerRecord,
        MemoryManagerRecord,
        PodResourcesRecord,
    ]


def _records(path: Path) -> list[Record]:
    with SourceFile(path) as file:
        entries = list(read_capture(file))
    return [record for entry in entries if isinstance(entry, Observed) for record in normalize(entry.observation)]


def test_without_a_file_lines_go_to_standard_output(root: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    run_agent_once(AgentSettings("c", "n1", root), None)
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert {line["resource"] for line in lines} == RESOURCES
    assert list(lines[0]) == ["ts", "cluster", "source", "resource", "type", "node", "object"]


def test_a_folder_gets_a_file_of_the_node(root: Path) -> None:
    run_agent_once(AgentSettings("c", "n1", root), root / "captures")
    (file,) = (root / "captures").iterdir()
    assert file.name.startswith("c-n1-")
    assert len(_records(file)) == len(RESOURCES)


@pytest.mark.asyncio
async def test_sigterm_ends_the_agent_after_the_look_that_it_is_at(root: Path) -> None:
    written: list[Observation] = []

    def write(observation: Observation) -> None:
        written.append(observation)
        signal.raise_signal(signal.SIGTERM)

    async with asyncio.timeout(PATIENCE_SECONDS):
        await follow(Agent(AgentSettings("c", "n1", root)), write, 3600.0)
    assert {each.resource for each in written} == RESOURCES
