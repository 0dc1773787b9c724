"""Why a pod waits, by its own status alone."""

from typing import Final

from ingest.model.objects.pod import Pod
from streams.rules.scheduling.message import parse

_USUAL: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
_CRASH_LOOP: Final = "CrashLoopBackOff"
"""Its message has a time in it, new at each restart."""


def waits_for(pod: Pod) -> str:
    """Return why a pending pod waits: the scheduler's text, or the state of the first container that cannot start.

    Empty where the status has no reason, and for a text about nodes, which `scheduling_failures` has taken apart.
    """
    status = pod.status
    if status.phase != "Pending":
        return ""
    scheduled = next((each for each in status.conditions or () if each.type == "PodScheduled"), None)
    if scheduled is not None and scheduled.status == "False":
        return "" if parse(scheduled.message) else scheduled.message.strip() or scheduled.reason
    for each in (*(status.init_container_statuses or ()), *(status.container_statuses or ())):
        waiting = each.state and each.state.waiting
        if waiting and waiting.reason not in _USUAL:
            message = "" if waiting.reason == _CRASH_LOOP else waiting.message.strip()
            return ": ".join(filter(None, (f"Container {each.name}", waiting.reason, message)))
    return ""
