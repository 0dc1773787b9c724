"""The cause of a pod's end, reasoned from rules: how-pods-end, eviction-messages, admission-failures."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from streams.rules.pod_ends.causes import (
    KUBELET,
    OOM_KILLED,
    Cause,
    container_ends,
    exit_code,
    is_end_by_probe,
    is_failed_probe,
    kubelet_end,
    own_end,
    pod_end,
    preempted_end,
    restarted_by_probe,
)
from streams.rules.pod_ends.when import When

AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
CAUSES = frozenset(get_args(Cause))
BY_API_SERVER = ("EvictionByEvictionAPI", "PreemptionByScheduler", "DeletionByTaintManager", "DeletionByPodGC")
reasons = st.sampled_from(("Evicted", "Preempting", "OutOfcpu", "NodeLost", "Terminated", "", "x")) | st.text()
texts = st.sampled_from(("The node was low on resource: ", "Pod was rejected: ", "Container ")) | st.text()


def pod(status: dict[str, Any], **spec: Any) -> Pod:
    metadata = {"name": "p", "uid": "u", **({"deletionTimestamp": AT} if spec.pop("deleting", False) else {})}
    return msgspec.convert({"metadata": metadata, "spec": spec, "status": status}, Pod)


def disrupted(reason: str, message: str = "", *, status: str = "True") -> dict[str, Any]:
    return {
        "conditions": [
            {
                "type": "DisruptionTarget",
                "status": status,
                "reason": reason,
                "message": message,
                "lastTransitionTime": AT,
            }
        ]
    }


def terminated(reason: str, code: int) -> dict[str, Any]:
    return {"terminated": {"reason": reason, "exitCode": code, "finishedAt": AT}}


def container(restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"name": "w", "restartCount": restarts, "state": state, "lastState": last or {}}


RAN: Final = [{"name": "w", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]


@pytest.mark.parametrize(
    ("reason", "message", "containers", "cause"),
    [
        ("OutOfmemory", "Flink task manager ran out of memory", RAN, "exited"),
        ("OutOfmemory", "Pod Node didn't have enough resource: memory", RAN, "admission"),
        ("OutOfmemory", "Node didn't have enough resource: memory", RAN, "admission"),
        ("OutOfmemory", "", [], "admission"),
        ("ProviderFailed", "Pod sandbox lost its virtual machine", [], "exited"),
        ("Evicted", "Pod was evicted because its pool is upgraded", [], None),
        ("Evicted", "Pod Was evicted because its pool is upgraded", [], None),
    ],
)
def test_ambiguous_words_alone_are_not_a_refusal(
    reason: str, message: str, containers: list[dict[str, Any]], cause: str | None
) -> None:
    status = {"phase": "Failed", "reason": reason, "message": message, "containerStatuses": containers}
    of = pod(status)
    end = pod_end(of, AT, is_gone=False) or own_end(of, AT)
    assert (end.cause if end else None) == cause


def cause_of(status: dict[str, Any], **spec: Any) -> str | None:
    end = pod_end(pod(status, **spec), AT, is_gone=False)
    return end.cause if end else None


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("Evicted", "The node was low on resource: memory. ", "node_pressure"),
        ("Evicted", "", "kubelet_eviction"),
        ("Evicted", 'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ', "own_limit"),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Mi. ", "own_limit"),
        ("Evicted", 'Container w exceeded its local ephemeral storage limit "1Mi". ', "own_limit"),
        ("Evicted", "Pod was rejected: The node had condition: [DiskPressure]. ", "admission"),
        ("Evicted", "Pod The node had condition: [MemoryPressure]. ", "admission"),
        ("OutOfcpu", "Pod was rejected: Node didn't have enough resource: cpu", "admission"),
        ("OutOfnvidia.com/gpu", "", "admission"),
        ("UnexpectedAdmissionError", "Pod was rejected: Allocate failed", "admission"),
        ("TopologyAffinityError", "", "admission"),
        ("SMTAlignmentError", "", "admission"),
        ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed", "admission"),
        ("NodeShutdown", "Pod was rejected as the node is shutting down.", "admission"),
        ("OfALaterVersion", "Pod was rejected: for a reason that is new", "admission"),
        ("OfAnEarlierVersion", "Pod Cannot be admitted for a reason that is old", "admission"),
        ("OutOfMemory", "Pod Node didn't have enough resource: memory", "admission"),
        ("OutOfDisk", "cannot be started due to lack of disk space.", "admission"),
        ("Preempting", "Preempted in order to admit critical pod", "kubelet_preemption"),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", "node_shutdown"),
        ("Shutdown", "Node is shutting, evicting pods", "node_shutdown"),
        ("Shutdown", "Pod Node is in progress of shutting down, not admitting any new pods", "admission"),
        ("Terminated", "Pod Node is in progress of shutting down, not admitting any new pods", "admission"),
        ("NodeShutdown", "Pod Pod was rejected as the node is shutting down.", "admission"),
        ("VolumeAttachmentLimitExceeded", "", "admission"),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", "deadline"),
    ],
)
def test_reason_and_message_of_a_failed_pod(reason: str, message: str, cause: str) -> None:
    assert cause_of({"phase": "Failed", "reason": reason, "message": message}) == cause
    assert cause_of({"phase": "Running", "reason": reason, "message": message}) is None


@pytest.mark.parametrize(("state", "cause"), [("terminated", "node_shutdown"), ("running", None), ("waiting", None)])
def test_a_shutdown_ended_a_running_pod_if_its_containers_have_ended(state: str, cause: str | None) -> None:
    """Kubelet 1.22 leaves the phase (kubernetes#104531), and the reason of a pod that it starts again."""
    containers = [{"name": "c", "restartCount": 0, "state": {state: {}}}]
    assert cause_of({"phase": "Running", "reason": "Terminated", "containerStatuses": containers}) == cause


@pytest.mark.parametrize(
    "text", ["Preempted by default/hi on node n1", "by default/hi on node n1", "Preempted by a pod on node n1"]
)
def test_a_victim_of_the_scheduler_is_recognised_in_every_version(text: str) -> None:
    """Up to 1.13 the text begins with "by"."""
    end = preempted_end("Preempted", text, "default-scheduler", When(AT))
    assert end is not None
    assert end.cause == "scheduler_preemption"


@pytest.mark.parametrize(
    ("status", "event"),
    [
        ("Pod was rejected: Predicate NodeAffinity failed", "Predicate NodeAffinity failed"),
        ("Pod Predicate NodeAffinity failed", "Predicate NodeAffinity failed"),
        ("Pod was rejected as the node is shutting down.", "Pod was rejected as the node is shutting down."),
        (
            "Pod was rejected: Pod was rejected as the node is shutting down.",
            "Pod was rejected as the node is shutting down.",
        ),
    ],
)
def test_a_rejection_has_the_message_of_its_event_whichever_came_first(status: str, event: str) -> None:
    """The kubelet puts "Pod was rejected: " (before 1.26: "Pod ") before it in the status alone."""
    ends = [kubelet_end("NodeAffinity", text, When(AT)) for text in (status, event)]
    assert [end and end.message for end in ends] == [event, event]


@pytest.mark.parametrize("before", ["Pod was rejected: ", "Pod ", ""])
def test_a_rejection_for_pressure_has_the_message_of_its_event_too(before: str) -> None:
    """It has the reason Evicted, as the eviction of a running pod has."""
    event = "The node had condition: [DiskPressure]."
    end = kubelet_end("Evicted", before + event, When(AT))
    assert end is not None
    assert (end.cause, end.message) == ("admission", event)


def test_a_lost_pod_has_no_phase_from_its_node() -> None:
    assert cause_of({"phase": "Running", "reason": "NodeLost"}) == "node_lost"


@pytest.mark.parametrize(
    ("reason", "cause", "actor"),
    [
        ("EvictionByEvictionAPI", "api_eviction", "eviction API"),
        ("PreemptionByScheduler", "scheduler_preemption", "default-scheduler"),
        ("DeletionByTaintManager", "taint_manager", "taint-eviction-controller"),
        ("DeletionByPodGC", "pod_gc", "pod-garbage-collector"),
        ("DeletionByGCPControllerManager", "pod_gc", "gcp-controller-manager"),
    ],
)
def test_a_condition_of_the_api_server_counts_after_the_deletion(reason: str, cause: str, actor: str) -> None:
    status = {"phase": "Running", **disrupted(reason)}
    end = pod_end(pod(status, deleting=True), AT, is_gone=False)
    assert end is not None
    assert (end.cause, end.actor, end.when) == (cause, actor, When(AT))
    assert pod_end(pod(status), AT, is_gone=True) == end
    assert cause_of({"phase": "Failed", **disrupted(reason)}) == cause
    assert cause_of(status) is None
    assert cause_of({"phase": "Failed", **disrupted(reason, status="False")}) is None


def test_the_scheduler_that_preempted_is_the_pods_own() -> None:
    preempted = pod({"phase": "Failed", **disrupted("PreemptionByScheduler")}, schedulerName="volcano")
    end = pod_end(preempted, AT, is_gone=False)
    assert end is not None
    assert end.actor == "volcano"


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("The node was low on resource: pids. Threshold quantity: 10, available: 5. ", "node_pressure"),
        ("Pod was preempted by Kubelet to accommodate a critical pod.", "kubelet_preemption"),
        ("Pod was terminated in response to imminent node shutdown.", "node_shutdown"),
        ("Something of a later version", None),
    ],
)
def test_a_termination_by_the_kubelet_is_explained_by_its_message(message: str, cause: str | None) -> None:
    status = disrupted("TerminationByKubelet", message)
    assert cause_of({"phase": "Running", **status}) == cause
    assert cause_of({"phase": "Succeeded", **status}) == cause


