"""Progress of Kafka is stored, and rows and progress are lost together or apart; the engine is real."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from aiokafka import TopicPartition

from components.command import dsn
from components.rows import lose_newest, row, store
from sql.database.open import Database, connect
from sql.landing.portions import TRUSTED_SECONDS, LandedOffsets
from streams.fold.findings import NodeEvent, PodEnd
from streams.kafka.landing.resume import UNKNOWN, Landed

FIRST, SECOND = TopicPartition("x.findings", 0), TopicPartition("x.findings", 1)


@pytest.fixture
def database(migrated_folder: Path, tmp_path: Path) -> Iterator[Database]:
    folder = Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))
    with connect(dsn(folder)) as opened:
        yield opened


def at(first: int, second: int) -> Mapping[TopicPartition, Landed]:
    return {FIRST: Landed(first, first * 10), SECOND: Landed(second, second * 10)}


def age(database: Database, seconds: int) -> None:
    """Let all that is there be older."""
    columns = "kafka, topic, partition, written, end, timestamp_ms, lost_parts"
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


def test_a_lander_that_was_taken_over_does_not_overwrite_newer_progress(database: Database) -> None:
    stopped = LandedOffsets(database, "k")
    stopped.load()
    for number in range(1, 100):
        stopped.save(at(number, number))
    other = LandedOffsets(database, "k")
    other.load()
    other.save(at(200, 200))
    stopped.save(at(100, 100))
    assert LandedOffsets(database, "k").load() == at(200, 200)


def test_after_a_lost_part_only_older_progress_is_trusted(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    offsets.resume_from(at(5, 7))
    age(database, TRUSTED_SECONDS + 600)
    for number in (1, 2):
        store(database, row(NodeEvent, name=str(number)))
        offsets.save(at(10 * number, 10 * number))
    lose_newest(database, "node_events")
    assert offsets.load() == at(5, 7)
    offsets.save({FIRST: Landed(30, 300)})  # by who did not hear of it
    assert offsets.load() == at(5, 7)
    offsets.resume_from(at(5, 7))
    offsets.save({FIRST: Landed(8, 80)})
    assert LandedOffsets(database, "k").load() == {FIRST: Landed(8, 80), SECOND: Landed(7, 70)}


def test_where_nothing_is_older_than_a_lost_part_it_is_not_known_what_is_stored(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    offsets.load()
    offsets.save(at(5, 7))
    store(database, row(NodeEvent, name="1"))
    lose_newest(database, "node_events")
    assert offsets.load() == {FIRST: UNKNOWN, SECOND: UNKNOWN}


def test_a_part_that_was_lost_before_is_no_news(database: Database) -> None:
    store(database, row(NodeEvent, name="1"))
    lose_newest(database, "node_events")
    offsets = LandedOffsets(database, "k")
    offsets.load()
    offsets.resume_from(at(5, 7))
    assert LandedOffsets(database, "k").load() == at(5, 7)


def test_a_day_of_progress_takes_a_bounded_number_of_rows(database: Database) -> None:
    offsets = LandedOffsets(database, "k")
    for number in range(20):
        offsets.save(at(number, number))
    for days in (1, 2, 3):
        age(database, days * 86_400)
    ((rows,),) = database.query("SELECT count() FROM landed_offsets FINAL").rows
    assert rows <= 4  # the ten minutes may end in between


def test_a_part_that_was_written_earlier_and_lost_later_is_noticed(database: Database) -> None:
    store(database, row(NodeEvent, name="1"))
    store(database, row(PodEnd, pod="p"))
    lose_newest(database, "pod_ends")
    offsets = LandedOffsets(database, "k")
    offsets.load()
    offsets.resume_from(at(5, 7))
    lose_newest(database, "node_events")
    assert offsets.load() == {FIRST: UNKNOWN, SECOND: UNKNOWN}


def test_what_a_quiet_partition_stores_after_a_loss_is_stored(database: Database) -> None:
    """Its last row is well before the loss, so it has lost nothing, and need not be begun again."""
    offsets = LandedOffsets(database, "k")
    offsets.resume_from(at(5, 7))
    age(database, TRUSTED_SECONDS + 600)
    database.command("ALTER TABLE landed_offsets DELETE WHERE stored_at > now() - 600 SETTINGS mutations_sync = 2")
    store(database, row(NodeEvent, name="1"))
    lose_newest(database, "node_events")
    assert offsets.load() == at(5, 7)
    offsets.save(at(50, 70))
    assert offsets.load() == at(50, 70)


def test_parts_of_tables_that_are_not_landed_are_nothing_to_it(database: Database) -> None:
    database.command("CREATE TABLE neighbours (n UInt8) ENGINE = MergeTree ORDER BY n")
    database.command("INSERT INTO neighbours VALUES (1)")
    offsets = LandedOffsets(database, "k")
    offsets.resume_from(at(5, 7))
    lose_newest(database, "neighbours")
    assert offsets.load() == at(5, 7)
