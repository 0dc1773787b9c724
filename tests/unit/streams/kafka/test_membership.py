"""Nothing is sent while another may have the partitions, by whichever clock shows that."""

import asyncio
from datetime import timedelta

import pytest

from fakes.clock import FakeClock
from streams.kafka.membership import Membership, MembershipLost

SESSION_SECONDS = 20.0
pytestmark = pytest.mark.asyncio


async def test_nothing_is_sent_before_the_first_membership_answer() -> None:
    """A worker can be paused as soon as it has partitions."""
    assert await _waits(Membership(SESSION_SECONDS, FakeClock().clock))


async def test_a_membership_answer_is_valid_for_less_than_a_session_after_its_request() -> None:
    fake = FakeClock()
    membership = Membership(SESSION_SECONDS, fake.clock)
    asked_at = fake.clock.instant()
    fake.seconds = 10
    membership.confirm(asked_at)
    fake.seconds = 16
    await membership.assured()
    assert fake.slept == []
    fake.seconds = 17
    assert await _waits(membership)


async def test_an_unsure_member_waits_for_the_next_answer() -> None:
    fake = FakeClock()
    membership = Membership(SESSION_SECONDS, fake.clock)
    membership.confirm(fake.clock.instant())
    fake.seconds = 60
    waiting = asyncio.create_task(membership.assured())
    await asyncio.sleep(0)
    assert not waiting.done()
    membership.confirm(fake.clock.instant())
    await waiting


async def test_membership_is_in_doubt_after_a_suspension_that_stops_the_monotonic_clock() -> None:
    fake, suspended = FakeClock(), timedelta()
    membership = Membership(SESSION_SECONDS, fake.clock._replace(now=lambda: fake.now() + suspended))
    membership.confirm(membership._clock.instant())
    suspended = timedelta(hours=1)
    assert await _waits(membership)


async def test_an_expelled_worker_sends_nothing_and_ends_even_if_it_rejoined() -> None:
    fake = FakeClock()
    membership = Membership(SESSION_SECONDS, fake.clock)
    membership.end()
    membership.confirm(fake.clock.instant())
    assert await _waits(membership)
    with pytest.raises(MembershipLost, match="another worker has its partitions"):
        await membership.ending()


async def _waits(membership: Membership) -> bool:
    """Wait more turns of the loop than an answer would take."""
    waiting = asyncio.create_task(membership.assured())
    for _ in range(5):
        await asyncio.sleep(0)
    waiting.cancel()
    return not waiting.done()