def test_a_condition_with_an_unknown_reason_defers_to_the_status() -> None:
    status = {"phase": "Failed", "reason": "OutOfmemory", **disrupted("Other")}
    assert cause_of(status) == "admission"


@given(reason=reasons, message=texts, phase=st.sampled_from(("", "Running", "Succeeded", "Failed")))
def test_any_text_gives_a_known_cause_or_none(reason: str, message: str, phase: str) -> None:
    known = {*CAUSES, None}
    assert cause_of({"phase": phase, "reason": reason, "message": message}) in known
    assert cause_of({"phase": phase, **disrupted(reason, message)}, deleting=True) in known
    end = kubelet_end(reason, message, When(AT))
    assert end is None or (end.cause in CAUSES and end.actor == KUBELET and message.endswith(end.message))
    assert (restarted_by_probe(message) or "") in message


@given(phase=st.sampled_from(("Pending", "Running", "Succeeded", "Failed")), message=st.text())
def test_nothing_ended_a_pod_without_condition_and_reason(phase: str, message: str) -> None:
    assert cause_of({"phase": phase, "message": message}) is None


@given(restarts=st.integers(0, 1_000), code=st.integers(0, 255))
def test_an_oom_kill_is_the_same_end_before_and_after_the_restart(restarts: int, code: int) -> None:
    killed = terminated(OOM_KILLED, code)
    ended, waiting, running = (
        list(container_ends(pod({"containerStatuses": [status]})))
        for status in (
            container(restarts, killed),
            container(restarts, {"waiting": {"reason": "CrashLoopBackOff"}}, killed),
            container(restarts + 1, {"running": {}}, killed),
        )
    )
    assert [each.attempt for each in (*ended, *waiting, *running)] == [restarts] * 3
    assert [each.restarted for each in (*ended, *waiting, *running)] == [False, True, True]
    assert {each.terminated.exit_code for each in (*ended, *waiting, *running)} == {code}


