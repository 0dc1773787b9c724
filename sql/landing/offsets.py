"""How far each partition of Kafka is stored, in the table `landed_offsets`."""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from aiokafka import TopicPartition

from sql.database.open import Database
from streams.kafka.landing.resume import Landed

TABLE: Final = "landed_offsets"
_LATEST: Final = f"""
SELECT topic, partition, end, timestamp_ms, written FROM {TABLE} FINAL WHERE kafka = {{kafka:String}}
"""


class LandedOffsets:
    """Of one Kafka cluster, beside the rows."""

    def __init__(self, database: Database, kafka: str) -> None:
        self._database = database
        self._kafka = kafka
        self._written = 0

    def load(self) -> Mapping[TopicPartition, Landed]:
        rows = self._database.query(_LATEST, {"kafka": self._kafka}).rows
        self._written = max([self._written, *(row[4] for row in rows)])
        return {TopicPartition(row[0], row[1]): Landed(row[2], row[3]) for row in rows}

    def save(self, landed: Mapping[TopicPartition, Landed]) -> None:
        """After the rows: what is lost of them with it is then known."""
        self._written += 1
        partitions, progress = zip(*landed.items(), strict=True)
        columns = {
            "kafka": pa.array([self._kafka] * len(landed), pa.string()),
            "topic": pa.array([each.topic for each in partitions], pa.string()),
            "partition": pa.array([each.partition for each in partitions], pa.uint32()),
            "written": pa.array([self._written] * len(landed), pa.uint64()),
            "end": pa.array([each.end for each in progress], pa.int64()),
            "timestamp_ms": pa.array([each.timestamp_ms for each in progress], pa.int64()),
        }
        self._database.insert(TABLE, pa.table(columns))
