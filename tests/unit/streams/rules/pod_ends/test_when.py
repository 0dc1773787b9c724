"""When a pod ended that only its status shows (rules: how-pods-end). The API's times have whole seconds."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from streams.rules.pod_ends.when import When, ended_by_status

START = datetime(2026, 11, 21, 4, 24, 4, tzinfo=UTC)
REJECTED = {"phase": "Failed", "reason": "Evicted", "startTime": START}


def ended(milliseconds: int, *, starts_with_it: bool = False) -> When:
    pod = msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "status": REJECTED}, Pod)
    return ended_by_status(pod, START + timedelta(milliseconds=milliseconds), starts_with_it=starts_with_it)


@pytest.mark.parametrize("milliseconds", [0, 123, 999])
@pytest.mark.parametrize("starts_with_it", [True, False])
def test_bounds_within_one_second_are_a_time(milliseconds: int, starts_with_it: bool) -> None:
    """Its Event has no more than that second either, so both witnesses give the same row."""
    assert ended(milliseconds, starts_with_it=starts_with_it) == When(START)


@pytest.mark.parametrize(("starts_with_it", "guess"), [(True, 0), (False, 1)])
def test_bounds_further_apart_stay_bounds(starts_with_it: bool, guess: int) -> None:
    read_at = START + timedelta(seconds=1)
    found = ended(1000, starts_with_it=starts_with_it)
    assert found == When(START + timedelta(seconds=guess), is_known=False, earliest=START, latest=read_at)


@pytest.mark.parametrize(
    ("policy", "code", "is_known"), [("Never", 0, False), ("Always", 0, True), ("Never", 1, True)]
)
def test_a_pod_that_had_completed_before_it_was_refused_again_bounds_that(
    policy: str, code: int, is_known: bool
) -> None:
    """A kubelet that starts admits the pods on it once more (kubernetes 117955)."""
    terminated = {"exitCode": code, "reason": "Completed", "finishedAt": START}
    status = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "startTime": START - timedelta(minutes=1)}
    status["containerStatuses"] = [{"name": "c", "state": {"terminated": terminated}}]
    about = {"metadata": {"name": "p", "uid": "u"}, "spec": {"restartPolicy": policy}, "status": status}
    read_at = START + timedelta(minutes=5)
    found = ended_by_status(msgspec.convert(about, Pod), read_at, starts_with_it=True)
    bounds = When(read_at, is_known=False, earliest=START, latest=read_at)
    assert found == (When(START) if is_known else bounds)
