"""Why pods were not scheduled."""

from datetime import datetime
from typing import Final, NamedTuple

from streams.fold.findings.row import row


@row(table="scheduling_failures")
class SchedulingFailure(NamedTuple):
    cluster: str
    ts: datetime
    """When this text was first seen on the pod; of an event, when it first occurred."""
    namespace: str
    pod: str
    uid: str
    nodes_total: int
    """The N of "0/N nodes": what the scheduler believes there is."""
    nodes_known: int
    """Nodes that had existed for over a minute."""
    reasons: dict[str, int]
    reason_sum: int
    prefilter: str
    post_filter: str
    preemption: str
    truncated: bool
    """The text was cut: counts are lower bounds."""
    pinned_node: str
    text_source: str


BLIND_VERDICTS: Final = {
    "lost_node": "does not see a node",
    "stale_view": "counts fewer nodes than exist",
    "ghost_nodes": "counts nodes that do not exist",
}
"""The verdicts in words, as they follow "The scheduler"."""
BLIND_ADVICE: Final = "Restart kube-scheduler, or add or delete any node: both rebuild its list"


@row(table="scheduler_blind_spots", composed=("what",))
class SchedulerBlindSpot(NamedTuple):
    cluster: str
    ts: datetime
    """Time of the text that shows it; for `placement`, the start of the time in which the node gets no pods."""
    verdict: str
    test: str
    """The test that showed it: `nodes_evaluated`, `nodes_total`, `placement` or `text`."""
    node: str
    namespace: str
    pod: str
    evidence: str
    scheduler_version: str

    @property
    def what(self) -> str:
        pod = f", by pod {self.namespace}/{self.pod}" if self.pod else ""
        return f"The scheduler {BLIND_VERDICTS.get(self.verdict, self.verdict)}{pod}: {self.evidence}"


@row(table="scheduled_objects")
class ScheduledObject(NamedTuple):
    cluster: str
    ts: datetime
    resource: str
    namespace: str
    name: str
    uid: str
    deleted: bool
    facts: str
    """JSON; empty where it was deleted."""


@row(table="scheduled_lists")
class ScheduledList(NamedTuple):
    cluster: str
    ts: datetime
    resource: str
    after: str
    until: str
    """Empty at the end of the list."""
    uids: list[str]
