"""Through Kafka, Faust and landing comes what the embedded replay makes of the same, whatever is killed.

LEADSMAN_KILLS says how often; LEADSMAN_SEED repeats the moments.
"""

import json
import os
import random
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pytest

from components.captures import configz, event, node, observed
from components.clickhouse import ClickHouseHttp
from components.faulty import FRAIL, MET, POISON, SLOW_SEEK, WITH_FRAIL
from components.kafka import Kafka
from components.pipeline import Pipeline, Stuttering, embedded_digest, examples
from components.rows import dicts
from components.topics import messages
from ingest.files.fingerprint import fingerprint
from ingest.files.sources import read_sources
from paths import CAPTURES, NODE_PRESSURE, NUMA_KUBELETS, SCENARIOS
from profiles import NIGHT
from sql.database.open import connect
from sql.questions.digest import TableDigest
from waiting import eventually, lasting, unhurried

pytestmark = pytest.mark.components("kafka")

FLAT = ("evictions", "image_gc", "node_events", "pod_bindings", "node_samples", "pod_samples")
NUMA_OBSERVATIONS = 2_700
"""Two minutes and the start of the third."""
SILENCE = SCENARIOS / "silence" / "capture.jsonl"
LOST = ("drop_before", "drop_after", "error")
"""Before or after ClickHouse has stored it, and an error instead."""
NOT_STORED = "not stored yet"
PORTION = 400
"""Observations, samples of nodes among them."""
SOME = CAPTURES if NIGHT else tuple(each for each in CAPTURES if each not in {NODE_PRESSURE, SILENCE})
"""Captures for tests of what happens to parts: the two longest have four of ten observations."""
KILLS = int(os.environ.get("LEADSMAN_KILLS", "3"))
SEED = int(os.environ.get("LEADSMAN_SEED", str(random.randrange(1_000_000))))  # noqa: S311  # only moments of kills


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClickHouseHttp]:
    with ClickHouseHttp(tmp_path_factory.mktemp("pipeline") / "db") as running:
        yield running


@pytest.fixture(scope="module")
def expected(http: ClickHouseHttp) -> list[TableDigest]:
    """The digest of one copy of all captures, replayed without a broker."""
    return embedded_digest(examples(CAPTURES), http.dsn("embedded"))


@pytest.fixture(scope="module")
def expected_of_some(http: ClickHouseHttp) -> list[TableDigest]:
    """The digest of one copy of SOME."""
    return embedded_digest(examples(SOME), http.dsn("embedded_some"))


@pytest.fixture
def pipeline(
    kafka: Kafka, http: ClickHouseHttp, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Pipeline]:
    name = "".join(letter if letter.isalnum() else "_" for letter in request.node.name)
    with Pipeline(kafka, http.dsn(name), tmp_path) as running:
        yield running
    http.drop(name)


def test_two_workers_give_the_digest_of_the_embedded_replay(pipeline: Pipeline, expected: list[TableDigest]) -> None:
    """One alone does below, whatever happens to it. A consumer of flat topics can store the same rows."""
    pipeline.part("land", "0").start()
    for number in range(2):
        pipeline.part("work", str(number), LEADSMAN_WORK__FLAT=json.dumps(FLAT)).start()
    pipeline.replay(examples(CAPTURES))
    pipeline.settle()
    assert pipeline.digest() == expected
    with connect(pipeline.dsn) as database:
        for table in FLAT:
            found = messages(pipeline.settings.kafka.bootstrap_servers, pipeline.topics.flat(table).name)
            lines = "\n".join(each.value.decode() for each in found)
            database.command(f"CREATE TABLE flat_{table} AS {table}")
            taken = "SETTINGS date_time_input_format = 'best_effort' FORMAT JSONEachRow"
            database.command(f"INSERT INTO flat_{table} {taken} {lines}")
            rows, flat = (f"SELECT * EXCEPT landed_at FROM {each} FINAL" for each in (table, f"flat_{table}"))
            assert database.query(f"SELECT count() FROM ({rows})").rows != [(0,)], table
            assert database.query(f"({rows} EXCEPT {flat}) UNION ALL ({flat} EXCEPT {rows})").rows == [], table


