"""One bad neighbour: a log that is flooded keeps no other, and an alert that its receiver refuses keeps no other."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from components.clickhouse import ClickHouseHttp
from components.hook import Hook
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest, examples
from components.processes import Process
from components.rows import dicts
from faults.form import LONG
from faults.result import Tried, note
from integration.alerts.test_receivers import alert, send
from paths import NODE_PRESSURE
from sql.database.open import connect
from streams.alerting.receivers.posting import DEADLINE_SECONDS
from streams.kafka.worker import MAX_DEAD_LETTERS_IN_A_ROW
from waiting import eventually

pytestmark = pytest.mark.components("kafka")

FLOOD = MAX_DEAD_LETTERS_IN_A_ROW + 1
ALERTS = 20
PARKED_AFTER_SECONDS = DEADLINE_SECONDS if LONG else 3.0
IMPATIENT = f"""\
import streams.alerting.receivers.pushing as pushing
pushing.DEADLINE_SECONDS, pushing.ROUND_SECONDS = {PARKED_AFTER_SECONDS}, 1.0
from leadsman.__main__ import main
main()
"""
"""The program, whose alerts are parked sooner, and retried sooner."""


@pytest.fixture
def hook() -> Iterator[Hook]:
    running = Hook(failing="Bad")
    yield running
    running.close()


def test_a_flood_of_non_records_on_one_log_is_reported_and_blocks_no_other(
    kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> None:
    observations = list(examples([NODE_PRESSURE]))
    half = len(observations) // 2
    with Pipeline(kafka, clickhouse.dsn("flooded"), tmp_path) as pipeline:
        parts = [pipeline.part("work", "0"), pipeline.part("land", "0")]
        for part in parts:
            part.start()
        pids = [part.pid for part in parts]
        pipeline.replay(observations[:half])
        for topic, key in ((pipeline.topics.nodes, b"flooder/n"), (pipeline.topics.cluster, b"flooder")):
            pipeline.send(topic.name, [(key, b"no record", [])] * FLOOD)
        pipeline.replay(observations[half:])
        pipeline.settle()
        assert [part.pid for part in parts] == pids
        with connect(pipeline.dsn) as database:
            said = dicts(database, "SELECT error FROM source_errors WHERE cluster = 'flooder'")
            database.command("ALTER TABLE source_errors DELETE WHERE cluster = 'flooder'")
            database.command("ALTER TABLE dead_letters DELETE WHERE error_type = 'not_a_record'")
        assert len(said) == 2
        assert all(each["error"].startswith(f"flood: {FLOOD:,} messages in a row") for each in said)
        assert pipeline.digest() == embedded_digest(observations, clickhouse.dsn("wanted"))
    outcome = f"worker and lander went on, {len(said)} floods reported, of the other logs none lost, none doubled"
    note(Tried(fault=f"2 logs flooded with {FLOOD:,} messages each that are not records", outcome=outcome))


def test_an_alert_that_its_webhook_refuses_is_parked_and_the_others_go_on(
    kafka: Kafka, tmp_path: Path, hook: Hook
) -> None:
    with Pipeline(kafka, f"chdb://{tmp_path}/db", tmp_path) as pipeline:
        argv = [sys.executable, "-c", IMPATIENT, "alert", "--to", f"webhook={hook.url}"]
        consumer = Process("alert", argv, tmp_path / "alert.log", pipeline.environment("work", "alert"))
        try:
            consumer.start()
            send(pipeline, alert("Bad"), *(alert(f"A{number}") for number in range(ALERTS)))
            eventually("those beside it are delivered", lambda: len(hook.statuses()) == ALERTS)
            eventually("it is parked", lambda: "an alert is parked" in consumer.log.read_text())
            send(pipeline, *(alert(f"A{number}", "resolved", 60) for number in range(ALERTS)))
            eventually("those behind it are delivered", lambda: len(hook.statuses()) == 2 * ALERTS)
            hook.failing = ""
            eventually("it is delivered at last", lambda: ("Bad", "firing") in hook.statuses())
        finally:
            consumer.kill()
        assert set(hook.statuses().values()) == {1}
    outcome = f"parked after {PARKED_AFTER_SECONDS:.0f} s and logged, {2 * ALERTS} others delivered once, then it too"
    note(Tried(fault="a webhook that answers 500 to one alert", outcome=outcome))
