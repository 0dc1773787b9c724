"""The exit code of a container that a failed probe ended, whichever witness comes first (rules: how-pods-end)."""

from datetime import UTC, datetime, timedelta
from itertools import permutations
from typing import Any, Final

import msgspec
import pytest

from ingest.model.objects.event import Event
from ingest.model.objects.node import Node
from ingest.model.objects.pod import Pod
from ingest.model.records import EventRecord, NodeRecord, PodRecord, Record
from streams.analytics.pod_ends import REDUCER
from streams.fold.findings import PodEnd
from streams.fold.fold import Fold, LogState

START: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
KILLED: Final = START + timedelta(seconds=30)
RESTARTED: Final = START + timedelta(seconds=32)
ENDED: Final = {"terminated": {"reason": "Error", "exitCode": 143, "startedAt": START, "finishedAt": KILLED}}


def status(restarts: int, state: dict[str, Any], last: dict[str, Any] | None = None) -> Record:
    container = {"name": "w", "restartCount": restarts, "state": state, "lastState": last or {}}
    body = {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "status": {"phase": "Running", "containerStatuses": [container]},
    }
    return PodRecord(ts=START, cluster="c", node="n", change="MODIFIED", object=msgspec.convert(body, Pod))


RUNS: Final = status(0, {"running": {"startedAt": START}})
IS_OVER: Final = status(0, ENDED)
WAITS: Final = status(0, {"waiting": {"reason": "CrashLoopBackOff"}}, ENDED)
RUNS_AGAIN: Final = status(1, {"running": {"startedAt": RESTARTED}}, ENDED)
EVENT: Final = EventRecord(
    ts=START,
    cluster="c",
    node="n",
    change="ADDED",
    object=msgspec.convert(
        {
            "metadata": {"name": "e", "namespace": "d", "uid": "e"},
            "involvedObject": {"kind": "Pod", "name": "p", "namespace": "d", "uid": "u"},
            "reason": "Killing",
            "message": "Container w failed liveness probe, will be restarted",
            "lastTimestamp": KILLED,
            "source": {"component": "kubelet"},
        },
        Event,
    ),
)


def rows(*given: Record) -> list[PodEnd]:
    fold, log = Fold([REDUCER]), LogState()
    return [each for record in given for each in fold.step(log, record) if isinstance(each, PodEnd)]


@pytest.mark.parametrize("at", range(1, 5))
def test_the_exit_code_of_a_probes_kill_is_the_statuss_whichever_comes_first(at: int) -> None:
    statuses = [RUNS, IS_OVER, WAITS, RUNS_AGAIN]
    found = rows(*statuses[:at], EVENT, *statuses[at:])
    assert {(each.container, each.attempt, each.cause, each.ts) for each in found} == {("w", 0, "liveness", KILLED)}
    assert found[-1].exit_code == 143
    assert len(found) <= 2, "a row, and again when its exit code is known"


@pytest.mark.parametrize("shown", list(permutations((IS_OVER, WAITS, RUNS_AGAIN), 2)))
def test_the_exit_code_is_written_once(shown: tuple[Record, ...]) -> None:
    assert [each.exit_code for each in rows(RUNS, EVENT, *shown, *shown)] == [None, 143]


def test_the_exit_code_of_another_attempt_is_not_taken() -> None:
    """Attempt 1 is killed; the status has only how attempt 0 ended."""
    later = msgspec.structs.replace(
        EVENT, object=msgspec.structs.replace(EVENT.object, last_timestamp=RESTARTED + timedelta(seconds=30))
    )
    [found] = rows(RUNS_AGAIN, later)
    assert (found.attempt, found.exit_code) == (1, None)


def test_an_exit_code_that_the_kubelet_made_up_is_not_known() -> None:
    lost = {"terminated": {**ENDED["terminated"], "reason": "ContainerStatusUnknown", "exitCode": 137}}
    found = rows(RUNS, EVENT, status(1, {"running": {"startedAt": RESTARTED}}, lost))
    assert [each.exit_code for each in found] == [None]


def test_a_container_that_ends_with_an_error_by_itself_has_no_row() -> None:
    assert rows(RUNS, IS_OVER, WAITS, RUNS_AGAIN) == []


@pytest.mark.parametrize(("code", "killed"), [(137, True), (7, True), (143, False), (0, False)])
def test_a_container_that_sigterm_ended_or_that_completed_was_not_killed_by_the_kernel(
    code: int, *, killed: bool
) -> None:
    """kubernetes#140716, kubernetes#104454: the reason is OOMKilled where its cgroup had counted a kill before."""
    ended = {"terminated": {"reason": "OOMKilled", "exitCode": code, "startedAt": START, "finishedAt": KILLED}}
    assert [each.cause for each in rows(RUNS, status(0, ended))] == ["oom_kill"] * killed


