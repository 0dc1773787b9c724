"""Inserts messages into tables, with the offsets of the stored ones."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

import msgspec
import structlog
from aiokafka import TopicPartition

from ingest.model.observation import UNDECODABLE
from ingest.model.records import SummaryRecord
from ingest.model.samples import pack
from ingest.model.topics import Topics
from ingest.normalize.dead_letters import Letter
from sql.database.errors import DatabaseError, QueryFailed
from sql.database.lean_arrow import pa
from sql.database.open import Database
from sql.landing.batches import SCHEMAS, from_columns, land
from streams.fold.batch import Batch
from streams.kafka.landing.portion import Portion
from streams.kafka.landing.resume import UNKNOWN, Landed
from streams.kafka.landing.store import TransientFailure
from streams.kafka.message import Message
from streams.kafka.messages.findings import columns_of, decode_findings

TABLE: Final = "landed_offsets"
TAKEOVER: Final = 1_000_000
"""Distance between the versions of a new reader and the existing ones.

A lander that was stopped between its rows and this table, and resumes after a takeover, does not replace the rows of
others.
"""
TRUSTED_SECONDS: Final = 600
"""Rows stored this long before a lost part were not in it: ClickHouse keeps merged parts for 8 minutes."""
TABLES: Final = [name for table in SCHEMAS for name in (table, f"{table}_5m")]
"""Landed tables, and their roll-ups."""
_ROWS: Final = f"""
SELECT topic, partition, written, end, timestamp_ms, toUnixTimestamp(stored_at), lost_parts
FROM {TABLE} FINAL WHERE kafka = {{kafka:String}} ORDER BY written
"""
_DETACHED: Final = "system.detached_parts"
_LOST: Final = """
SELECT DISTINCT concat(table, ' ', name, ' ', toString(written_at)), toUnixTimestamp(modification_time) AS written_at
FROM {detached}
WHERE database = {{database:String}} AND ifNull(reason, '') IN ('', 'broken', 'broken-on-start', 'unexpected')
    AND table IN
    (
        SELECT name FROM system.tables
        WHERE database = {{database:String}} AND name IN {{tables:Array(String)}} AND engine NOT LIKE 'Replicated%'
    )
"""
"""Parts that ClickHouse could not read or an operator detached. A replica fetches such a part."""
log = structlog.get_logger(__name__)


def lost_parts(cluster: str) -> str:
    """Return the query for a database's lost parts, and when each was written; without a cluster, for one server."""
    return _LOST.format(detached=f"clusterAllReplicas('{cluster}', {_DETACHED})" if cluster else _DETACHED)


class _Row(NamedTuple):
    written: int
    end: int
    timestamp_ms: int
    stored_at: int
    lost_parts: Sequence[str]


