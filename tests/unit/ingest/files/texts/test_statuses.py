"""The status of a pod that was pasted without the rest of its description (rules: pasted-text)."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from ingest.files.texts.pasted import pasted_parts

AT = datetime(2026, 7, 1, 12, tzinfo=UTC)
LOW = "The node was low on resource: memory."


def objects(text: str) -> list[dict[str, Any]]:
    return [msgspec.json.decode(each.raw) for each in pasted_parts(text.encode(), None, AT)]


def status(message: str, reason: str = "Evicted") -> str:
    return f"Status:   Failed\nReason:   {reason}\nMessage:  {message}\n"


def messages(text: str) -> list[str]:
    return [each["status"]["message"] for each in objects(text) if each["kind"] == "Pod"]


def test_the_events_of_a_node_below_a_status_are_read() -> None:
    rows = "\nEvents:\n  Type     Reason                Age   From     Message\n"
    rows += "  Warning  EvictionThresholdMet  5m    kubelet  Attempting to reclaim memory\n"
    pod, event = objects(status(LOW) + rows)
    assert (pod["kind"], pod["status"]["message"]) == ("Pod", LOW)
    assert (event["involvedObject"]["kind"], event["reason"]) == ("Node", "EvictionThresholdMet")


def test_each_status_of_a_text_is_a_pod_with_the_fields_above_it() -> None:
    disk = LOW.replace("memory", "ephemeral-storage")
    text = f"{status('Spot instance was reclaimed', 'Terminated')}\n{status(disk)}Node:  n2/10.0.0.2\n{status(LOW)}"
    assert messages(text) == [disk, LOW]
    assert [each["spec"]["nodeName"] for each in objects(text)] == ["", "n2"]


@pytest.mark.parametrize(
    "below",
    [
        "\nWhy was it evicted?\n",
        "Why was it evicted?\n",
        "\nIP:\nWhy?\n",
        "Note: it has no limit\n",
        "$ kubectl get no\n",
    ],
)
def test_a_message_ends_before_a_line_that_is_not_indented(below: str) -> None:
    assert messages(status(f"{LOW}\n          Container web was using 1Gi, request is 0.") + below) == [
        f"{LOW}\nContainer web was using 1Gi, request is 0."
    ]
    described = f"Name:       web-0\nNamespace:  shop\nNode:       n1/10.0.0.1\n{status(LOW)}"
    assert messages(described + below) == [LOW]


@pytest.mark.parametrize(
    ("reason", "message", "is_one"),
    [
        ("Evicted", f"{LOW} Container web was using 1Gi, which exceeds its request of 0.", True),
        ("Evicted", "Pod The node had condition: [DiskPressure].", True),
        ("Evicted", "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.", True),
        ("Evicted", "The tenant was evicted for unpaid rent", False),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", True),
        ("Terminated", "Spot instance was reclaimed", False),
        ("NodeShutdown", "Pod was rejected as the node is shutting down.", True),
        ("NodeAffinity", "Pod was rejected: Predicate NodeAffinity failed", True),
        ("NodeAffinity", "no node fits", False),
        ("OutOfcpu", "Pod Node didn't have enough resource: cpu, requested: 1, used: 4, capacity: 4", True),
        ("DeadlineExceeded", "Pod was active on the node longer than the specified deadline", True),
        ("DeadlineExceeded", "Job was active longer than specified deadline", False),
    ],
)
def test_a_status_is_a_pods_if_a_kubelet_writes_its_message(reason: str, message: str, is_one: bool) -> None:
    assert messages(status(message, reason)) == ([message] if is_one else [])


def test_a_name_behind_one_blank_is_the_pods_if_it_is_the_only_one() -> None:
    head = "Name: web-1\nNamespace: shop\nNode: n1/10.0.0.1\n"
    (pod,) = objects(head + status(LOW))
    assert (pod["metadata"]["name"], pod["metadata"]["uid"], pod["spec"]["nodeName"]) == ("web-1", "shop/web-1", "n1")
    (pod,) = objects(f"Name: web-2\n{head}{status(LOW)}")
    assert pod["metadata"]["name"] == "(unknown)"
