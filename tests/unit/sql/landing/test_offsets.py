"""How far Kafka is stored, where rows and progress are lost together or apart; the engine is real."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from aiokafka import TopicPartition

from components.command import dsn
from components.rows import row, store
from sql.database.open import Database, connect
from sql.landing.offsets import TRUSTED_SECONDS, LandedOffsets
from streams.fold.findings import NodeEvent
from streams.kafka.landing.resume import UNKNOWN_MS, Landed

FIRST, SECOND = TopicPartition("x.findings", 0), TopicPartition("x.findings", 1)


@pytest.fixture
def database(migrated_folder: Path, tmp_path: Path) -> Iterator[Database]:
    folder = Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))
    with connect(dsn(folder)) as opened:
        yield opened


def at(first: int, second: int) -> Mapping[TopicPartition, Landed]:
    return {FIRST: Landed(first, first * 10), SECOND: Landed(second, second * 10)}


def lose_the_newest_part(database: Database, table: str) -> None:
    newest = "SELECT name FROM system.parts WHERE database = currentDatabase() AND table = {t:String} AND active"
    ((name,),) = database.query(f"{newest} ORDER BY min_block_number DESC LIMIT 1", {"t": table}).rows
    database.command(f"ALTER TABLE {table} DETACH PART '{name}'")


def age(database: Database, seconds: int) -> None:
    """Let all that is there be older."""
    columns = "kafka, topic, partition, written, end, timestamp_ms, lost_at"
    rows = f"SELECT {columns}, stored_at - {seconds} FROM landed_offsets"
    database.command(f"INSERT INTO landed_offsets ({columns}, stored_at) {rows}")


def test_the_last_of_each_partition_and_kafka_is_what_is_stored(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    assert offsets.load() == {}
    offsets.save(at(5, 7))
    offsets.save({FIRST: Landed(9, 90)})
    LandedOffsets(database, "another").save(at(1, 1))
    assert LandedOffsets(database, "k").load() == {FIRST: Landed(9, 90), SECOND: Landed(7, 70)}


def test_a_topic_that_was_made_anew_takes_the_offset_back(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    offsets.save(at(500, 500))
    offsets.save(at(3, 3))
    assert LandedOffsets(database, "k").load() == at(3, 3)


def test_who_was_stopped_and_taken_over_does_not_replace_what_was_written_since(database: Database) -> None:
    stopped = LandedOffsets(database, "k")
    stopped.load()
    for number in range(1, 100):
        stopped.save(at(number, number))
    other = LandedOffsets(database, "k")
    other.load()
    other.save(at(200, 200))
    stopped.save(at(100, 100))
    assert LandedOffsets(database, "k").load() == at(200, 200)


def test_after_a_part_of_any_table_is_lost_nothing_is_trusted_that_is_not_older(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    offsets.begin(at(5, 7))
    age(database, TRUSTED_SECONDS + 600)
    for number in (1, 2):
        store(database, row(NodeEvent, name=str(number)))
        offsets.save(at(10 * number, 10 * number))
    lose_the_newest_part(database, "node_events")
    assert offsets.load() == at(5, 7)
    offsets.save({FIRST: Landed(30, 300)})  # by who did not hear of it
    assert offsets.load() == at(5, 7)
    offsets.begin(at(5, 7))
    offsets.save({FIRST: Landed(8, 80)})
    assert LandedOffsets(database, "k").load() == {FIRST: Landed(8, 80), SECOND: Landed(7, 70)}


def test_where_nothing_is_older_than_a_lost_part_nothing_is_stored(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    offsets.load()
    offsets.save(at(5, 7))
    store(database, row(NodeEvent, name="1"))
    lose_the_newest_part(database, "node_events")
    nothing = Landed(0, UNKNOWN_MS)
    assert offsets.load() == {FIRST: nothing, SECOND: nothing}


def test_a_part_that_was_lost_before_is_no_news(database: Database) -> None:
    store(database, row(NodeEvent, name="1"))
    lose_the_newest_part(database, "node_events")
    offsets = LandedOffsets(database, "k")
    offsets.load()
    offsets.begin(at(5, 7))
    assert LandedOffsets(database, "k").load() == at(5, 7)


def test_a_day_of_progress_is_kept_in_a_bounded_number_of_rows(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    for number in range(20):
        offsets.save(at(number, number))
    for days in (1, 2, 3):
        age(database, days * 86_400)
    ((rows,),) = database.query("SELECT count() FROM landed_offsets FINAL").rows
    assert rows <= 4  # the ten minutes may end in between
