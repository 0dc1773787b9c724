"""A stream of real observations into Kafka, for as long as an attack lasts."""

import asyncio
import random
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import count, islice
from threading import Event, Thread
from typing import Final, Self

import msgspec

from components.pipeline import Pipeline, examples
from faults.churn import observations
from faults.form import OBSERVATIONS_A_SECOND
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Feed
from ingest.model.observation import Observed, Position, Unreadable
from paths import CAPTURES
from waiting import NotReady

DAY: Final = timedelta(days=1)
ALIVE: Final = 12
MOST_NODES: Final = 20_000
"""More than any run gets to."""
SHUFFLED: Final = 500
"""Observations among which the order of arrival is left to chance."""


def endless() -> Iterator[Observed | Unreadable]:
    """Real captures again and again, each time under clusters of their own."""
    for copy in count():
        yield from examples(CAPTURES, copy)


def level() -> Iterator[Observed | Unreadable]:
    """Real captures once, then nodes of one cluster that live an hour each, ALIVE at once.

    An hour of theirs passes in half a minute. Soon as many logs are forgotten as begin, and what still grows is a
    leak.
    """
    yield from examples(CAPTURES)
    for number, observation in enumerate(observations(MOST_NODES, ALIVE, empty_hours=0)):
        yield Observed(observation, Position("churn", f"{number}"), b"")


def disordered() -> Iterator[Observed | Unreadable]:
    """The same; each observation's clock is wrong by up to a day, and they arrive in disorder.

    Without bookmarks: by them the hours pass after which a log is forgotten, and what came by then would be chance.
    """
    chance = random.Random(7)  # noqa: S311  # no secret
    source = (each for each in endless() if isinstance(each, Unreadable) or each.observation.type != "BOOKMARK")
    while True:
        some = [_late(item, chance.uniform(-1, 1) * DAY) for item in islice(source, SHUFFLED)]
        chance.shuffle(some)
        yield from some


def _late(item: Observed | Unreadable, by: timedelta) -> Observed | Unreadable:
    if isinstance(item, Unreadable):
        return item
    observation = item.observation
    return item._replace(observation=msgspec.structs.replace(observation, ts=observation.ts + by))


class Feeder:
    """Sends observations at a steady rate from a thread of its own; what is not acknowledged is sent again."""

    def __init__(
        self, pipeline: Pipeline, source: Iterable[Observed | Unreadable], a_second: float = OBSERVATIONS_A_SECOND
    ) -> None:
        self.sent: list[Observed | Unreadable] = []
        self._pipeline = pipeline
        self._source = source
        self._a_second = a_second
        self._enough = Event()
        self._abandoned = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="feeder", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give up the messages that Kafka does not have."""
        self._enough.set()
        self._abandoned.set()
        self._thread.join(30)

    def stop(self) -> int:
        """Returns when Kafka has acknowledged all of it; how many observations that are."""
        self._enough.set()
        self._thread.join(600)
        if self._thread.is_alive():
            raise NotReady("Kafka did not acknowledge what was sent within 10 minutes")
        if self._failure is not None:
            raise self._failure
        return len(self.sent)

    def _run(self) -> None:
        try:
            asyncio.run(self._send())
        except BaseException as failure:  # noqa: BLE001  # it is raised by `stop`
            self._failure = failure

    async def _send(self) -> None:
        begin = time.monotonic()
        async with Publisher(self._pipeline.settings.kafka.bootstrap_servers) as publisher:
            feed = Feed(publisher, self._pipeline.topics)
            for item in self._source:
                if self._enough.is_set():
                    break
                self.sent.append(item)
                await feed.send(item)
                ahead = len(self.sent) / self._a_second - (time.monotonic() - begin)
                if ahead > 0:
                    await asyncio.sleep(ahead)  # a steady rate is what it is for
            flushing = asyncio.ensure_future(publisher.flush())
            while not flushing.done() and not self._abandoned.is_set():
                await asyncio.wait([flushing], timeout=0.1)
            flushing.cancel()
