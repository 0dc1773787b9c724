"""How far each partition of Kafka is stored, in the table `landed_offsets`."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import pyarrow as pa
import structlog
from aiokafka import TopicPartition

from sql.database.errors import QueryFailed
from sql.database.open import Database
from streams.kafka.landing.resume import UNKNOWN_MS, Landed

TABLE: Final = "landed_offsets"
TAKEOVER: Final = 1_000_000
"""By how much the versions of who reads the table are above those that are there: who was stopped between its rows
and this table, and goes on when others have taken over, does not replace what they wrote.
"""
TRUSTED_SECONDS: Final = 600
"""What was stored so long before a part that is lost was not in it: ClickHouse keeps for 8 minutes what it merged."""
_ROWS: Final = f"""
SELECT topic, partition, written, end, timestamp_ms, toUnixTimestamp(stored_at), lost_at
FROM {TABLE} FINAL WHERE kafka = {{kafka:String}} ORDER BY written
"""
_LOST: Final = """
SELECT DISTINCT toUnixTimestamp(modification_time) FROM system.detached_parts
WHERE database = currentDatabase() AND ifNull(reason, '') IN ('', 'broken', 'broken-on-start', 'unexpected')
"""
"""What ClickHouse could not read, as after a power loss, or somebody has set aside."""
log = structlog.get_logger(__name__)


class _Row(NamedTuple):
    written: int
    end: int
    timestamp_ms: int
    stored_at: int
    lost_at: int


class LandedOffsets:
    """Of one Kafka cluster, beside the rows."""

    def __init__(self, database: Database, kafka: str) -> None:
        self._database = database
        self.kafka = kafka
        self._written = 0
        self._lost_at = 0
        self._known: dict[TopicPartition, int] = {}
        """Of each partition that was begun, or has rows: which lost parts do not concern it."""

    def load(self) -> dict[TopicPartition, Landed]:
        """Where parts are lost that a partition does not know of, as it was well before they were written."""
        rows: dict[TopicPartition, list[_Row]] = {}
        for topic, partition, *row in self._database.query(_ROWS, {"kafka": self.kafka}).rows:
            rows.setdefault(TopicPartition(topic, partition), []).append(_Row(*row))
        lost = self._lost()
        self._lost_at = max(lost, default=0)
        self._written = TAKEOVER + max([self._written, *(row.written for of_one in rows.values() for row in of_one)])
        self._known = {tp: of_one[-1].lost_at for tp, of_one in rows.items()}
        return {tp: _trusted(of_one, lost) for tp, of_one in rows.items()}

    def begin(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """What is saved next of these follows this, whatever parts are lost by now."""
        self._known |= dict.fromkeys(landed, self._lost_at)
        self.save(landed)

    def save(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """After the rows: what is lost of them with it is then known."""
        self._written += 1
        partitions, progress = zip(*landed.items(), strict=True)
        columns = {
            "kafka": pa.array([self.kafka] * len(landed), pa.string()),
            "topic": pa.array([each.topic for each in partitions], pa.string()),
            "partition": pa.array([each.partition for each in partitions], pa.uint32()),
            "written": pa.array([self._written] * len(landed), pa.uint64()),
            "end": pa.array([each.end for each in progress], pa.int64()),
            "timestamp_ms": pa.array([each.timestamp_ms for each in progress], pa.int64()),
            "lost_at": pa.array([self._known.get(each, 0) for each in partitions], pa.uint32()),
        }
        self._database.insert(TABLE, pa.table(columns))

    def _lost(self) -> Sequence[int]:
        """When the parts were written that are lost; none where that is not shown to this user."""
        try:
            return [at for (at,) in self._database.query(_LOST).rows]
        except QueryFailed as error:
            if not error.forbidden:
                raise
            log.warning("lost parts are not noticed", reason=str(error), mend="GRANT SELECT ON system.detached_parts")
            return []


def _trusted(rows: Sequence[_Row], lost: Sequence[int]) -> Landed:
    """What is stored for certain, by what a partition's rows say in their order."""
    last = rows[-1]
    unknown = [at for at in lost if at > last.lost_at]
    if not unknown:
        return Landed(last.end, last.timestamp_ms)
    before = [row for row in rows if row.stored_at < min(unknown) - TRUSTED_SECONDS]
    return Landed(before[-1].end, before[-1].timestamp_ms) if before else Landed(0, UNKNOWN_MS)
