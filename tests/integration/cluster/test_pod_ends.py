"""Pods end in many ways on a real node: each is captured live, replayed and recognised (rules: how-pods-end).

API eviction, preemption, taint and plain deletion leave pods that look alike; an exceeded volume and an OOM kill are
the kubelet's and the kernel's. The texts are those of a real control plane.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.image import IMAGE
from components.cluster.kubelet import RealNode
from components.cluster.kubernetes import ApiError
from components.command import leadsman_process, rows, succeeds
from integration.cluster.node_story import captured, watch_flags
from waiting import eventually

pytestmark = [pytest.mark.components("cluster"), pytest.mark.night]

PODS: Final = "/api/v1/namespaces/default/pods"
CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
CLASS: Final = "ends-important"
TAINT: Final = {"key": "leadsman.example/out", "effect": "NoExecute"}

DRAINED: Final = "ends-drained"
PREEMPTED: Final = "ends-preempted"
PREEMPTOR: Final = "ends-preemptor"
TAINTED: Final = "ends-tainted"
OVERFULL: Final = "ends-overfull"
OOM_KILLED: Final = "ends-oom-killed"
UNRESPONSIVE: Final = "ends-unresponsive"
UNRESPONSIVE_ONCE: Final = "ends-unresponsive-once"
DELETED: Final = "ends-deleted"
FINISHED: Final = "ends-finished"
NAMES: Final = (
    DRAINED,
    PREEMPTED,
    PREEMPTOR,
    TAINTED,
    OVERFULL,
    OOM_KILLED,
    UNRESPONSIVE,
    UNRESPONSIVE_ONCE,
    DELETED,
    FINISHED,
)


class Ending:
    """Makes pods on the real node and ends them."""

    def __init__(self, node: RealNode) -> None:
        self._node = node
        self._request = node.cluster.request

    def run(self, name: str, *command: str, container: Any = None, **spec: object) -> None:
        """A pod of one container `w` that tolerates the taint, unless `spec` denies it."""
        main = {"name": "w", "image": IMAGE, "imagePullPolicy": "Never", "args": command} | (container or {})
        whole = {"containers": [main], "terminationGracePeriodSeconds": 1, "tolerations": [{"operator": "Exists"}]}
        self._request("POST", PODS, {"metadata": {"name": name}, "spec": whole | spec})

    def await_phase(self, name: str, phase: str) -> None:
        self._node.await_phase(name, phase)

    def delete(self, name: str) -> None:
        self._request("DELETE", f"{PODS}/{name}")
        self._await_gone(name)

    def drain(self, name: str) -> None:
        """Evict a pod like `kubectl drain`."""
        self._request("POST", f"{PODS}/{name}/eviction", {"metadata": {"name": name}})
        self._await_gone(name)

    def preempt(self, name: str, preemptor: str) -> None:
        """Two pods of which the node can hold one."""
        cpu = self._node.node()["status"]["allocatable"]["cpu"]
        millicores = int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
        half = {"resources": {"requests": {"cpu": f"{millicores * 6 // 10}m"}}}
        self._request("POST", CLASSES, {"metadata": {"name": CLASS}, "value": 1000})
        self.run(name, "wait", container=half)
        self.await_phase(name, "Running")
        self.run(preemptor, "wait", container=half, priorityClassName=CLASS)
        self._await_gone(name)
        self.await_phase(preemptor, "Running")

    def taint(self, name: str) -> None:
        self._set_taints([TAINT])
        self._await_gone(name)
        self._set_taints([])

    def await_oom_kill(self, name: str) -> None:
        def was_killed() -> bool:
            statuses = self._node.pod(name)["status"].get("containerStatuses", ())
            ended = (each["lastState"].get("terminated") for each in statuses)
            return any(each and each["reason"] == "OOMKilled" for each in ended)

        eventually(f"a container of {name} is restarted after an OOM kill", was_killed)

    def await_restarts(self, name: str, count: int) -> None:
        def were_restarts() -> bool:
            statuses = self._node.pod(name)["status"].get("containerStatuses", ())
            return any(each["restartCount"] >= count for each in statuses)

        eventually(f"a container of {name} is restarted {count} times", were_restarts)

    def clear(self) -> None:
        self._set_taints([])
        for path in (*(f"{PODS}/{name}" for name in NAMES), f"{CLASSES}/{CLASS}"):
            with suppress(ApiError):
                self._request("DELETE", path)
        for name in NAMES:
            self._await_gone(name)

    def _set_taints(self, taints: Sequence[object]) -> None:
        self._request("PATCH", f"/api/v1/nodes/{self._node.name}", {"spec": {"taints": taints}})

    def _await_gone(self, name: str) -> None:
        eventually(f"pod {name} is gone", lambda: self._is_gone(name))

    def _is_gone(self, name: str) -> bool:
        try:
            self._node.pod(name)
        except ApiError as refused:
            return refused.status == 404
        return False


@pytest.fixture(scope="module")
def database(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Replay what was captured while pods ended."""
    folder = tmp_path_factory.mktemp("ends")
    recording = folder / "capture"
    capture = leadsman_process("capture", f"--output={recording}", *watch_flags(real_node), folder=folder)
    ending = Ending(real_node)
    capture.start()
    try:
        capture.await_ready(lambda: captured(recording, '"BOOKMARK"') > 0)
        small = {"resources": {"limits": {"memory": "32Mi"}}}
        scratch = {"volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}]}
        volumes = [{"name": "scratch", "emptyDir": {"sizeLimit": "4Mi"}}]
        ending.run(OOM_KILLED, "grow", "1000", "64", container=small)
        ending.run(OVERFULL, "fill", "/scratch/file", "1000", "16", container=scratch, volumes=volumes)
        ending.run(FINISHED, "exit", "0", restartPolicy="Never")
        failing = {"exec": {"command": ["/worker", "exit", "1"]}, "periodSeconds": 1, "failureThreshold": 1}
        probe = {"livenessProbe": failing}
        ending.run(UNRESPONSIVE, "wait", container=probe)
        ending.run(UNRESPONSIVE_ONCE, "wait", container=probe, restartPolicy="Never")
        ending.run(TAINTED, "wait", tolerations=[])
        for name in (DRAINED, DELETED):
            ending.run(name, "wait")
        for name in (DRAINED, DELETED, TAINTED):
            ending.await_phase(name, "Running")
        ending.drain(DRAINED)
        ending.delete(DELETED)
        ending.await_phase(FINISHED, "Succeeded")
        ending.delete(FINISHED)
        ending.preempt(PREEMPTED, PREEMPTOR)
        ending.taint(TAINTED)
        ending.await_oom_kill(OOM_KILLED)
        ending.await_restarts(UNRESPONSIVE, 2)
        ending.await_phase(UNRESPONSIVE_ONCE, "Failed")
        ending.await_phase(OVERFULL, "Failed")
        ending.delete(OVERFULL)
        last = f'"name":"{OVERFULL}"'
        eventually("the last end is captured", lambda: captured(recording, '"DELETED"', last))
    finally:
        capture.stop()
        ending.clear()
    succeeds("replay", "-q", recording, db=folder / "db")
    return folder / "db"


def ends(database: Path, pod: str, columns: str) -> list[tuple[Any, ...]]:
    return rows(f"SELECT {columns} FROM pod_ends FINAL WHERE pod = '{pod}' ORDER BY container, attempt", database)


@pytest.mark.parametrize(
    ("pod", "cause", "actor", "reason", "message"),
    [
        (DRAINED, "api_eviction", "eviction API", "EvictionByEvictionAPI", "Eviction API: evicting"),
        (
            PREEMPTED,
            "scheduler_preemption",
            "default-scheduler",
            "PreemptionByScheduler",
            "default-scheduler: preempting to accommodate a higher priority pod",
        ),
        (
            TAINTED,
            "taint_manager",
            "taint-eviction-controller",
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        ),
        (DELETED, "deleted", "", "", ""),
    ],
)
def test_pods_that_look_alike_are_distinguished(
    database: Path, pod: str, cause: str, actor: str, reason: str, message: str
) -> None:
    found = ends(database, pod, "container, cause, actor, reason, message, witness, deleted")
    assert found == [("", cause, actor, reason, message, "status", 1)]


def test_a_volume_beyond_its_limit_ends_its_pod_once_although_it_is_deleted_later(database: Path) -> None:
    ((container, cause, actor, reason, message, witness, deleted),) = ends(
        database, OVERFULL, "container, cause, actor, reason, message, witness, deleted"
    )
    assert (container, cause, actor, reason, witness, deleted) == ("", "own_limit", "kubelet", "Evicted", "both", 1)
    assert message.startswith('Usage of EmptyDir volume "scratch" exceeds the limit "4Mi".')


def test_an_oom_kill_is_the_containers_own_row_and_no_end_of_the_pod(database: Path) -> None:
    found = ends(database, OOM_KILLED, "container, attempt, cause, actor, reason, restarted, deleted")
    assert found[0] == ("w", 0, "oom_kill", "kernel", "OOMKilled", 1, 0)
    assert [attempt for _, attempt, *_ in found] == list(range(len(found)))
    assert {row[0] for row in found} == {"w"}


def test_each_failed_liveness_probe_is_a_row_of_the_container_that_is_restarted(database: Path) -> None:
    found = ends(database, UNRESPONSIVE, "container, attempt, cause, actor, reason, message, restarted, deleted")
    message = "Container w failed liveness probe, will be restarted"
    assert found == [
        ("w", attempt, "liveness", "kubelet", "Killing", message, 1, 0) for attempt in range(max(2, len(found)))
    ]


def test_the_exit_code_of_a_failed_liveness_probe_is_that_of_the_container(database: Path) -> None:
    codes = [code for (code,) in ends(database, UNRESPONSIVE, "exit_code")]
    assert codes[0] == 143
    assert set(codes) <= {143, None}, "the last one may not be shown yet"


def test_a_failed_liveness_probe_ends_a_pod_that_is_never_restarted(database: Path) -> None:
    found = ends(database, UNRESPONSIVE_ONCE, "container, cause, actor, reason, exit_code, deleted")
    assert found == [("", "liveness", "kubelet", "Unhealthy", 143, 0)]


def test_a_pod_whose_process_ended_by_itself_exited(database: Path) -> None:
    assert ends(database, FINISHED, "cause, actor, exit_code, deleted") == [("exited", "", 0, 0)]


def test_a_pod_that_runs_has_no_row(database: Path) -> None:
    assert rows(f"SELECT count() > 0 FROM pod_bindings WHERE pod = '{PREEMPTOR}'", database) == [(1,)]
    assert ends(database, PREEMPTOR, "cause") == []
