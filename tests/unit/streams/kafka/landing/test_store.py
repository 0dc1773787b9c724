"""The thread of the store: a refused portion is tried again, and holds nothing open meanwhile."""

import asyncio
import gc
import weakref
from collections.abc import Iterator, Mapping

import pytest
from aiokafka import TopicPartition

from streams.kafka.landing.portion import Portion
from streams.kafka.landing.resume import Landed
from streams.kafka.landing.store import StoreThread, TransientFailure


class Opened:
    """A connection that closes when nobody holds it any more."""


class Refusing:
    """A store whose first answers fail, each with a connection of its own."""

    def __init__(self, failures: int) -> None:
        self.opened: list[weakref.ref[Opened]] = []
        self.left_open: list[int] = []
        self._failures = failures

    def __call__(self, portion: Portion, landed: Mapping[TopicPartition, Landed], /) -> None:
        raise NotImplementedError

    def landed(self, _kafka: str, /) -> dict[TopicPartition, Landed]:
        self.left_open.append(sum(each() is not None for each in self.opened))
        if len(self.opened) < self._failures:
            connection = Opened()
            self.opened.append(weakref.ref(connection))
            raise TransientFailure
        return {}

    def resume_from(self, landed: Mapping[TopicPartition, Landed], /) -> None:
        raise NotImplementedError


@pytest.fixture
def no_cycle_search() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.asyncio
@pytest.mark.usefixtures("no_cycle_search")
async def test_a_failed_attempt_leaves_no_connection_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streams.kafka.landing.store.FIRST_BACKOFF_SECONDS", 0.001)
    store = Refusing(failures=3)
    assert await StoreThread(store).landed("id", asyncio.Event(), lambda: True) == {}
    assert store.left_open == [0, 0, 0, 0]