def test_a_refusal_is_stored_by_what_the_kubelets_text_names() -> None:
    text = "Pod was rejected: Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. "
    text += "Requested: 8, Available: 0, which is unexpected"
    body = {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "status": {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": text},
    }
    pod = msgspec.convert(body, Pod)
    (found,) = rows(PodRecord(ts=START, cluster="c", node="n", change="MODIFIED", object=pod))
    assert (found.refused_by, found.resource, found.requested, found.available) == (
        "device_manager",
        "nvidia.com/gpu",
        8,
        0,
    )
    assert "nvidia.com/gpu" in found.explanation
    assert "CPU" not in found.explanation


def gone(phase: str, grace: int | None, finished: datetime | None = None) -> Record:
    """A pod of a dump that was read a minute later, and that is to be gone 60 s after its deletion was asked for."""
    ended = {"terminated": {"exitCode": 0, "finishedAt": finished}} if finished else {"running": {}}
    metadata = {"name": "p", "namespace": "d", "uid": "u", "deletionTimestamp": KILLED + timedelta(seconds=60)}
    body = {
        "metadata": metadata | ({} if grace is None else {"deletionGracePeriodSeconds": grace}),
        "status": {"phase": phase, "containerStatuses": [{"name": "w", "restartCount": 0, "state": ended}]},
    }
    read_at = KILLED + timedelta(minutes=2)
    return PodRecord(ts=read_at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))


@pytest.mark.parametrize(("grace", "seconds"), [(60, 0), (0, 60), (None, 60), (-1, 60)])
def test_a_deletion_is_when_it_was_asked_for(grace: int | None, seconds: int) -> None:
    """`deletionTimestamp` is its grace period later (API conventions: "when the object is to be gone")."""
    (row,) = rows(gone("Running", grace))
    assert (row.cause, row.ts) == ("deleted", KILLED + timedelta(seconds=seconds))


@pytest.mark.parametrize(("after", "cause"), [(-1, "exited"), (1, "deleted")])
def test_a_pod_that_was_over_before_its_deletion_was_asked_for_ended_by_itself(after: int, cause: str) -> None:
    (row,) = rows(gone("Succeeded", 60, KILLED + timedelta(seconds=after)))
    assert row.cause == cause


def about_node(reason: str, message: str) -> Record:
    body = {
        "metadata": {"name": "e2", "namespace": "default", "uid": "e2"},
        "involvedObject": {"kind": "Node", "name": "n"},
        "reason": reason,
        "message": message,
        "lastTimestamp": KILLED,
        "source": {"component": "kubelet", "host": "n"},
    }
    return EventRecord(ts=KILLED, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Event))


@pytest.mark.parametrize(
    ("message", "earliest"),
    [
        ("Shutdown manager detected shutdown event", KILLED),
        ("Shutdown manager detected shutdown cancellation", START),
    ],
)
def test_a_pod_that_a_shutdown_ended_did_so_after_the_kubelet_saw_that(message: str, earliest: datetime) -> None:
    status = {"phase": "Failed", "reason": "Shutdown", "message": "Node is shutting, evicting pods"}
    body = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": status | {"startTime": START}}
    read_at = KILLED + timedelta(hours=1)
    pod = PodRecord(ts=read_at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))
    for given in permutations((about_node("Shutdown", message), pod)):
        row = rows(*given)[-1]
        assert (row.cause, row.time_known, row.earliest, row.latest) == (
            "node_shutdown",
            False,
            earliest,
            read_at,
        )


def event(reason: str, message: str, component: str, at: datetime) -> Record:
    body = {
        "metadata": {"name": f"e-{reason}", "namespace": "d", "uid": f"e-{reason}"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "d", "uid": "u"},
        "reason": reason,
        "message": message,
        "eventTime": at,
        "reportingComponent": component,
    }
    return EventRecord(ts=at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Event))


@pytest.mark.parametrize("by", ["shop/urgent", "a pod", "pod 8f2e4ab2-5b1c-4d0f-9a3c-111111111111"])
@pytest.mark.parametrize("is_event_first", [True, False])
def test_a_schedulers_event_reports_who_ended_a_pod_that_is_being_deleted(by: str, *, is_event_first: bool) -> None:
    """The texts of 1.20, 1.24 and 1.28; up to 1.25 no condition tells of it."""
    preempted = event("Preempted", f"Preempted by {by} on node n", "default-scheduler", KILLED)
    given = (preempted, gone("Running", 60)) if is_event_first else (gone("Running", 60), preempted)
    row = rows(*given)[-1]
    assert (row.cause, row.actor, row.ts) == ("scheduler_preemption", "default-scheduler", KILLED)


