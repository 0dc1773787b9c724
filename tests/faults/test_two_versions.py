"""Two versions side by side: messages of either are read by both, and the program rolls forward and back.

Forward: land first, for it migrates, then work, then what sends. Back: the same in the opposite order; land stays,
since a lander refuses a schema that is newer than its own.
"""

import asyncio
import json
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from components.clickhouse import ClickHouseHttp
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest, examples
from components.processes import Process
from faults.feeding import Feeder, endless
from faults.form import ROLLS
from faults.result import Tried, note
from faults.versions import LATER, RESHAPED, WIDENED, next_version, part
from ingest.kafka.publish import Publisher
from paths import CAPTURES, ROOT
from sql.database.open import connect
from waiting import eventually

pytestmark = pytest.mark.components("kafka")

SCHEMA_NEWER = 6


class LaterPublisher(Publisher):
    """Sends what a later version may: every object has a field that this one does not know."""

    async def send(
        self,
        topic: str,
        key: bytes,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
        partition: int | None = None,
        *,
        follows: bool = False,
    ) -> asyncio.Future[None]:
        return await super().send(topic, key, _widened(value), headers, partition, follows=follows)


def _widened(value: bytes | None) -> bytes | None:
    if value is None:
        return None
    try:
        message = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return json.dumps(_with_more(message)).encode() if isinstance(message, dict) else value


def _with_more(value: object) -> object:
    if isinstance(value, list):
        return [_with_more(each) for each in value]
    if not isinstance(value, dict) or not value.keys() & {"kind", "metadata", "spec", "status", "sample"}:
        return value
    return {name: _with_more(each) for name, each in value.items()} | {"ofALaterVersion": {"deep": [1]}}


@pytest.fixture
def pipeline(kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path) -> Iterator[Pipeline]:
    with Pipeline(kafka, clickhouse.dsn(f"versions_{uuid.uuid4().hex[:8]}"), tmp_path) as running:
        yield running


def test_messages_of_a_later_version_give_the_same_rows(pipeline: Pipeline, clickhouse: ClickHouseHttp) -> None:
    """A default value is not sent: so each message lacks optional fields too. A dead letter holds its message whole,
    with the later version's additions, so only the number of rows of this table is the same.
    """
    for what in ("land", "work"):
        pipeline.part(what, "0").start()
    pipeline.replay(examples(CAPTURES), LaterPublisher)
    pipeline.settle()
    found, wanted = pipeline.digest(), embedded_digest(examples(CAPTURES), clickhouse.dsn("wanted"))
    assert [(each.table, each.rows) for each in found] == [(each.table, each.rows) for each in wanted]
    assert [each for each in found if each.table != "dead_letters"] == [
        each for each in wanted if each.table != "dead_letters"
    ]


def test_versions_roll_forward_and_back(pipeline: Pipeline, clickhouse: ClickHouseHttp, tmp_path: Path) -> None:
    later = next_version(tmp_path / "later")
    running: list[Process] = []

    def begin(code: Path, what: str, instance: str) -> Process:
        name = f"{what}-{instance}-{'later' if code == later else 'now'}"
        process = part(pipeline, code, what, instance, tmp_path / f"{name}.log")
        process.start()
        running.append(process)
        return process

    try:
        with Feeder(pipeline, endless()) as feeder:
            land, work = begin(ROOT, "land", "0"), begin(ROOT, "work", "0")
            eventually("the first rows are stored", lambda: _rows(pipeline) > 0)
            land.stop()
            begin(later, "land", "0")
            begin(later, "work", "1")
            for version in (later, ROOT) * ROLLS:
                _goes_on(pipeline)
                work.stop()
                work = begin(version, "work", "0")
            _goes_on(pipeline)
            eventually("rows of both versions are stored", lambda: _versions(pipeline) == [0, LATER])
            refused = begin(ROOT, "land", "1")
            assert refused.wait() == SCHEMA_NEWER, refused.last_lines()
            acknowledged = feeder.stop()
            pipeline.settle()
        found, wanted = pipeline.digest(), embedded_digest(feeder.sent, clickhouse.dsn("wanted"))
        assert [each for each in found if each.table != RESHAPED] == [
            each for each in wanted if each.table != RESHAPED
        ]
        with connect(pipeline.dsn) as database:
            lost = f"SELECT * FROM wanted.{RESHAPED} EXCEPT SELECT * FROM {RESHAPED}"
            assert not database.query(lost).rows
        assert _versions(pipeline) == [0, LATER]
        assert not [process.name for process in running if "Traceback" in process.log.read_text()]
    finally:
        for process in running:
            process.stop()
    rows = sum(each.rows for each in found)
    outcome = f"{ROLLS} times forward and back, {acknowledged:,} observations, {rows:,} rows, none lost, none doubled"
    note(Tried(fault="two versions in one group", outcome=outcome))


def _rows(pipeline: Pipeline) -> int:
    with connect(pipeline.dsn) as database:
        found = database.query("SELECT sum(total_rows) FROM system.tables WHERE database = currentDatabase()")
    return int(found.rows[0][0] or 0)


def _versions(pipeline: Pipeline) -> list[int]:
    with connect(pipeline.dsn) as database:
        return [later for (later,) in database.query(f"SELECT DISTINCT later FROM {WIDENED} ORDER BY later").rows]


def _goes_on(pipeline: Pipeline) -> None:
    before = _rows(pipeline)
    eventually("more rows are stored", lambda: _rows(pipeline) > before + 100)
