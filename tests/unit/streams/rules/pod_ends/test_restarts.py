"""The attempt that ended, reasoned from rules: how-pods-end."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from streams.rules.pod_ends.causes import Restarts, attempt_that_ended, restarts_of

STARTED = datetime(2026, 7, 1, 12, tzinfo=UTC)


def test_only_restarted_containers_count_and_a_waiting_one_has_no_start() -> None:
    status = {
        "containerStatuses": [
            {"name": "fresh", "restartCount": 0, "state": {"running": {"startedAt": STARTED}}},
            {"name": "again", "restartCount": 2, "state": {"running": {"startedAt": STARTED}}},
        ],
        "initContainerStatuses": [{"name": "waits", "restartCount": 1, "state": {"waiting": {}}}],
    }
    pod = msgspec.convert({"metadata": {"name": "p"}, "status": status}, Pod)
    assert restarts_of(pod) == {"waits": Restarts(1, None), "again": Restarts(2, STARTED)}


@given(number=st.integers(1, 100), seconds=st.integers(-1_000, 1_000))
def test_an_event_before_the_last_start_belongs_to_the_previous_attempt(number: int, seconds: int) -> None:
    at = STARTED + timedelta(seconds=seconds)
    assert attempt_that_ended(Restarts(number, STARTED), at) == (number if seconds > 0 else number - 1)
    assert attempt_that_ended(Restarts(number, None), at) == number
    assert attempt_that_ended(None, at) == 0


@pytest.mark.parametrize(("before", "attempt"), [(None, 1), (STARTED, 1), (STARTED - timedelta(seconds=1), 2)])
def test_an_event_in_the_second_of_the_last_start_belongs_to_the_attempt_without_a_known_end(
    before: datetime | None, attempt: int
) -> None:
    assert attempt_that_ended(Restarts(2, STARTED), STARTED, before) == attempt
