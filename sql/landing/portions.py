"""Messages into tables: facts from the summaries of the nodes' logs, findings, and dead letters."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import msgspec
from aiokafka import TopicPartition

from ingest.model.observation import UNDECODABLE
from ingest.model.records import SummaryRecord
from ingest.model.samples import pack
from ingest.model.topics import Topics
from ingest.normalize.dead_letters import Buried
from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.landing.arrow import from_columns
from sql.landing.batches import land
from sql.landing.offsets import LandedOffsets
from streams.fold.batch import Batch
from streams.kafka.landing.portion import Portion
from streams.kafka.landing.resume import Landed
from streams.kafka.landing.store import TransientFailure
from streams.kafka.message import Message
from streams.kafka.messages.findings import columns_of, decode_findings

KIND: Final = "kind"
SUMMARY: Final = b"summary"
_decode_summary: Final = msgspec.json.Decoder(SummaryRecord).decode

_Columns = Mapping[str, list[object]]


class PortionStore:
    """Stores portions in a database, each table's rows in one insert under the portion's token."""

    def __init__(self, database: Database, topics: Topics) -> None:
        self._database = database
        self._offsets = LandedOffsets(database, "")
        self._readers: dict[str, Callable[[Message, _Rows], None]] = {
            topics.nodes.name: _read_record,
            topics.findings.name: _read_findings,
            topics.dead_letters.name: _read_dead_letter,
        }

    def __call__(self, portion: Portion, landed: Mapping[TopicPartition, Landed]) -> None:
        """Raises TransientFailure where the database may take it later, DatabaseError where it will not."""
        rows = _Rows()
        rows.read(self._readers[portion.topic], portion.messages)
        with _transient():
            rows.land(self._database, portion.token)
            self._offsets.save(landed)

    def landed(self, kafka: str) -> dict[TopicPartition, Landed]:
        """How far a Kafka is stored, by the id of its cluster; what is stored next is of it. Raises as above."""
        with _transient():
            if self._offsets.kafka != kafka:
                self._offsets = LandedOffsets(self._database, kafka)
            return self._offsets.load()

    def begin(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """Begin partitions: what is stored next follows this. Raises as above."""
        with _transient():
            self._offsets.begin(landed)

    def topics(self) -> list[str]:
        """Return the landed topics."""
        return list(self._readers)


@contextmanager
def _transient() -> Iterator[None]:
    try:
        yield
    except DatabaseError as failure:
        if failure.lasting:
            raise
        raise TransientFailure(str(failure)) from None


class _Rows:
    """The content of one portion's messages."""

    def __init__(self) -> None:
        self.batch = Batch()
        self.tables: dict[str, dict[str, list[object]]] = {}

    def read(self, reader: "Callable[[Message, _Rows], None]", messages: Iterable[Message]) -> None:
        """Read messages; one that a reader cannot decode becomes a dead letter."""
        for message in messages:
            try:
                reader(message, self)
            except UNDECODABLE as error:
                letter = Buried.undecodable(message.position, message.ts, message.value, error)
                self.batch.add_dead_letter(letter)

    def add_columns(self, table: str, columns: _Columns) -> None:
        into = self.tables.setdefault(table, {name: [] for name in columns})
        for name, values in columns.items():
            into[name] += values

    def land(self, database: Database, token: str) -> None:
        for table, columns in self.tables.items():
            database.insert(table, from_columns(table, columns), token)
        land(database, self.batch, token)


def _read_record(message: Message, rows: _Rows) -> None:
    """Samples are facts; other records of a node's log land as findings, and are not even decoded."""
    if (KIND, SUMMARY) in message.headers:
        summary = _decode_summary(message.value)
        rows.batch.add_sample(summary.folded(), pack(summary.pods))


def _read_findings(message: Message, rows: _Rows) -> None:
    for table, columns in columns_of(decode_findings(message.value)).items():
        rows.add_columns(table, columns)


def _read_dead_letter(message: Message, rows: _Rows) -> None:
    rows.batch.add_dead_letter(Buried.read(message.headers, message.value))
