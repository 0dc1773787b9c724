"""The attempts to place pods in a scheduler's log (rules: scheduler-log)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from ingest.files.sources import read_sources
from ingest.files.texts.kubelet_log import Pod
from ingest.files.texts.scheduler_log import is_schedulers_log, read_attempts, with_times
from ingest.model.observation import EARLIEST, Observed
from ingest.model.scheduler import Attempt

NEWEST = datetime(2020, 6, 2, tzinfo=UTC)
OLD = """I0601 10:00:00.000001       1 scheduler.go:555] Attempting to schedule pod: default/debug
I0601 10:00:00.100001       1 generic_scheduler.go:1080] Node test-01 is a potential node for preemption.
I0601 10:00:00.100002       1 generic_scheduler.go:1080] Node ma-01 is a potential node for preemption.
I0601 10:00:00.100003       1 generic_scheduler.go:1080] Node test-01 is a potential node for preemption.
I0601 10:00:00.100004       1 generic_scheduler.go:1080] Node ma-02 is a potential node for preemption.
I0601 10:00:00.200001       1 factory.go:462] Unable to schedule default/debug: no fit: 0/4 nodes are available: \
3 Insufficient cpu.; waiting
I0601 10:00:01.000001       1 scheduler.go:731] pod default/web is bound successfully on node "ma-01", \
4 nodes evaluated, 2 nodes were found feasible.
"""
"""Written from the sources of 1.18, which cannot be run here."""


RECORDED = Path(__file__).parent / "kube_scheduler_1_36"
"""Three nodes, of which a2 is tainted, and a scheduler at -v=10: the lines about pods, and the dump after SIGUSR2."""
TALL, GATED = "ae7a68b1-8420-4eaa-be83-d050b8d63a26", "62707503-1f76-4cd9-be9a-9901a2155d18"


def attempts(text: str, **pods: Pod) -> list[Attempt]:
    return [each for _, each in with_times(read_attempts(text.encode()), NEWEST, pods)]


def line(said: str, clock: str = "10:00:00.000001", **values: object) -> str:
    fields = "".join(f" {name}={json.dumps(value)}" for name, value in values.items())
    return f'I0601 {clock}       1 schedule_one.go:1] "{said}"{fields}\n'


def test_sentences_of_1_18_name_the_nodes_of_the_list() -> None:
    assert is_schedulers_log(OLD.encode())
    failed, bound = attempts(OLD)
    assert failed == Attempt(
        pod="default/debug",
        at=datetime(2020, 6, 1, 10, 0, 0, 200001, UTC),
        text="0/4 nodes are available: 3 Insufficient cpu.",
        visited=("test-01", "ma-01", "test-01", "ma-02"),
    )
    assert (bound.pod, bound.node, bound.evaluated, bound.feasible) == ("default/web", "ma-01", 4, 2)


def test_older_schedulers_part_namespace_and_name_by_a_space() -> None:
    log = (
        b"I0601 10:00:00.200001       1 factory.go:1181] Unable to schedule lab web-1: "
        b"no fit: 0/4 nodes are available: 4 Insufficient cpu.; waiting\n"
    )
    assert is_schedulers_log(log)
    (failed,) = attempts(log.decode())
    assert (failed.pod, failed.text) == ("lab/web-1", "0/4 nodes are available: 4 Insufficient cpu.")


def test_an_attempt_begins_anew_and_ends_with_its_result() -> None:
    begun = line("Attempting to schedule pod", pod="a/p")
    named = line("Check the potential node for preemption", pod="a/p", node="n1")
    failed = line("Unable to schedule pod; no fit; waiting", pod="a/p", err="0/1 nodes are available: 1 x.")
    assert [each.visited for each in attempts(begun + named + begun + named + failed + failed)] == [("n1",), ()]


def test_scores_are_kept_by_node_and_plugin() -> None:
    score = {"pod": "a/p", "node": "n1"}
    log = (
        line("Plugin scored node for pod", **score, plugin="NodeResourcesFit", score=50)
        + line("Plugin scored node for pod", **score, plugin="TaintToleration", score=300)
        + line("Calculated node's final score for pod", **score, score=350)
        + line("Successfully bound pod to node", pod="a/p", node="n1", evaluatedNodes=3, feasibleNodes=2)
    )
    (attempt,) = attempts(log)
    assert attempt.plugins == {"n1": {"NodeResourcesFit": 50, "TaintToleration": 300}}
    assert (attempt.scores, attempt.visited) == ({"n1": 350}, ("n1",))


def test_a_pod_has_the_uid_of_the_dump_unless_it_was_created_later() -> None:
    at = datetime(2020, 6, 1, 10, tzinfo=UTC)
    log = line("Successfully bound pod to node", pod="a/p", node="n1")
    assert [each.uid for each in attempts(log, **{"a/p": Pod("uid-p", EARLIEST)})] == ["uid-p"]
    assert [each.uid for each in attempts(log, **{"a/p": Pod("uid-p", at + timedelta(minutes=1))})] == [""]


@pytest.mark.parametrize(
    "bad",
    [
        line("Successfully bound pod to node", pod="no-namespace", node="n1"),
        line("Successfully bound pod to node", pod="a/p", node="n\u202e1"),
        line("Successfully bound pod to node", node="n1"),
        line("Unable to schedule pod; no fit; waiting", pod="a/p"),
        'I0601 10:00:00.000001 1 x.go:1] "Successfully bound pod to node" pod="a/p',
        '{"ts":1e400,"caller":"x","msg":"Successfully bound pod to node","pod":{"name":"p","namespace":"a"}}',
        "Unable to schedule a/p: no fit: 0/" + "1" * 100_000,
    ],
)
def test_a_malformed_attempt_is_left_out(bad: str) -> None:
    assert attempts(bad) == []


def test_numbers_are_clamped_and_what_has_no_end_is_bounded() -> None:
    (attempt,) = attempts(
        line("Successfully bound pod to node", pod="a/p", node="n1", evaluatedNodes=10**18, feasibleNodes=-1)
    )
    assert (attempt.evaluated, attempt.feasible) == (10**18, None)
    many = "".join(
        line("Calculated node's final score for pod", pod="a/p", node=f"n{n}", score=n) for n in range(900)
    )
    (attempt,) = attempts(many + line("Successfully bound pod to node", pod="a/p", node="n1"))
    assert len(attempt.scores) == len(attempt.visited) == 500
    begun = "".join(line("Attempting to schedule pod", pod=f"a/p{n}") for n in range(3000))
    assert attempts(begun) == []


def recorded(*names: str) -> list[tuple[str, dict[str, Any]]]:
    found = read_sources([RECORDED / name for name in names])
    seen = [each.observation for each in found if isinstance(each, Observed)]
    return [(each.resource, json.loads(bytes(each.object))) for each in seen if each.resource.startswith("scheduler")]


def test_the_log_of_a_real_scheduler_has_its_attempts_and_its_dump() -> None:
    """The final score is the sum of the plugins' lines, and the pods have the UIDs of the dump."""
    (_, fits), (_, only), (_, tall), (last, dump) = recorded("scheduler.log", "nodes.json", "pods.json")
    assert fits["scores"] == {"a1": 300 + 86 + 0 + 68 + 0, "b1": 300 + 73 + 0 + 62 + 0}
    assert {node: sum(scores.values()) for node, scores in fits["plugins"].items()} == fits["scores"]
    assert (fits["node"], fits["evaluated"], fits["feasible"]) == ("a1", 3, 2)
    assert (only["node"], only["feasible"], "scores" in only) == ("b1", 1, False), "the only node is not scored"
    assert (tall["visited"], tall["uid"], tall["at"]) == (["a1"], TALL, "2026-11-28T14:39:23.964206Z")
    assert tall["text"].startswith("0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu.")
    assert all(each["refused"] == {"a2": "TaintToleration"} for each in (fits, only, tall))
    assert last == "scheduler_cache"
    assert [line for line in dump["text"].splitlines() if line.startswith(("Node name", "activeQ", "name: "))] == [
        "Node name: a2",
        "Node name: b1",
        "Node name: a1",
        "activeQ:0; backoffQ:0; unschedulablePods:2",
        f"name: tall, namespace: shop, uid: {TALL}, phase: ",
        f"name: gated, namespace: shop, uid: {GATED}, phase: ",
    ]


def test_a_log_in_json_has_the_same() -> None:
    (_, tall), (_, again), (last, dump) = recorded("scheduler.json.log")
    assert (tall["pod"], tall["visited"], tall["refused"]) == ("shop/tall", ["a1"], {"a2": "TaintToleration"})
    assert again["scores"] == {"a1": 300 + 78 + 0 + 72 + 0, "b1": 300 + 60 + 0 + 68 + 0}
    assert (again["node"], again["evaluated"], again["feasible"]) == ("a1", 3, 2)
    assert (last, "activeQ:0; backoffQ:0; unschedulablePods:2" in dump["text"], TALL in dump["text"]) == (
        "scheduler_cache",
        True,
        True,
    )
