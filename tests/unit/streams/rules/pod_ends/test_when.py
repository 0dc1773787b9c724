"""When a pod ended that only its status shows (rules: how-pods-end). The API's times have whole seconds."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from streams.rules.pod_ends.when import When, ended_by_status

START = datetime(2026, 11, 21, 4, 24, 4, tzinfo=UTC)
REJECTED = {"phase": "Failed", "reason": "Evicted", "startTime": START}


def ended(milliseconds: int, *, starts_with_it: bool = False, is_rejection: bool = True) -> When:
    pod = msgspec.convert({"metadata": {"name": "p", "uid": "u"}, "status": REJECTED}, Pod)
    read_at = START + timedelta(milliseconds=milliseconds)
    return ended_by_status(pod, read_at, starts_with_it=starts_with_it, is_rejection=is_rejection)


@pytest.mark.parametrize("milliseconds", [0, 123, 999])
def test_a_rejection_seen_in_the_second_of_the_start_has_that_time(milliseconds: int) -> None:
    """Its Event has no more than that second either, so both witnesses give the same row."""
    assert ended(milliseconds) == When(START)


@pytest.mark.parametrize(("starts_with_it", "is_rejection"), [(True, True), (False, False)])
def test_a_start_that_is_the_newest_time_of_its_dump_is_no_upper_bound(
    starts_with_it: bool, is_rejection: bool
) -> None:
    """A part of a dump was read at any time after that."""
    bound = When(START, is_known=False, earliest=START)
    assert ended(0, starts_with_it=starts_with_it, is_rejection=is_rejection) == bound


@pytest.mark.parametrize(("starts_with_it", "guess"), [(True, 0), (False, 1)])
def test_bounds_that_are_far_apart_stay_bounds(starts_with_it: bool, guess: int) -> None:
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
