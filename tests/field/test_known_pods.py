"""A dump implies facts of its pods before it was read: their specs hold for older summaries and Events."""

import json
from pathlib import Path
from typing import Any

import pytest

from field.folding import Stored

GI = 1024**3
NODE = {
    "kind": "Node",
    "apiVersion": "v1",
    "metadata": {"name": "n1", "uid": "n"},
    "status": {"nodeInfo": {"kubeletVersion": "v1.33.1"}, "capacity": {"memory": "8Gi"}},
}


def pod(name: str, uid: str, request: str, started: str = "09:00:00") -> dict[str, Any]:
    owner = {"kind": "ReplicaSet", "name": "shop", "controller": True}
    about = {"name": name, "namespace": "shop", "uid": uid, "ownerReferences": [owner]}
    return {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": about | {"creationTimestamp": f"2026-07-31T{started}Z"},
        "spec": {
            "nodeName": "n1",
            "containers": [{"name": "c", "resources": {"requests": {"memory": request}}}],
        },
        "status": {"phase": "Running", "startTime": f"2026-07-31T{started}Z"},
    }


def event(uid: str, name: str, reason: str, message: str, at: str, path: str = "") -> dict[str, Any]:
    return {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": f"{name}.{reason}", "namespace": "shop", "uid": f"{name}.{reason}"},
        "involvedObject": {"kind": "Pod", "namespace": "shop", "name": name, "uid": uid, "fieldPath": path},
        "reason": reason,
        "message": message,
        "source": {"component": "kubelet", "host": "n1"},
        "lastTimestamp": f"2026-07-31T{at}Z",
    }


def summary(*uses: tuple[str, str, float]) -> dict[str, Any]:
    at = "2026-07-31T10:00:00Z"
    pods = [
        {
            "podRef": {"namespace": "shop", "name": name, "uid": uid},
            "memory": {"time": at, "workingSetBytes": int(used * GI)},
        }
        for name, uid, used in uses
    ]
    memory = {"time": at, "availableBytes": 90 * 1024**2, "workingSetBytes": 8 * GI - 90 * 1024**2}
    return {"node": {"nodeName": "n1", "memory": memory}, "pods": pods}


def replayed(folder: Path, objects: list[dict[str, Any]], stats: dict[str, Any] | None = None) -> Stored:
    (folder / "objects.json").write_text("\n".join(map(json.dumps, objects)))
    if stats is not None:
        (folder / "n1.stats-summary.json").write_text(json.dumps(stats))
    stored = Stored()
    stored.replay(folder)
    return stored


LOW = "The node was low on resource: memory. Threshold quantity: 100Mi, available: 90Mi. "
MEASURED = ("web", "u-web", 3.0), ("db", "u-db", 4.0)


def test_the_specs_of_pods_hold_for_an_older_summary_and_eviction(tmp_path: Path) -> None:
    """Only web is over its request, so the kubelet takes it before db, which uses more (rules: eviction-order)."""
    gone = pod("web", "u-web", "1Gi")
    gone["status"] |= {"phase": "Failed", "reason": "Evicted", "message": LOW}
    evicted, later = event("u-web", "web", "Evicted", LOW, "10:00:05"), event("x", "other", "Pulled", "m", "11:00:00")
    objects = [NODE, gone, pod("db", "u-db", "6Gi"), evicted, later]
    (row,) = replayed(tmp_path, objects, summary(*MEASURED)).of("evictions", {})
    assert (row["pod"], row["predicted_rank"], row["ranked_pods"]) == ("web", 1, 2)


@pytest.mark.parametrize(
    ("uid", "started"), [("u-new", "10:30:00"), ("u-new", "09:00:00")], ids=["made later", "of another uid"]
)
def test_a_pod_of_the_same_name_is_another_one(tmp_path: Path, uid: str, started: str) -> None:
    objects = [
        NODE,
        pod("web", "u-web", "1Gi"),
        pod("db", uid, "6Gi", started),
        event("u-web", "web", "Evicted", LOW, "10:00:05"),
        event("x", "other", "Pulled", "m", "11:00:00"),
    ]
    (row,) = replayed(tmp_path, objects, summary(*MEASURED)).of("evictions", {})
    assert row["predicted_rank"] is None


def test_an_event_about_a_container_has_the_owner_of_its_pod(tmp_path: Path) -> None:
    killed = event(
        "u-web",
        "web",
        "Killing",
        "Container c failed liveness probe, will be restarted",
        "10:00:05",
        "spec.containers{c}",
    )
    objects = [NODE, pod("web", "u-web", "1Gi"), killed, event("x", "other", "Pulled", "m", "11:00:00")]
    (row,) = replayed(tmp_path, objects).of("pod_ends", {"cause": "liveness"})
    assert (row["owner_kind"], row["owner_name"]) == ("ReplicaSet", "shop")


def test_an_event_of_a_static_pod_is_about_its_mirror(tmp_path: Path) -> None:
    mirror = pod("etcd-n1", "u-mirror", "1Gi")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "0f64da7d8c2cf3bb"}
    killed = event(
        "0f64da7d8c2cf3bb", "etcd-n1", "Killing", "Container c failed liveness probe, will be restarted", "10:00:05"
    )
    objects = [NODE, mirror, killed, event("x", "other", "Pulled", "m", "11:00:00")]
    (row,) = replayed(tmp_path, objects).of("pod_ends", {"cause": "liveness"})
    assert row["uid"] == "u-mirror"


def test_a_scheduled_event_of_a_table_is_not_of_a_later_pod_with_its_name(tmp_path: Path) -> None:
    """The table has no UIDs. The pod of the dump was made at 09:55, so at 09:00 another one was placed."""
    message = "0/3 nodes are available: 3 Insufficient memory."
    waits = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    waiting = pod("web-0", "u2", "1Gi", "09:55:00") | {"status": {"phase": "Pending", "conditions": [waits]}}
    waiting["spec"].pop("nodeName")
    (tmp_path / "pods.json").write_text(json.dumps(waiting))
    (tmp_path / "events.txt").write_text(
        "$ kubectl get events -n shop\n"
        "LAST                   KIND   NAME    REASON             MESSAGE\n"
        "2026-07-31T09:00:00Z   Pod    web-0   Scheduled          Successfully assigned shop/web-0 to n1\n"
        f"2026-07-31T09:58:00Z   Pod    web-0   FailedScheduling   {message}\n"
    )
    stored = Stored()
    stored.replay(tmp_path)
    uids = {row["reason"]: row["object_uid"] for row in stored.of("node_events", {})}
    assert uids == {"Scheduled": "shop/web-0", "FailedScheduling": "u2"}
