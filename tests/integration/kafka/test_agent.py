"""`leadsman agent --into kafka`: what the on-node agent sees is on its node's log, once Kafka is there."""

import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest

from components.command import leadsman, leadsman_process
from components.kafka import Kafka
from components.topics import messages
from fakes.machine import Thread, write, write_checkpoints, write_sysfs
from waiting import eventually

pytestmark = pytest.mark.components("kafka")

CPU_STATE = '{"policyName":"static","defaultCpuSet":"0","entries":{"5f3a":{"w":"1"}},"checksum":2703986358}'
MEMORY_STATE = '{"policyName":"None","machineState":{},"entries":{},"checksum":4236770233}'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_sysfs(tmp_path / "host", [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)])
    write_checkpoints(tmp_path / "host", CPU_STATE, MEMORY_STATE)
    return tmp_path / "host"


@pytest.fixture
def config(kafka: Kafka, tmp_path: Path) -> tuple[Path, str]:
    """A file of settings, and the topic of the nodes."""
    prefix = f"a{uuid.uuid4().hex[:8]}"
    file = tmp_path / "leadsman.yaml"
    file.write_text(
        f"kafka: {{bootstrap_servers: '{kafka.bootstrap_servers}', topic_prefix: {prefix}, partitions: 2}}\n"
        "watch: {cluster: lab}\n"
    )
    return file, f"{prefix}.nodes"


def _records(servers: str, topic: str) -> list[tuple[bytes, dict[str, Any]]]:
    return [(bytes(each.key), msgspec.json.decode(each.value)) for each in messages(servers, topic)]


def test_one_look_is_on_the_log_of_its_node(kafka: Kafka, config: tuple[Path, str], root: Path) -> None:
    file, topic = config
    done = leadsman("agent", "--node=n1", f"--root={root}", "--into=kafka", f"--config={file}", "--once")
    assert done.returncode == 0
    records = _records(kafka.bootstrap_servers, topic)
    assert {key for key, _ in records} == {b"lab/n1"}
    assert sorted(record["kind"] for _, record in records) == [
        "cpu_manager_state",
        "cpu_topology",
        "memory_manager_state",
    ]
    assert {(record["cluster"], record["node"]) for _, record in records} == {("lab", "n1")}


def test_a_change_is_reported_alone_and_sigterm_ends_it_when_kafka_has_it(
    kafka: Kafka, config: tuple[Path, str], root: Path, tmp_path: Path
) -> None:
    file, topic = config
    flags = ("--node=n1", f"--root={root}", "--into=kafka", f"--config={file}", "--interval=1")
    agent = leadsman_process("agent", *flags, folder=tmp_path)
    agent.start()

    def reported() -> list[str]:
        return [record["kind"] for _, record in _records(kafka.bootstrap_servers, topic)]

    try:
        agent.await_ready(lambda: "the agent begins" in agent.last_lines())
        eventually("the first look is told", lambda: len(reported()) == 3)
        write(root / "var/lib/kubelet/cpu_manager_state", CPU_STATE.replace("5f3a", "6f3a"))
        eventually("the change is told", lambda: len(reported()) == 4)
        agent.terminate()
        assert agent.wait() == 0
    finally:
        agent.stop()
    assert reported().count("cpu_manager_state") == 2
    assert "Traceback" not in agent.log.read_text()


def test_an_output_beside_kafka_is_refused_with_both_names(root: Path) -> None:
    done = leadsman("agent", "--node=n1", f"--root={root}", "--into=kafka", "--output=somewhere")
    assert done.returncode == 2
    assert "--output" in done.stderr
    assert "--into kafka" in done.stderr
