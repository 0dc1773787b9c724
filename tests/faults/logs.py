"""Folds the logs in the order in which Kafka has them.

Records of several nodes reach their cluster's log in no fixed order, as complete lists reach the logs of the nodes.
Where their times are a day apart, what is concluded (all but AS_SENT) depends on that order: it is read from Kafka.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from components.pipeline import Pipeline
from components.topics import messages
from ingest.kafka.publish import SENT
from ingest.model.observation import Observed, Unreadable
from ingest.model.records import Record
from ingest.model.topics import decode_record
from ingest.normalize.decode import decode
from sql.database.open import connect
from sql.landing.batches import Lander, land
from sql.questions.digest import TableDigest, digest
from sql.schema.migrate import migrate
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Withdrawal
from streams.kafka.accept import ORIGIN
from streams.local.replay import Replay

AS_SENT: Final = frozenset({"dead_letters", "kubelet_settings", "node_events", "node_samples", "pod_samples"})
"""Observations of a node, or that cannot be read: no other log depends on them."""


def in_the_logs_order(pipeline: Pipeline, sent: Sequence[Observed | Unreadable], dsn: str) -> list[TableDigest]:
    """Return the expected tables: facts as they were sent, and findings from the logs in Kafka."""
    by_log = {table.table: table for table in concluded(pipeline, f"{dsn}_logs")}
    return [table if table.table in AS_SENT else by_log[table.table] for table in replayed(sent, f"{dsn}_wanted")]


class _NoCheckpoints:
    """A replay asks the database for each hour of each cluster, and here nearly every observation is of another."""

    def load(self, *_: object) -> Mapping[str, bytes]:
        return {}

    def save(self, _: Sequence[Entry]) -> None:
        return


def replayed(sent: Sequence[Observed | Unreadable], dsn: str) -> list[TableDigest]:
    """Return the tables of a replay of all that was sent."""
    with connect(dsn) as database:
        migrate(database)
        with Lander(database) as lander:
            Replay(REDUCERS, lander, _NoCheckpoints()).run(map(decode, sent))
        return digest(database)


def concluded(pipeline: Pipeline, dsn: str) -> list[TableDigest]:
    """Return the findings from Kafka's records; samples and dead letters are left out."""
    fold, batch = Fold(REDUCERS), Batch()
    logs: defaultdict[tuple[str, bytes], LogState] = defaultdict(LogState)
    for message in _messages(pipeline):
        try:
            record = decode_record(message.value)
        except msgspec.MsgspecError:
            continue
        outputs = fold.step(logs[message.topic, message.key], record)
        batch.add([each for each in outputs if not isinstance(each, Record | Rejected | Withdrawal)])
    with connect(dsn) as database:
        migrate(database)
        land(database, batch)
        return digest(database)


def _messages(pipeline: Pipeline) -> Iterator[Any]:
    """Return the messages of both topics of records, each partition's in order; duplicates are there once."""
    topics = (pipeline.topics.nodes.name, pipeline.topics.cluster.name)
    known: set[tuple[str, bytes, str, bytes]] = set()
    for message in messages(pipeline.settings.kafka.bootstrap_servers, *topics):
        headers = dict(message.headers)
        names = {(message.topic, message.key, name, headers[name]) for name in (SENT, ORIGIN) if name in headers}
        if not names & known:
            yield message
        known |= names
