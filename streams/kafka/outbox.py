"""Collects what a batch publishes: findings, alerts, records for other logs, dead letters."""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Final, NamedTuple

from ingest.kafka.publish import Publisher, bury
from ingest.model.records import Record
from ingest.model.topics import Topics, encode_record, headers_of, key_of
from ingest.normalize.dead_letters import Buried
from streams.fold.findings import Alert, Row
from streams.fold.reducer import Withdrawal
from streams.kafka.accept import ORIGIN
from streams.kafka.codec import Emission
from streams.kafka.messages.alerts import alert_headers, encode_alert
from streams.kafka.messages.findings import encode_findings, finding_headers

MAX_ROWS: Final = 500
"""That a message of findings gets at once."""


class Concluded(NamedTuple):
    """The rows that a record gave."""

    cluster: str
    node: str
    ts: datetime
    place: str
    rows: list[Row]


class Outbox:
    """Hands over what a batch publishes; its states are stored only after `acknowledged`."""

    def __init__(self, publisher: Publisher, topics: Topics) -> None:
        self._publisher = publisher
        self._topics = topics
        self._handed_over: list[asyncio.Future[None]] = []

    async def acknowledged(self) -> None:
        """Return when Kafka has all of it."""
        for each in self._handed_over:  # most are done when the first is: gathering would wake up for each
            await each

    async def findings(self, key: bytes, concluded: Iterable[Concluded]) -> None:
        """Add findings of one log, in their order."""
        for each in _of_one_sample(concluded):
            value = encode_findings(each.cluster, each.node, each.ts, each.rows)
            headers = finding_headers(each.cluster, each.node, each.ts, each.place)
            self._handed_over.append(await self._publisher.send(self._topics.findings.name, key, value, headers))

    async def alert(self, alert: Alert) -> None:
        """Add an alert in its current state."""
        sent = await self._publisher.send(
            self._topics.alerts.name, alert.fingerprint.encode(), encode_alert(alert), alert_headers(alert)
        )
        self._handed_over.append(sent)

    async def withdraw(self, alert: Withdrawal) -> None:
        """Kafka forgets it some time after this, and what was sent of it before."""
        self._handed_over.append(
            await self._publisher.send(self._topics.alerts.name, alert.fingerprint.encode(), None)
        )

    async def record(self, record: Record, emission: Emission) -> None:
        """Onto the log that it belongs to."""
        identity = f"{emission.origin}@{emission.offset}#{emission.number}"
        sent = await self._publisher.send(
            self._topics.of(record).name,
            key_of(record.cluster, record.node),
            encode_record(record),
            [*headers_of(record, identity), (ORIGIN, emission.header())],
        )
        self._handed_over.append(sent)

    async def dead_letter(self, letter: Buried, emission: Emission, *, counted: bool = True) -> None:
        """And a record of it, for the analytics, where it is `counted`."""
        self._handed_over.append(await bury(self._publisher, self._topics, letter))
        if counted and (record := letter.record()) is not None:
            await self.record(record, emission)


def _of_one_sample(concluded: Iterable[Concluded]) -> Iterator[Concluded]:
    """Merge findings from records of the same time, under the first; fewer than twice MAX_ROWS."""
    gathered: Concluded | None = None
    for each in chain.from_iterable(map(_parts, concluded)):
        if gathered is None or gathered[:3] != each[:3] or len(gathered.rows) >= MAX_ROWS:
            if gathered is not None:
                yield gathered
            gathered = each
        else:
            gathered.rows.extend(each.rows)
    if gathered is not None:
        yield gathered


def _parts(each: Concluded) -> Iterator[Concluded]:
    """Split findings into parts of at most MAX_ROWS. A single record can give tens of thousands, for example an
    empty inventory.
    """
    for first in range(0, len(each.rows), MAX_ROWS):
        place = f"{each.place}#{first}" if first else each.place
        yield each._replace(place=place, rows=each.rows[first : first + MAX_ROWS])