def test_every_end_in_a_status_counts_also_of_init_containers() -> None:
    found = container_ends(
        pod(
            {
                "initContainerStatuses": [container(0, terminated(OOM_KILLED, 137))],
                "containerStatuses": [container(1, terminated("Error", 1), terminated("Completed", 0))],
            }
        )
    )
    assert [(each.attempt, each.restarted, each.terminated.reason) for each in found] == [
        (0, False, OOM_KILLED),
        (0, True, "Completed"),
        (1, False, "Error"),
    ]


def test_the_exit_code_is_that_of_a_failure_and_never_invented_by_the_kubelet() -> None:
    done, failed, lost = (
        container(0, terminated(*state))
        for state in (("Completed", 0), ("Error", 143), ("ContainerStatusUnknown", 137))
    )
    assert exit_code(pod({"containerStatuses": [done, failed]})) == 143
    assert exit_code(pod({"containerStatuses": [done]})) == 0
    assert exit_code(pod({"containerStatuses": [lost]})) is None
    assert exit_code(pod({"containerStatuses": [lost, done]})) == 0
    assert exit_code(pod({})) is None


def test_a_pod_evicted_with_an_unknown_message_did_not_end_by_itself() -> None:
    evicted = pod({"phase": "Failed", "reason": "Evicted", "message": "In words of tomorrow."})
    assert own_end(evicted, AT) is None
    assert own_end(pod({"phase": "Failed"}), AT) is not None


def test_an_exit_code_of_windows_is_the_same_with_and_without_a_sign() -> None:
    """STATUS_ACCESS_VIOLATION is 0xC0000005; the API has 32 bits with a sign."""
    for code in (0xC0000005, 0xC0000005 - 2**32):
        assert exit_code(pod({"containerStatuses": [container(0, terminated("Error", code))]})) == -1073741819


def test_a_failed_liveness_or_startup_probe_names_its_container() -> None:
    assert restarted_by_probe("Container w failed liveness probe, will be restarted") == "w"
    assert restarted_by_probe("Container w failed startup probe, will be restarted") == "w"
    assert restarted_by_probe("Container w resize requires restart") is None
    assert restarted_by_probe("Stopping container w") is None


def test_a_failed_readiness_probe_ends_nothing() -> None:
    assert is_failed_probe("Liveness probe failed: x")
    assert is_failed_probe("Startup probe errored: x")
    assert not is_failed_probe("Readiness probe failed: x")


@given(grace=st.none() | st.integers(0, 600), seconds=st.integers(0, 700))
def test_a_failed_probe_explains_an_end_within_the_grace_period_and_half_a_minute(
    grace: int | None, seconds: int
) -> None:
    over = pod({"phase": "Failed"}, terminationGracePeriodSeconds=grace)
    allowed = (30 if grace is None else grace) + 30
    assert is_end_by_probe(over, AT, AT + timedelta(seconds=seconds)) == (seconds <= allowed)


def test_any_grace_period_can_be_computed() -> None:
    assert is_end_by_probe(pod({}, terminationGracePeriodSeconds=2**63 - 1), AT, AT)