@pytest.mark.parametrize(("after", "cause"), [(1, "admission"), (3600, "exited")])
def test_only_a_witness_of_its_time_reports_who_ended_a_pod_that_was_over(after: int, cause: str) -> None:
    """A kubelet that restarts refuses pods that completed before (rules: admission-texts)."""
    refused = event("OutOfcpu", "Node didn't have enough resource: cpu", "kubelet", KILLED + timedelta(seconds=after))
    over = gone("Succeeded", 60, KILLED - timedelta(hours=1) if cause == "exited" else KILLED)
    assert rows(not_deleted(over), refused)[-1].cause == cause


def not_deleted(record: Record) -> Record:
    assert isinstance(record, PodRecord)
    metadata = msgspec.structs.replace(record.object.metadata, deletion_timestamp=None)
    return msgspec.structs.replace(record, object=msgspec.structs.replace(record.object, metadata=metadata))


def killed(code: int, reason: str = "Error") -> Record:
    ended = {"terminated": {"exitCode": code, "reason": reason, "finishedAt": KILLED}}
    return status(1, {"running": {"startedAt": RESTARTED}}, ended)


@pytest.mark.parametrize(
    ("record", "causes"),
    [(killed(137), ["exited"]), (killed(137, "OOMKilled"), ["oom_kill"]), (killed(1), []), (killed(143), [])],
)
def test_a_container_that_sigkill_ended_has_a_row_without_who_did_it(record: Record, causes: list[str]) -> None:
    found = rows(record)
    assert [each.cause for each in found] == causes
    assert all(
        (each.container, each.exit_code, each.restarted, each.ts) == ("w", 137, True, KILLED) for each in found
    )


def test_a_failed_probe_before_it_reports_who_killed_a_container() -> None:
    unhealthy = event("Unhealthy", "Liveness probe failed: timeout", "kubelet", KILLED - timedelta(seconds=31))
    (row,) = rows(unhealthy, killed(137))
    assert (row.cause, row.reason, row.exit_code) == ("liveness", "Unhealthy", 137)


def node(status: str, since: datetime) -> Record:
    ready = {"type": "Ready", "status": status, "lastTransitionTime": since}
    body = {"metadata": {"name": "n", "uid": "n"}, "status": {"conditions": [ready]}}
    at = KILLED + timedelta(hours=1)
    return NodeRecord(ts=at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Node))


def at_node(reason: str, message: str, after: float) -> Record:
    record = about_node(reason, message)
    assert isinstance(record, EventRecord)
    at = KILLED + timedelta(seconds=after)
    name = msgspec.structs.replace(record.object.metadata, name=f"{reason}.{after}")
    return msgspec.structs.replace(
        record, object=msgspec.structs.replace(record.object, metadata=name, last_timestamp=at)
    )


SHUTS_DOWN: Final = "Shutdown manager detected shutdown event"


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("back", ["starts", "ready"])
def test_a_pod_that_a_shutdown_ended_did_so_before_the_kubelet_was_back(back: str, passes: int) -> None:
    """In whatever order they are read: of two shutdowns the first, for no pod survives it."""
    status = {"phase": "Failed", "reason": "Terminated", "message": SHUTS_DOWN, "startTime": START}
    body = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": status}
    read_at = KILLED + timedelta(hours=1)
    pod = PodRecord(ts=read_at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))
    again = KILLED + timedelta(seconds=200)
    returned = at_node("Starting", "Starting kubelet.", 200) if back == "starts" else node("True", again)
    seen = (
        pod,
        returned,
        at_node("NodeShutdown", SHUTS_DOWN, 0),
        at_node("NodeShutdown", SHUTS_DOWN, 900),
        at_node("Starting", "Starting kubelet.", -20),
    )
    for given in permutations(seen):
        row = rows(*given * passes)[-1]
        assert (row.ts, row.time_known, row.earliest, row.latest) == (KILLED, False, KILLED, again)


@pytest.mark.parametrize("passes", [1, 2])
def test_a_pod_of_a_lost_node_was_lost_after_its_kubelet_fell_silent(passes: int) -> None:
    status = {"phase": "Running", "reason": "NodeLost", "message": "Node n is unresponsive", "startTime": START}
    body = {"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": status}
    read_at = KILLED + timedelta(hours=1)
    pod = PodRecord(ts=read_at, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))
    for given in permutations((pod, node("Unknown", KILLED))):
        row = rows(*given * passes)[-1]
        assert (row.cause, row.earliest, row.latest) == ("node_lost", KILLED, read_at)


def restarted(code: int, reason: str, after: float, began: float = -600) -> Record:
    """A container that runs again so many seconds after its end, and had begun so many seconds after it."""
    begun = KILLED + timedelta(seconds=began)
    ended = {"terminated": {"exitCode": code, "reason": reason, "startedAt": begun, "finishedAt": KILLED}}
    return status(1, {"running": {"startedAt": KILLED + timedelta(seconds=after)}}, ended)


