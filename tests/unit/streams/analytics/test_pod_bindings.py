"""Rows of a pod: one for each change that a rule reads."""

from datetime import UTC, datetime, timedelta

from ingest.model.objects.pod import Pod, PodMetadata, PodSpec, PodStatus
from ingest.model.records import PodRecord
from streams.analytics.pod_bindings import State, step
from streams.fold.findings import PodBinding

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def test_the_start_of_a_pod_comes_with_its_next_change_and_makes_no_row_alone() -> None:
    state, rows = State(), list[tuple[str, datetime | None]]()
    for second, status in enumerate(
        (
            PodStatus(phase="Pending"),
            PodStatus(phase="Pending", start_time=NOON),
            PodStatus(phase="Running", start_time=NOON),
        )
    ):
        pod = Pod(metadata=PodMetadata(name="p", uid="u"), spec=PodSpec(node_name="n"), status=status)
        at = NOON + timedelta(seconds=second)
        state, found = step(state, PodRecord(ts=at, cluster="c", node="n", change="MODIFIED", object=pod))
        rows += [(each.phase, each.started_at) for each in found if isinstance(each, PodBinding)]
    assert rows == [("Pending", None), ("Running", NOON)]
