"""Each real component starts, answers, stops, and leaves no process."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from components.cluster import cgroups
from components.cluster.containerd import containerd_programs
from components.cluster.image import worker_archive
from components.cluster.kubelet import NODE, OWNER, PREFIX, RealNode, clear_abandoned, why_no_kubelet
from components.cluster.kubernetes import VERSION, ApiError, Cluster, etcd_program, kubernetes_programs
from components.kafka import Kafka, kafka_libraries
from components.processes import HOST, Process, free_port, is_alive
from components.programs.cache import require, tool
from ingest.kafka.admin import ensure_topics
from ingest.model.topics import Topic
from paths import TESTS
from waiting import PATIENCE_SECONDS, NotReady, eventually

ONE_CPU = {"cpu": "1", "memory": "32Mi"}


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    require(kubernetes_programs, etcd_program)
    cluster = Cluster(tmp_path, nodes=(NODE,))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def test_a_free_port_can_be_listened_on() -> None:
    with socket.create_server((HOST, free_port())) as server:
        assert server.getsockname()[0] == HOST


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    deaf = Process("deaf", ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.1; done"], tmp_path / "log")
    deaf.start()
    deaf.await_ready(lambda: "ready" in deaf.last_lines())
    pid = deaf.pid
    deaf.stop(timeout_seconds=0.2)
    assert not is_alive(pid)


def test_a_process_that_exits_is_not_ready_and_its_output_is_shown(tmp_path: Path) -> None:
    failing = Process("failing", ["sh", "-c", "echo no such luck; exit 1"], tmp_path / "log")
    failing.start()
    with pytest.raises(NotReady, match="failing exited before it was ready\nno such luck"):
        failing.await_ready(lambda: False)


def test_a_process_ends_with_a_test_run_that_is_killed(tmp_path: Path) -> None:
    run = (
        "import pathlib, signal, components.processes as p\n"
        "s = p.Process('sleeper', ['sh', '-c', 'echo ready; exec sleep 60'], "
        f"pathlib.Path({str(tmp_path / 'log')!r}))\n"
        "s.start(); s.await_ready(lambda: 'ready' in s.last_lines()); print(s.pid, flush=True); signal.pause()"
    )
    command = [sys.executable, "-c", run]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(TESTS)}
    ) as runner:
        assert runner.stdout is not None
        pid = int(runner.stdout.readline())
        assert is_alive(pid)
        runner.kill()
    eventually("the process ends", lambda: not is_alive(pid))


@pytest.mark.components("kafka")
def test_kafka_answers_keeps_its_data_over_a_kill_and_leaves_no_process(tmp_path: Path) -> None:
    require(kafka_libraries)
    kafka = Kafka(tmp_path)
    try:
        first = kafka.start().process.pid
        kafka.kill()
        assert not is_alive(first)
        second = kafka.start().process.pid
    finally:
        kafka.stop()
    assert not is_alive(second)
    assert list(tmp_path.glob("kafka-data/__cluster_metadata-0/*.log"))


async def first_message(kafka: Kafka, topic: str) -> bytes:
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=kafka.bootstrap_servers, auto_offset_reset="earliest")
    async with consumer:
        return bytes((await asyncio.wait_for(consumer.getone(), PATIENCE_SECONDS)).value or b"")


async def send(kafka: Kafka, topic: str, value: bytes) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers, max_request_size=2 * len(value))
    async with producer:
        await producer.send_and_wait(topic, value)


@pytest.mark.components("kafka")
def test_kafka_takes_a_message_of_five_mebibytes(kafka: Kafka) -> None:
    large = b"x" * 5 * 1024 * 1024

    async def there_and_back() -> bytes:
        await ensure_topics(kafka.bootstrap_servers, [Topic("large", 1, 1, "")])
        await send(kafka, "large", large)
        return await first_message(kafka, "large")

    assert asyncio.run(there_and_back()) == large


@pytest.mark.components("kafka")
def test_kafka_that_cannot_start_shows_its_log(tmp_path: Path) -> None:
    require(kafka_libraries)
    kafka = Kafka(tmp_path, {"log.retention.hours": "soon"})
    with pytest.raises(NotReady, match=r"log\.retention\.hours"):
        kafka.start()


@pytest.mark.components("cluster")
def test_the_control_plane_answers_as_each_user_and_leaves_no_process(tmp_path: Path) -> None:
    require(kubernetes_programs, etcd_program)
    cluster = Cluster(tmp_path)
    try:
        cluster.start()
        pids = [cluster.api_server.pid, cluster.etcd.pid]
        assert cluster.request("GET", "/version")["gitVersion"] == f"v{VERSION}"
        assert "default" in cluster.kubectl("get", "namespaces", "-o", "name")
        with pytest.raises(ApiError, match=r"nobody.* cannot list resource") as refused:
            cluster.request("GET", "/api/v1/nodes", user="nobody")
        assert refused.value.status == 403
    finally:
        cluster.stop()
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.components("cluster")
def test_a_watch_from_before_a_compaction_gets_410_after_a_restart(own_cluster: Cluster) -> None:
    maps = "/api/v1/namespaces/default/configmaps"
    old = own_cluster.request("POST", maps, {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
    own_cluster.request("PATCH", f"{maps}/a", {"data": {"changed": "yes"}})
    assert own_cluster.compact() > int(old)
    own_cluster.restart_api_server()
    event = own_cluster.request("GET", f"{maps}?watch=1&resourceVersion={old}&timeoutSeconds=5")
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


@pytest.mark.components("cluster")
def test_what_a_killed_test_run_left_of_a_node_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_no_kubelet():
        pytest.skip(reason)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = tmp_path / f"{PREFIX}{tmp_path.name[:8]}"
    folder.mkdir()
    with subprocess.Popen([tool("true")]) as ended:
        ended.wait()
    (folder / OWNER).write_text(str(ended.pid))
    cgroups.make(folder.name)
    with subprocess.Popen([tool("sleep"), "60"]) as left:
        pod = cgroups.hierarchies()[0] / folder.name / "pod"
        pod.mkdir()
        (pod / "cgroup.procs").write_text(str(left.pid))
        assert cgroups.processes(folder.name) == {left.pid}
        clear_abandoned()
        assert left.wait() == -signal.SIGKILL
    assert not folder.exists()
    assert not any((hierarchy / folder.name).exists() for hierarchy in cgroups.hierarchies())


@pytest.mark.components("cluster")
def test_a_real_node_pins_a_pod_and_leaves_nothing(own_cluster: Cluster) -> None:
    if reason := why_no_kubelet():
        pytest.skip(reason)
    require(containerd_programs, worker_archive)
    node = RealNode(own_cluster)
    try:
        node.start()
        node.run_pod("pinned", "wait", requests=ONE_CPU, limits=ONE_CPU)
        uid = node.await_phase("pinned", "Running")["metadata"]["uid"]
        # rules: cpu-checkpoint, exclusive-cpus: CPU 0 is reserved, so a Guaranteed pod of one whole CPU has another
        # one, alone
        cpu = node.cpu_manager_state()["entries"][uid]["w"]
        assert cpu != "0"
        assert cpu.isdecimal()
        assert json.loads(node.ask("/stats/summary"))["node"]["nodeName"] == NODE
        assert "kubeletconfig" in json.loads(node.ask("/configz"))
        assert b"kubelet_cpu_manager_allocation_per_numa" in node.ask("/metrics")
        pids = cgroups.processes(node.folder.name)
        assert pids
    finally:
        node.stop()
    assert not any(is_alive(pid) for pid in pids)
    assert not cgroups.processes(node.folder.name)
    assert not any((hierarchy / node.folder.name).exists() for hierarchy in cgroups.hierarchies())
    assert str(node.folder) not in Path("/proc/self/mountinfo").read_text()
    assert not node.folder.exists()
