"""A pod's own status explains why it waits."""

from typing import Any

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from streams.rules.scheduling.message import waits_for


def pod(**status: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p"}, "status": {"phase": "Pending"} | status}, Pod)


def unscheduled(reason: str, message: str) -> Pod:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": reason, "message": message}])


def container(reason: str, message: str = "", name: str = "app") -> dict[str, Any]:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": message}}}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            unscheduled("SchedulerError", 'persistentvolumeclaim "data" not found'),
            'persistentvolumeclaim "data" not found',
        ),
        (unscheduled("Unschedulable", "0/3 nodes are available: 3 Insufficient cpu."), ""),
        (unscheduled("SchedulingGated", ""), "SchedulingGated"),
        (
            pod(containerStatuses=[container("ImagePullBackOff", 'Back-off pulling image "x"')]),
            'Container app: ImagePullBackOff: Back-off pulling image "x"',
        ),
        (
            pod(
                initContainerStatuses=[container("CrashLoopBackOff", "back-off 2m40s restarting", "init")],
                containerStatuses=[container("PodInitializing")],
            ),
            "Container init: CrashLoopBackOff",
        ),
        (pod(containerStatuses=[container("ContainerCreating")]), ""),
        (pod(), ""),
        (pod(phase="Running", containerStatuses=[container("CrashLoopBackOff")]), ""),
    ],
)
def test_a_pending_pod_has_its_own_reason_unless_that_counts_nodes(found: Pod, words: str) -> None:
    """The time in the words of a crash loop is left out, because it is new at each restart."""
    assert waits_for(found) == words
