"""Every sink keeps its promises, fed with all captures of the repository: files, Kafka's messages, tables."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, cast, get_args

import msgspec
import pyarrow as pa
import pytest

from common.errors import BadRecord
from fakes.publisher import Recorded
from ingest.files.capture import CaptureWriter, read_capture
from ingest.files.lines import Compression, SourceFile
from ingest.files.rotate import Rotation, open_capture
from ingest.files.sources import read_sources
from ingest.kafka.publish import Publisher
from ingest.kafka.replay import Feed
from ingest.model.observation import Observation, Observed, Unreadable
from ingest.model.records import (
    ForgetRecord,
    LogBeganRecord,
    NodeNumaRecord,
    PodActRecord,
    PublishedRecord,
    SummaryRecord,
)
from ingest.model.samples import pack
from ingest.model.topics import MAX_MESSAGE_BYTES, decode_record, encode_record, key_of, kind_of, topics
from ingest.normalize.dead_letters import Letter
from ingest.normalize.decode import decode
from ingest.normalize.normalize import normalize
from ingest.normalize.redact import Received, redact
from ingest.resources.stats_summary import STATS_SUMMARY
from paths import CAPTURES, EXAMPLES
from sql.landing.batches import SCHEMAS, Lander, from_columns, tables, to_arrow
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import Entry
from streams.fold.findings import TABLES, DeadLetter, Row
from streams.kafka.messages.findings import columns_of, decode_findings, encode_findings
from streams.local.replay import Replay

TOPICS: Final = topics()
EMITTED: Final = {ForgetRecord, LogBeganRecord, NodeNumaRecord, PodActRecord}
"""Records that reducers emit, and sources do not."""


@pytest.fixture(scope="module")
def items() -> list[Observed | Unreadable]:
    """Records of every capture, and of a dump, which implies facts about its pods."""
    sources = (*CAPTURES, EXAMPLES / "troubled-cluster.json")
    found = [item for source in sources for item in read_sources([source])]
    assert found
    return found


@pytest.fixture(scope="module")
def observations(items: list[Observed | Unreadable]) -> list[Observation]:
    """Without secrets, as a sink is given them."""
    found = [redact(item.observation) for item in items if isinstance(item, Observed)]
    assert found
    return found


class Batches:
    """A sink that keeps what it is given, and checkpoints beside it that keep nothing."""

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def write(self, batch: Batch) -> None:
        self.batches.append(batch)

    def drain(self) -> None: ...

    def load(self, *_: Any) -> dict[str, bytes]:
        return {}

    def save(self, entries: Sequence[Entry]) -> None: ...


@pytest.fixture(scope="module")
def batches() -> list[Batch]:
    sink = Batches()
    for capture in CAPTURES:
        Replay(REDUCERS, sink, sink).run(map(decode, read_sources([capture])))
    assert sink.batches
    return sink.batches


def rows_of(batches: Iterable[Batch]) -> dict[type[Row], list[Row]]:
    found: dict[type[Row], list[Row]] = {row_type: [] for row_type in TABLES}
    for batch in batches:
        for row_type, rows in batch.rows.items():
            found[row_type] += rows
    return found


def reported(observation: Observation) -> tuple[Any, ...]:
    """Return what a capture must hold of an observation; its managed fields and line breaks may go."""
    try:
        document = msgspec.json.decode(observation.object)
    except msgspec.DecodeError:
        document = bytes(observation.object)
    envelope = (observation.ts, observation.cluster, observation.source, observation.resource, observation.type)
    return (*envelope, observation.node, document)


def read(files: Iterable[Path]) -> list[Observation]:
    found: list[Observation] = []
    for path in files:
        with SourceFile(path) as file:
            for entry in read_capture(file):
                assert isinstance(entry, Observed)
                found.append(entry.observation)
    return found


@pytest.mark.parametrize("compression", get_args(Compression))
def test_a_capture_file_gives_back_every_observation_in_its_order(
    compression: Compression, observations: list[Observation], tmp_path: Path
) -> None:
    with closing(CaptureWriter(tmp_path / "c.jsonl", compression)) as writer:
        for observation in observations:
            writer.write(observation)
    assert list(map(reported, read([tmp_path / "c.jsonl"]))) == list(map(reported, observations))


def test_the_files_of_a_folder_together_give_back_every_observation(
    observations: list[Observation], tmp_path: Path
) -> None:
    writer = open_capture(tmp_path, "lab", Rotation(limit_bytes=2**20))
    for observation in observations:
        writer.write(observation)
    writer.close()
    files = sorted(tmp_path.iterdir())
    assert len(files) > 1
    assert list(map(reported, read(files))) == list(map(reported, observations))


def test_every_message_is_a_record_on_its_own_log_and_what_is_none_is_a_dead_letter(
    items: list[Observed | Unreadable],
) -> None:
    recorded = Recorded()
    feed = Feed(cast("Publisher", recorded), TOPICS)

    async def publish() -> None:
        for item in items:
            await feed.send(item)

    asyncio.run(publish())
    counted = Counter[str]()
    for sent in recorded.sent:
        headers = dict(sent.headers)
        assert len(sent.value) <= MAX_MESSAGE_BYTES
        counted[headers["kind"].decode()] += sent.topic != TOPICS.dead_letters.name
        if sent.topic == TOPICS.dead_letters.name:
            letter = Letter.read(sent.headers, sent.value)
            assert letter.error_type
            assert sent.key == key_of(letter.cluster, "")
            continue
        record = decode_record(sent.value)
        assert kind_of(record) == headers["kind"].decode()
        assert sent.topic == TOPICS.of(record).name
        assert sent.key == key_of(record.cluster, record.node)
    published = {str(each.__struct_config__.tag) for each in get_args(PublishedRecord) if each not in EMITTED}
    assert {kind: counted[kind] for kind in published if not counted[kind]} == {}
    assert feed.published.dead_letters.total() == sum(
        sent.topic == TOPICS.dead_letters.name for sent in recorded.sent
    )


def test_a_live_source_publishes_the_same_values_as_a_replay(items: list[Observed | Unreadable]) -> None:
    live, replayed = Recorded(), Recorded()

    async def publish() -> None:
        for item in items:
            if isinstance(item, Observed):
                await Feed(cast("Publisher", live), TOPICS).publish(Received(item.observation))
                await Feed(cast("Publisher", replayed), TOPICS).send(item)

    asyncio.run(publish())
    assert live.sent
    logs = {TOPICS.nodes.name, TOPICS.cluster.name}
    assert [sent[:3] for sent in live.sent if sent.topic in logs] == [
        sent[:3] for sent in replayed.sent if sent.topic in logs
    ]


@pytest.mark.parametrize("row_type", TABLES, ids=TABLES.get)
def test_rows_become_the_same_columns_whether_they_land_at_once_or_come_through_kafka(
    row_type: type[Row], batches: list[Batch]
) -> None:
    rows, table = rows_of(batches)[row_type], TABLES[row_type]
    assert len(rows) > 0, f"no capture of the repository gives a row of {table}"
    at_once = to_arrow(row_type, rows)
    assert at_once.num_rows == len(rows)
    assert at_once.schema == SCHEMAS[table]
    if row_type is not DeadLetter:  # they have a topic of their own
        message = encode_findings("c", "n", rows[0].ts, rows)
        assert from_columns(table, columns_of(decode_findings(message))[table]) == at_once


def test_samples_become_the_same_columns_whether_they_land_at_once_or_come_through_kafka(
    observations: list[Observation], batches: list[Batch]
) -> None:
    through_kafka = Batch()
    for observation in observations:
        if observation.resource != STATS_SUMMARY.name or observation.type == "ERROR":
            continue
        with suppress(BadRecord):
            for record in normalize(observation):
                message = msgspec.json.decode(encode_record(record), type=SummaryRecord)
                through_kafka.add_sample(message.folded(), pack(message.pods))
    at_once = Batch()
    for batch in batches:
        for name in ("keys", "samples", "numbers"):
            getattr(at_once, name).extend(getattr(batch, name))
        for name, texts in batch.texts.items():
            at_once.texts[name] += texts
    assert len(at_once.keys) > 0
    assert dict(tables(at_once)) == dict(tables(through_kafka))


def test_a_lander_inserts_every_row_of_every_table(batches: list[Batch]) -> None:
    database: Any = Inserted()
    with Lander(database) as lander:
        for batch in batches:
            lander.write(batch)
        lander.drain()
    expected = {TABLES[row_type]: len(rows) for row_type, rows in rows_of(batches).items()}
    expected["node_samples"] = sum(len(batch.keys) for batch in batches)
    expected["pod_samples"] = sum(key.pods for batch in batches for key in batch.keys)
    assert database.rows == expected
    assert all(expected.values())


class Inserted:
    """A database that counts the rows of each table."""

    embedded = False

    def __init__(self) -> None:
        self.rows = Counter[str]()

    def insert(self, table: str, columns: pa.Table, _token: str | None = None) -> None:
        assert columns.schema == SCHEMAS[table]
        self.rows[table] += columns.num_rows
