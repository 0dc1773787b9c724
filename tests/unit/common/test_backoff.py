"""client-go's reflector backoff: 800 ms doubled to 30 s, jitter 1.0, reset after 2 minutes (delivery.md#watching)."""

import pytest

from common.clock import Backoff
from fakes.clock import FakeClock


def test_delays_double_from_800_ms_to_30_s() -> None:
    backoff = Backoff(FakeClock().clock)
    assert [backoff.next_seconds() for _ in range(8)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]


def test_jitter_adds_up_to_the_same_again() -> None:
    backoff = Backoff(FakeClock(chance=0.5).clock)
    assert backoff.next_seconds() == pytest.approx(0.8 * 1.5)


@pytest.mark.parametrize(("healthy_seconds", "expected"), [(119.5, 1.6), (120.5, 0.8)])
def test_it_starts_again_after_2_minutes_of_health(healthy_seconds: float, expected: float) -> None:
    fake = FakeClock()
    backoff = Backoff(fake.clock)
    fake.seconds += backoff.next_seconds() + healthy_seconds
    assert backoff.next_seconds() == expected


@pytest.mark.asyncio
async def test_the_server_may_ask_for_a_longer_wait_but_not_for_a_shorter_one() -> None:
    fake = FakeClock()
    backoff = Backoff(fake.clock)
    await backoff.wait(at_least_seconds=5)
    await backoff.wait(at_least_seconds=1)
    assert fake.slept == [5, 1.6]