CRASHED: Final = {"terminated": {"exitCode": 255, "reason": "Error", "startedAt": START, "finishedAt": KILLED}}
IS_KILLED_AND_RUNS: Final = restarted(137, "Error", 110)
REBOOTED: Final = at_node("Rebooted", "Node n has been rebooted, boot id: 6f9c", 100)


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize(
    ("record", "cause", "is_known"),
    [
        (restarted(255, "Unknown", 110), "node_reboot", False),  # containerd found it gone when it started
        (restarted(137, "ContainerStatusUnknown", 110), "node_reboot", False),
        (restarted(143, "Error", 110), "node_reboot", True),
        (restarted(137, "Error", 60), "node_reboot", True),  # the Event waits for the node's status
        (restarted(137, "Error", 10), "exited", True),  # it ran again before the reboot
        (restarted(137, "OOMKilled", 110), "oom_kill", True),
        (restarted(137, "Error", 110, began=101), "exited", True),  # it crashed after the reboot
    ],
)
def test_containers_that_a_reboot_restarted_have_a_row_that_says_so(
    record: Record, cause: str, is_known: bool, passes: int
) -> None:
    for given in permutations((record, REBOOTED)):
        row = rows(*given * passes)[-1]
        assert (row.container, row.attempt, row.cause, row.restarted) == ("w", 0, cause, True)
        assert (row.ts, row.time_known) == (KILLED, is_known)
        assert row.witness == ("both" if cause == "node_reboot" else "status")


@pytest.mark.parametrize("record", [restarted(1, "Error", 110), restarted(0, "Completed", 110)])
def test_a_container_that_ended_by_itself_before_a_reboot_was_not_ended_by_it(record: Record) -> None:
    assert rows(record, REBOOTED) == rows(REBOOTED, record) == []


def test_a_crash_that_waits_for_its_restart_is_not_laid_to_a_later_reboot() -> None:
    """Nor once it is known that the container was started again before the reboot."""
    waits = status(1, {"waiting": {"reason": "CrashLoopBackOff"}}, CRASHED)
    again = status(1, {"running": {"startedAt": KILLED + timedelta(seconds=10)}}, CRASHED)
    for given in permutations((waits, again, REBOOTED)):
        assert "node_reboot" not in {row.cause for row in rows(*given)}


@pytest.mark.parametrize("given", list(permutations((EVENT, REBOOTED, IS_KILLED_AND_RUNS))))
def test_a_failed_probe_explains_an_end_whatever_comes_first(given: tuple[Record, ...]) -> None:
    assert rows(*given)[-1].cause == "liveness"


def test_a_failed_probe_explains_an_end_before_a_reboot_does() -> None:
    unhealthy = event("Unhealthy", "Liveness probe failed: timeout", "kubelet", KILLED - timedelta(seconds=5))
    for given in (
        (unhealthy, restarted(137, "Error", 110), REBOOTED),
        (REBOOTED, unhealthy, restarted(137, "Error", 110)),
    ):
        assert rows(*given)[-1].cause == "liveness"


BY_LABELS: Final = (
    "The node's labels, as the kubelet had them then, did not match the pod's node selector or affinity."
)


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize(
    ("labels", "wanted", "explanation"),
    [
        ({"pool": "spot"}, {"pool": "spot"}, f"{BY_LABELS} The Node object, as last seen, has labels that match."),
        ({}, {"pool": "spot"}, f"{BY_LABELS} The Node object, as last seen, has none that match either."),
        ({"pool": "spot"}, {}, BY_LABELS),  # nothing that was seen asks for a label
        (None, {"pool": "spot"}, BY_LABELS),  # the Node was not seen
    ],
)
def test_a_pod_that_was_refused_for_labels_is_compared_with_its_node(
    labels: dict[str, str] | None, wanted: dict[str, str], explanation: str, passes: int
) -> None:
    """A rebooted kubelet refuses pods before it knows the labels of its Node (kubernetes#98534)."""
    body = {
        "metadata": {"name": "p", "namespace": "d", "uid": "u"},
        "spec": {"nodeName": "n", "nodeSelector": wanted},
        "status": {"phase": "Failed", "reason": "NodeAffinity", "message": "Pod Predicate NodeAffinity failed"},
    }
    pod = PodRecord(ts=KILLED, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))
    reported = event("NodeAffinity", "Predicate NodeAffinity failed", "kubelet", KILLED)
    seen = NodeRecord(
        ts=KILLED, cluster="c", node="n", change="ADDED",
        object=msgspec.convert({"metadata": {"name": "n", "labels": labels}}, Node),
    )  # fmt: skip
    for given in permutations((pod, reported) if labels is None else (pod, reported, seen)):
        assert rows(*given * passes)[-1].explanation == explanation