class LandedOffsets:
    """Stores the offsets of one Kafka cluster with the rows."""

    def __init__(self, database: Database, kafka: str) -> None:
        self._database = database
        self.kafka = kafka
        self._written = 0
        self._lost: Sequence[str] = ()
        self._known: dict[TopicPartition, Sequence[str]] = {}
        """Lost parts that do not concern a partition, for each that was begun or has rows."""
        self._refusal = ""

    def load(self) -> dict[TopicPartition, Landed]:
        """Load the progress; of a partition that does not know of a lost part, from well before that part."""
        rows: dict[TopicPartition, list[_Row]] = {}
        for topic, partition, *row in self._database.query(_ROWS, {"kafka": self.kafka}).rows:
            rows.setdefault(TopicPartition(topic, partition), []).append(_Row(*row))
        lost = self._lost_parts()
        self._lost = sorted(lost)
        self._written = TAKEOVER + max([self._written, *(row.written for of_one in rows.values() for row in of_one)])
        trusted = {tp: _trusted(of_one, lost) for tp, of_one in rows.items()}
        self._known = {
            tp: self._lost if trusted[tp] is of_one[-1] else of_one[-1].lost_parts for tp, of_one in rows.items()
        }
        return {tp: Landed(row.end, row.timestamp_ms) if row else UNKNOWN for tp, row in trusted.items()}

    def resume_from(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """Restart partitions: the next saved progress follows this point, even if parts were lost before it."""
        self._known |= dict.fromkeys(landed, self._lost)
        self.save(landed)

    def save(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """Save the progress after the rows are stored, so that a loss of both is noticed."""
        self._written += 1
        partitions, progress = zip(*landed.items(), strict=True)
        known = [self._known.get(each, self._lost) for each in partitions]
        columns = {
            "kafka": pa.array([self.kafka] * len(landed), pa.string()),
            "topic": pa.array([each.topic for each in partitions], pa.string()),
            "partition": pa.array([each.partition for each in partitions], pa.uint32()),
            "written": pa.array([self._written] * len(landed), pa.uint64()),
            "end": pa.array([each.end for each in progress], pa.int64()),
            "timestamp_ms": pa.array([each.timestamp_ms for each in progress], pa.int64()),
            "lost_parts": pa.array(known, pa.list_(pa.string())),
        }
        self._database.insert(TABLE, pa.table(columns))

    def _lost_parts(self) -> Mapping[str, int]:
        """Return when each lost part was written, on any shard; empty if the user may not see it."""
        db = self._database
        try:
            found = dict(db.query(lost_parts(db.cluster), {"database": db.holder, "tables": TABLES}).rows)
        except QueryFailed as error:
            if not error.forbidden:
                raise
            if self._refusal != str(error):
                self._refusal = str(error)
                log.warning("lost parts are not noticed", reason=self._refusal, mend=f"GRANT SELECT ON {_DETACHED}")
            return {}
        self._refusal = ""
        return found


def _trusted(rows: Sequence[_Row], lost: Mapping[str, int]) -> _Row | None:
    """Return the last row of a partition that reliably shows what is stored, or None."""
    unknown = [at for part, at in lost.items() if part not in rows[-1].lost_parts]
    if not unknown:
        return rows[-1]
    return next((row for row in reversed(rows) if row.stored_at < min(unknown) - TRUSTED_SECONDS), None)


KIND: Final = "kind"
SUMMARY: Final = b"summary"
_decode_summary: Final = msgspec.json.Decoder(SummaryRecord).decode


class PortionStore:
    """Stores portions in a database, each table's rows in one insert under the portion's token."""

    def __init__(self, database: Database, topics: Topics) -> None:
        self._database = database
        self._offsets = LandedOffsets(database, "")
        self._readers: dict[str, Callable[[_Rows, Message], None]] = {
            topics.nodes.name: _Rows.add_record,
            topics.findings.name: _Rows.add_findings,
            topics.dead_letters.name: _Rows.add_dead_letter,
        }

    def __call__(self, portion: Portion, landed: Mapping[TopicPartition, Landed]) -> None:
        """Store a portion and its progress. Raises DatabaseError for `errors.LASTING`, else TransientFailure."""
        rows = _Rows()
        rows.read(self._readers[portion.topic], portion.messages)
        with _transient():
            rows.land(self._database, portion.token)
            self._offsets.save(landed)

    def landed(self, kafka: str) -> dict[TopicPartition, Landed]:
        """Return the stored progress of a Kafka cluster, by its id; later portions belong to it. Raises as above."""
        with _transient():
            if self._offsets.kafka != kafka:
                self._offsets = LandedOffsets(self._database, kafka)
            return self._offsets.load()

    def resume_from(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """Restart partitions: the next portion follows this point. Raises as above."""
        with _transient():
            self._offsets.resume_from(landed)

    def topics(self) -> list[str]:
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
    def __init__(self) -> None:
        self.batch = Batch()
        self.tables: dict[str, dict[str, list[object]]] = {}

    def read(self, reader: "Callable[[_Rows, Message], None]", messages: Iterable[Message]) -> None:
        """Read messages; one that cannot be decoded becomes a dead letter."""
        for message in messages:
            try:
                reader(self, message)
            except UNDECODABLE as error:
                letter = Letter.undecodable(message.position, message.ts, message.value, error)
                self.batch.add_dead_letter(letter)

    def add_record(self, message: Message) -> None:
        """Read samples. Other records of a node's log land as findings, so they are not decoded."""
        if (KIND, SUMMARY) in message.headers:
            summary = _decode_summary(message.value)
            self.batch.add_sample(summary.folded(), pack(summary.pods))

    def add_findings(self, message: Message) -> None:
        for table, columns in columns_of(decode_findings(message.value)).items():
            into = self.tables.setdefault(table, {name: [] for name in columns})
            for name, values in columns.items():
                into[name] += values

    def add_dead_letter(self, message: Message) -> None:
        self.batch.add_dead_letter(Letter.read(message.headers, message.value))

    def land(self, database: Database, token: str) -> None:
        for table, columns in self.tables.items():
            database.insert(table, from_columns(table, columns), token)
        land(database, self.batch, token)