def test_alerts_over_many_nodes_equal_those_of_the_embedded_replay(pipeline: Pipeline, http: ClickHouseHttp) -> None:
    observations = list(islice(read_sources([NUMA_KUBELETS]), NUMA_OBSERVATIONS))
    pipeline.part("land", "0").start()
    pipeline.part("work", "0").start()
    pipeline.part("work", "1").start()
    pipeline.replay(observations)
    expected = embedded_digest(observations, http.dsn("numa"))
    pipeline.settle()
    assert pipeline.digest() == expected
    with connect(pipeline.dsn) as database:
        fired = dicts(database, "SELECT DISTINCT node FROM alerts FINAL WHERE alertname = 'PodsRejected'")
    assert len(fired) > 1


def test_kill_9_at_any_time_loses_and_duplicates_nothing(pipeline: Pipeline, http: ClickHouseHttp) -> None:
    moments = random.Random(SEED)  # noqa: S311
    parts = [pipeline.part("work", "0"), pipeline.part("land", "0")]
    for part in parts:
        part.start()
    for number in range(KILLS):
        pipeline.replay(examples(SOME, number))
        lasting(moments.uniform(0.5, 5))
        part = moments.choice(parts)
        part.kill()
        part.start()
    pipeline.settle(60 + 20 * KILLS)
    everything = chain.from_iterable(examples(SOME, number) for number in range(KILLS))
    assert pipeline.digest() == embedded_digest(everything, http.dsn("killed")), f"LEADSMAN_SEED={SEED}"


def test_a_worker_without_memory_ends_and_loses_nothing(
    pipeline: Pipeline, expected_of_some: list[TableDigest]
) -> None:
    pipeline.part("land", "0").start()
    broken = pipeline.part("work", "0", "raising")
    broken.start()
    pipeline.replay(examples(SOME))
    assert broken.wait() == 1
    assert "no memory is left for a reducer" in broken.last_lines()
    pipeline.part("work", "0").start()
    pipeline.settle()
    assert pipeline.digest() == expected_of_some


def test_a_worker_goes_on_past_records_that_a_reducer_fails_on(pipeline: Pipeline, http: ClickHouseHttp) -> None:
    """Rows and dead letters of an embedded replay; every other reducer has folded them."""
    never = {"firstTimestamp": "9999-12-31T23:59:59Z", "lastTimestamp": "9999-12-31T23:59:59Z"}
    items = observed(
        [
            node("12:00:00", "n"),
            event("12:00:01", "a", POISON, "x", node="n"),
            event("12:00:02", "b", "Evicted", "The node had condition: [DiskPressure]. ", node="n", fields=never),
            configz("12:00:03", "evil", containerLogMaxFiles=2**62),
            event("12:00:04", "c", POISON, "x", node="n"),
            event("12:02:00", "d", "Rebooted", "x", node="n"),
            node("12:03:00", "n", pressure={"DiskPressure": "12:02:50"}),
        ]
    )
    worker = pipeline.part("work", "0", FRAIL)
    for part in (worker, pipeline.part("land", "0")):
        part.start()
    pipeline.replay(items)
    pipeline.settle()
    assert worker.runs
    with connect(pipeline.dsn) as database:
        letters = dicts(database, "SELECT error_type, reason FROM dead_letters ORDER BY ts")
        events = dicts(database, "SELECT name FROM node_events ORDER BY name")
        alerts = dicts(database, "SELECT DISTINCT alertname FROM alerts")
    failed, impossible = "reducer_failed", "impossible_time"
    assert [one["error_type"] for one in letters] == [failed, impossible, "wrong_type", failed]
    assert letters[0]["reason"].endswith("ZeroDivisionError: a")
    assert [one["name"] for one in events] == ["a", "b", "c", "d"]
    assert {"alertname": "DeadLetters"} in alerts
    local = embedded_digest(items, http.dsn("frail"), WITH_FRAIL)
    without = {"alerts"}  # whose words count dead letters as they reach the cluster's log
    assert [each for each in pipeline.digest() if each.table not in without] == [
        each for each in local if each.table not in without
    ]


def test_sigterm_in_the_middle_of_a_batch_ends_in_time_and_loses_nothing(
    pipeline: Pipeline, expected_of_some: list[TableDigest], tmp_path: Path
) -> None:
    pipeline.part("land", "0").start()
    met = tmp_path / "met"
    slow = pipeline.part("work", "0", "slow", **{MET: str(met)})
    slow.start()
    pipeline.replay(examples(SOME))
    eventually("the worker is in the middle of a batch", met.exists)
    slow.terminate()
    assert slow.wait(unhurried(25)) == 0
    pipeline.part("work", "0").start()
    pipeline.settle()
    assert pipeline.digest() == expected_of_some


