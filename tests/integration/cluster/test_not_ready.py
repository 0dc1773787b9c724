"""A real kubelet that stops and starts again: what becomes of its node and pods (rules: nodes-that-do-not-report)."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from components.cluster.kubelet import RealNode
from components.command import leadsman_process, rows, succeeds
from integration.cluster.node_story import captured, restored, watch_flags
from waiting import eventually, lasting

pytestmark = [pytest.mark.components("cluster"), pytest.mark.night]

POD: Final = "not-ready-outlived"
GRACE_SECONDS: Final = 50
"""Time that the controller manager waits for a node by default (--node-monitor-grace-period)."""
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STOPPED_SECONDS: Final = 3
"""Conditions have whole seconds."""


def ready(of: Any) -> str:
    """The status of the condition Ready of a node or a pod; empty if it has none yet."""
    found = {each["type"]: each["status"] for each in of["status"].get("conditions", ())}
    return str(found.get("Ready", ""))


@pytest.fixture(scope="module")
def database(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replay of a capture while the kubelet did not run."""
    folder = tmp_path_factory.mktemp("not-ready")
    recording = folder / "capture"
    capture = leadsman_process("capture", f"--output={recording}", *watch_flags(real_node), folder=folder)
    with restored(real_node, (POD,)):
        capture.start()
        try:
            capture.await_ready(lambda: captured(recording, '"BOOKMARK"') > 0 < captured(recording, '"configz"'))
            real_node.run_pod(POD, "wait", requests={}, limits={})
            eventually("the pod is ready", lambda: ready(real_node.pod(POD)) == "True")
            eventually("the kubelet has its Lease", lambda: real_node.cluster.request("GET", LEASES)["items"])
            real_node.kubelet.stop()
            eventually("the node is Unknown", lambda: ready(real_node.node()) == "Unknown")
            eventually("its pod is not ready", lambda: ready(real_node.pod(POD)) == "False")
            lasting(STOPPED_SECONDS)
            real_node.start_kubelet()
            eventually("the pod is ready again", lambda: ready(real_node.pod(POD)) == "True")
            version = real_node.pod(POD)["metadata"]["resourceVersion"]
            eventually("that is captured", lambda: captured(recording, POD, f'"resourceVersion":"{version}"'))
        finally:
            capture.stop()
    succeeds("replay", "-q", recording, db=folder / "db")
    return folder / "db"


def test_a_node_whose_kubelet_stops_is_unknown_until_it_reports_again(database: Path) -> None:
    ((state, since, until, message, silent_seconds, before),) = rows(
        "SELECT state, since, until, message, silent_seconds, before FROM not_ready", database
    )
    assert (state, message) == ("Unknown", "Kubelet stopped posting node status.")
    assert isinstance(since, datetime)
    assert until - since >= timedelta(seconds=STOPPED_SECONDS - 1)
    assert GRACE_SECONDS - 5 <= silent_seconds <= GRACE_SECONDS + 60, "since is the condition's, not the stop"
    assert before == "no pressure was seen", "Unknown conditions are no pressure"


def test_the_lease_of_a_kubelet_that_stopped_is_over_and_was_looked_at_once(database: Path) -> None:
    ((age,),) = rows("SELECT lease_age_seconds FROM not_ready", database)
    assert GRACE_SECONDS - 5 <= age <= GRACE_SECONDS + 60, "it is renewed every 10 s, and was not since the stop"
    assert rows("SELECT count(), any(age_seconds > duration_seconds) FROM node_leases FINAL", database) == [(1, 1)]


def test_the_node_is_tainted_for_as_long_as_it_is_unknown(database: Path) -> None:
    found = rows("SELECT ready, taints FROM nodes FINAL ORDER BY ts", database)
    (first, *_), (last, *_) = found, reversed(found)
    assert first == last == (1, [])
    assert any(ready is None and "node.kubernetes.io/unreachable=:NoSchedule" in taints for ready, taints in found)


def test_a_pod_outlives_its_kubelet(database: Path) -> None:
    assert rows(f"SELECT argMax((change, phase), ts) FROM pod_bindings WHERE pod = '{POD}'", database) == [
        (("updated", "Running"),)
    ]
    assert rows("SELECT * FROM pod_ends", database) == []


def test_a_condition_that_becomes_unknown_is_no_change_of_pressure(database: Path) -> None:
    assert rows("SELECT * FROM pressure_changes FINAL WHERE NOT kubelet_restart", database) == []


def test_the_kubelet_that_cannot_be_asked_is_an_error_of_its_source(database: Path) -> None:
    found = rows("SELECT DISTINCT resource, kind FROM source_errors FINAL ORDER BY kind", database)
    assert ("stats/summary", "silent") in found
    assert ("stats/summary", "unreadable") in found
