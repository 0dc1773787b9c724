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