def test_messages_read_while_a_worker_recovers_its_states_are_not_lost(
    pipeline: Pipeline, expected_of_some: list[TableDigest]
) -> None:
    """Faust emptied its streams' queues after it had filled them; what was in them came late, or never."""
    pipeline.part("land", "0").start()
    observations = list(examples(SOME))
    half = len(observations) // 2
    pipeline.replay(observations[:half])
    first = pipeline.part("work", "0")
    first.start()
    pipeline.settle()
    first.stop()
    pipeline.replay(observations[half:])
    pipeline.part("work", "0", SLOW_SEEK).start()
    pipeline.settle()
    assert pipeline.digest() == expected_of_some


def test_messages_that_a_publisher_repeats_are_folded_once(
    pipeline: Pipeline, expected_of_some: list[TableDigest]
) -> None:
    pipeline.part("land", "0").start()
    pipeline.part("work", "0").start()
    pipeline.replay(examples(SOME), Stuttering)
    pipeline.settle()
    assert pipeline.digest() == expected_of_some


def test_the_same_input_twice_gives_the_same_rows(pipeline: Pipeline, expected_of_some: list[TableDigest]) -> None:
    """Also where the first replay was cut off, and a worker restarted between the two."""
    pipeline.part("land", "0").start()
    work = pipeline.part("work", "0")
    work.start()
    name = fingerprint(SOME)
    items = list(examples(SOME))
    pipeline.replay(items[: len(items) // 3], name=name)
    pipeline.settle()
    pipeline.replay(items, name=name)
    pipeline.settle()
    work.kill()
    work.start()
    pipeline.replay(items, name=name)
    pipeline.settle()
    assert pipeline.digest() == expected_of_some


def test_a_poison_message_becomes_a_dead_letter_and_the_partition_goes_on(
    pipeline: Pipeline, expected_of_some: list[TableDigest]
) -> None:
    summary = [("kind", b"summary")]
    poison = [
        (b"c/n", b"no JSON", []),
        (b"c/n", b'{"kind":"of a later version","ts":"2026-07-01T12:00:00Z","cluster":"c"}', []),
        (b"c/n", b"[" * 100_000, []),
        (b"c/n", b'{"kind":"summary"}', summary),
        (b"\xff/\xff", b"\xff\xfe", summary),
        (b"", b"", []),
    ]
    pipeline.part("land", "0").start()
    pipeline.part("work", "0").start()
    pipeline.send(pipeline.topics.nodes.name, poison)
    pipeline.send(pipeline.topics.findings.name, [(b"c/n", b'{"kind":"findings"}', [])])
    pipeline.replay(examples(SOME))
    pipeline.settle()
    with connect(pipeline.dsn) as database:
        letters = dicts(database, "SELECT * FROM dead_letters WHERE error_type = 'not_a_record'")
        database.command("ALTER TABLE dead_letters DELETE WHERE error_type = 'not_a_record'")
    assert len(letters) == len(poison) + 1
    assert {one["source"] for one in letters} == {pipeline.topics.nodes.name, pipeline.topics.findings.name}
    assert all(one["reason"] and one["position"].startswith(one["source"]) for one in letters)
    assert {one["payload"][:7] for one in letters} >= {"no JSON", "[" * 7, ""}
    assert pipeline.digest() == expected_of_some


def test_lost_answers_of_clickhouse_duplicate_nothing(
    pipeline: Pipeline, http: ClickHouseHttp, expected: list[TableDigest]
) -> None:
    """One after the other: the lander writes of each that it is not stored yet."""
    lander = pipeline.part("land", "0")
    lander.start()
    pipeline.part("work", "0").start()
    items = examples(CAPTURES)
    for fault in LOST:
        pipeline.replay(islice(items, PORTION))
        pipeline.settle()
        reported = lander.log.read_text().count(NOT_STORED)
        http.inject(fault, "node_samples")
        pipeline.replay(islice(items, PORTION // 2))
        pipeline.settle()
        assert lander.log.read_text().count(NOT_STORED) > reported, fault
    pipeline.replay(items)
    pipeline.settle()
    assert pipeline.digest() == expected
