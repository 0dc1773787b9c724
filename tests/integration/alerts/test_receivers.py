"""Alerts go from their topic to receivers: a real Kafka, a real Alertmanager, and processes that are killed."""

import asyncio
import os
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from components.alertmanager import GROUP_INTERVAL_SECONDS, Alertmanager
from components.hook import Hook
from components.kafka import Kafka
from components.pipeline import Pipeline, waiting
from components.processes import Process, free_port
from components.programs.cache import require
from components.programs.extras import alertmanager_program
from components.rows import row
from ingest.files.sources import read_sources
from ingest.kafka.aiokafka_fixes import started
from ingest.model.topics import Headers
from paths import EXAMPLES, NODE_PRESSURE
from streams.alerting.holding import fingerprint
from streams.alerting.receivers.alert_states import WITHOUT_NEWS
from streams.alerting.receivers.choose import group_of
from streams.fold.findings import Alert
from streams.kafka.messages.alerts import alert_headers, encode_alert
from waiting import eventually, lasting, until

pytestmark = pytest.mark.components("kafka")

IMPATIENT = (
    "-c",
    """import runpy
from streams.alerting.receivers import pushing

pushing.DEADLINE_SECONDS = 1.0
runpy.run_module("leadsman", run_name="__main__")
""",
)
"""A program that parks after a second."""
KILLS = int(os.environ.get("LEADSMAN_KILLS", "3"))


@pytest.fixture
def hook() -> Iterator[Hook]:
    running = Hook()
    yield running
    running.close()


@pytest.fixture
def silent() -> Iterator[str]:
    """Accepts connections, and answers nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/hook"


@pytest.fixture
def pipeline(kafka: Kafka, tmp_path: Path) -> Iterator[Pipeline]:
    with Pipeline(kafka, f"chdb://{tmp_path}/db", tmp_path) as running:
        yield running


class Consumers:
    """`leadsman alert` processes of one pipeline."""

    def __init__(self, pipeline: Pipeline, folder: Path) -> None:
        self._pipeline = pipeline
        self._folder = folder
        self._started: list[Process] = []

    def start(self, *to: str, program: Sequence[str] = ("-m", "leadsman")) -> Process:
        flags = [flag for receiver in to for flag in ("--to", receiver)]
        number = len(self._started)
        process = Process(
            f"alert {number}",
            [sys.executable, *program, "alert", *flags],
            self._folder / f"alert-{number}.log",
            self._pipeline.environment("work", "alert"),
        )
        self._started.append(process)
        process.start()
        return process

    def stop(self) -> None:
        for process in self._started:
            process.kill()


@pytest.fixture
def consumers(pipeline: Pipeline, tmp_path: Path) -> Iterator[Consumers]:
    running = Consumers(pipeline, tmp_path)
    try:
        yield running
    finally:
        running.stop()


NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=10)


def alert(name: str, status: str = "firing", seconds: float = 0.0) -> Alert:
    labels = {"alertname": name, "severity": "warning", "cluster": "c", "node": "n"}
    at = NOW + timedelta(seconds=seconds)
    return row(
        Alert,
        ts=at,
        fingerprint=fingerprint(labels),
        alertname=name,
        status=status,
        starts_at=NOW,
        ends_at=at if status == "resolved" else None,
        labels=labels,
        annotations={"summary": name, "description": "d", "runbook_url": "http://x/"},
        node="n",
        updated_at=at,
    )


def send(pipeline: Pipeline, *alerts: Alert) -> None:
    pipeline.send(
        pipeline.topics.alerts.name,
        [message(each) for each in alerts],
    )


def message(alert: Alert) -> tuple[bytes, bytes, Headers]:
    return alert.fingerprint.encode(), encode_alert(alert), alert_headers(alert)


def test_the_recording_through_kafka_reports_each_alert_once(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    reported = consumers.start(f"webhook={hook.url}")
    # a receiver that comes later is told only what fires still
    reported.await_ready(lambda: "following the alerts" in reported.last_lines())
    pipeline.part("work", "0").start()
    pipeline.replay(read_sources([NODE_PRESSURE]))
    eventually("six alerts fired and were resolved", lambda: len(hook.bodies) >= 12)
    assert hook.statuses() == {
        ("ImageGCInsufficientFreed", "firing"): 1,
        ("ImageGCInsufficientFreed", "resolved"): 1,
        ("EvictionThresholdNear", "firing"): 2,
        ("EvictionThresholdNear", "resolved"): 2,
        ("PodsEvicted", "firing"): 2,
        ("PodsEvicted", "resolved"): 2,
        ("PodsRejected", "firing"): 1,
        ("PodsRejected", "resolved"): 1,
    }


def test_a_receiver_that_is_dead_slow_or_refuses_blocks_nothing_else(
    pipeline: Pipeline, consumers: Consumers, hook: Hook, silent: str
) -> None:
    slow, refusing, broken = Hook(delay_seconds=0.5), Hook(status=404), Hook(status=500)
    dead = f"http://127.0.0.1:{free_port()}/hook"
    log = consumers.start(*(f"webhook={url}" for url in (dead, silent, slow.url, refusing.url, broken.url, hook.url)))
    send(pipeline, *(alert(f"A{number}") for number in range(20)))
    eventually("the good receiver has all", lambda: len(hook.bodies) == 20)
    assert len(slow.bodies) < 20
    assert broken.bodies == []
    broken.status = 200
    eventually("the one that was broken has all", lambda: len(broken.statuses()) == 20)
    eventually("the slow one has all", lambda: len(slow.statuses()) == 20)
    eventually("the refusal is logged", lambda: "an alert was refused" in log.log.read_text())
    for each in (slow, refusing, broken):
        each.close()
    assert slow.statuses() == broken.statuses() == hook.statuses()
    assert refusing.bodies == []


def test_a_late_receiver_gets_firing_alerts_and_nothing_old(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    send(pipeline, alert("Old"), alert("Old", "resolved", 30), alert("Now"))
    consumers.start(f"webhook={hook.url}")
    eventually("what fires is told", lambda: len(hook.bodies) == 1)
    send(pipeline, alert("Now", "resolved", 60), alert("Next"))
    eventually("news are told", lambda: len(hook.bodies) == 3)
    assert hook.statuses() == {("Now", "firing"): 1, ("Now", "resolved"): 1, ("Next", "firing"): 1}


def test_an_alert_that_left_the_topic_is_nothing_to_deliver(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    old = alert("Old", "resolved", 30)
    withdrawal: list[tuple[bytes, None, Headers]] = [(old.fingerprint.encode(), None, [])]
    send(pipeline, alert("Old"), old)
    pipeline.send(pipeline.topics.alerts.name, withdrawal)
    consumer = consumers.start(f"webhook={hook.url}")
    consumer.await_ready(lambda: "following the alerts" in consumer.last_lines())
    pipeline.send(pipeline.topics.alerts.name, withdrawal)
    send(pipeline, alert("Next"))
    eventually("news are delivered", lambda: hook.statuses() == {("Next", "firing"): 1})
    assert "not an alert" not in consumer.log.read_text()


def test_kill_9_and_restart_neither_lose_nor_repeat_an_alert(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    total = 0
    for kill in range(KILLS):
        process = consumers.start(f"webhook={hook.url}")
        send(pipeline, *(alert(f"A{kill}-{number}") for number in range(40)))
        total += 40
        eventually("some are told", lambda: len(hook.bodies) > 80 * kill + 5)  # noqa: B023  # called at once
        process.kill()
        send(pipeline, *(alert(f"A{kill}-{number}", "resolved", 60) for number in range(40)))
    consumers.start(f"webhook={hook.url}")
    eventually("all fired and were resolved", lambda: sum(hook.statuses().values()) == 2 * total)
    servers, topic = pipeline.settings.kafka.bootstrap_servers, pipeline.topics.alerts.name
    group = group_of(pipeline.settings.kafka.topic_prefix, f"webhook={hook.url}")
    eventually("nothing is left to tell", lambda: waiting(servers, group, [topic]) == 0)
    assert set(hook.statuses().values()) == {1}
    assert len(hook.statuses()) == 2 * total


def test_a_parked_alert_is_retried_after_kill_9_until_it_is_accepted(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    group = group_of(pipeline.settings.kafka.topic_prefix, f"webhook={hook.url}")
    servers, topic = pipeline.settings.kafka.bootstrap_servers, pipeline.topics.alerts.name
    first = consumers.start(f"webhook={hook.url}", program=IMPATIENT)
    first.await_ready(lambda: "following the alerts" in first.last_lines())
    hook.status = 500
    send(pipeline, alert("A"))
    eventually("it is parked", lambda: "an alert is parked" in first.log.read_text())
    eventually("nothing waits for it", lambda: waiting(servers, group, [topic]) == 0)
    first.kill()
    hook.status = 200
    consumers.start(f"webhook={hook.url}")
    eventually("it is taken", lambda: hook.statuses() == {("A", "firing"): 1})
    eventually("it is parked no more", lambda: "parked" not in metadata(servers, group, topic))


def metadata(servers: str, group: str, topic: str) -> str:
    """Return the metadata of the group's commit of the topic's first partition."""

    async def read() -> str:
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        await admin.start()
        try:
            first = TopicPartition(topic, 0)
            return str((await admin.list_consumer_group_offsets(group, partitions=[first]))[first].metadata)
        finally:
            await admin.close()

    return asyncio.run(read())


def test_alerts_of_a_silent_cluster_end_as_unknown_and_fire_again_with_news(
    pipeline: Pipeline, consumers: Consumers, hook: Hook
) -> None:
    first = consumers.start(f"webhook={hook.url}")
    first.await_ready(lambda: "following the alerts" in first.last_lines())
    first.kill()
    long_ago = int((time.time() - WITHOUT_NEWS.total_seconds()) * 1000)
    (key, value, headers) = message(alert("A"))

    async def send_as_of_then() -> None:
        servers, topic = pipeline.settings.kafka.bootstrap_servers, pipeline.topics.alerts
        settings = {**topic.config(), "message.timestamp.type": "CreateTime"}
        async with (
            started(AIOKafkaAdminClient(bootstrap_servers=servers)) as admin,
            AIOKafkaProducer(bootstrap_servers=servers) as producer,
        ):
            await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name, settings)])

            async def is_as_of_then() -> bool:
                """Send the withdrawal of an alert that does not exist."""
                stored = await producer.send_and_wait(topic.name, None, b"-", timestamp_ms=long_ago)
                return bool(stored.timestamp == long_ago)

            await until(is_as_of_then)
            await producer.send_and_wait(topic.name, value, key, headers=headers, timestamp_ms=long_ago)

    asyncio.run(send_as_of_then())
    consumers.start(f"webhook={hook.url}")
    eventually("it has ended", lambda: len(hook.bodies) == 2)
    assert [(body["status"], body["reason"]) for body in hook.bodies] == [("firing", ""), ("resolved", "unknown")]
    assert hook.bodies[1]["annotations"]["summary"].startswith("No data since ")
    send(pipeline, alert("A", seconds=60))
    eventually("it fires again", lambda: len(hook.bodies) == 3)
    assert hook.bodies[2]["status"] == "firing"


def test_the_example_of_a_consumer_of_one_s_own_works(pipeline: Pipeline, tmp_path: Path) -> None:
    servers, topic = pipeline.settings.kafka.bootstrap_servers, pipeline.topics.alerts.name
    send(pipeline, alert("A"), alert("A", seconds=60), alert("A", "resolved", 90), alert("B"))
    example = Process(
        "example", [sys.executable, str(EXAMPLES / "alert_consumer.py"), servers, topic], tmp_path / "log"
    )
    example.start()
    try:
        eventually("all is told", lambda: len(example.last_lines().splitlines()) >= 3)
    finally:
        example.stop()
    assert sorted(example.last_lines().splitlines()) == ["firing A A", "firing B B", "resolved A A"]


def test_alertmanager_keeps_what_fires_and_resolves_the_rest_through_kill_9(
    pipeline: Pipeline, consumers: Consumers, hook: Hook, tmp_path: Path
) -> None:
    require(alertmanager_program)
    manager = Alertmanager(tmp_path, hook.url)
    manager.start()
    try:
        process = consumers.start(f"alertmanager={manager.url}")
        send(pipeline, *(alert(name) for name in "ABC"))
        eventually("three fire", lambda: len(manager.alerts()) == 3)
        first = manager.alerts()[0]
        assert first["startsAt"].startswith(NOW.isoformat()[:19])
        process.kill()
        send(pipeline, alert("A", "resolved", 60), alert("D"))
        process = consumers.start(f"alertmanager={manager.url}")
        eventually("B, C and D fire", lambda: names(manager) == set("BCD"))
        process.kill()
        manager.process.stop()
        manager.start()
        assert names(manager) == set(), "it keeps no alerts over a restart: whoever sends them has to know them"
        consumers.start(f"alertmanager={manager.url}")
        eventually("B, C and D fire again", lambda: names(manager) == set("BCD"))
        send(pipeline, *(alert(name, "resolved", 90) for name in "BCD"))
        eventually("all are resolved", lambda: names(manager) == set())
        eventually("all was told", lambda: len(notified(hook)) >= 8)
        lasting(2 * GROUP_INTERVAL_SECONDS)  # in which it could tell something again
        assert notified(hook) == {(name, status): 1 for name in "ABCD" for status in ("firing", "resolved")}
    finally:
        manager.process.stop()


def names(manager: Alertmanager) -> set[str]:
    """Return the names of the alerts that fire there."""
    return {each["labels"]["alertname"] for each in manager.alerts()}


def notified(hook: Hook) -> Counter[tuple[str, str]]:
    """Count what Alertmanager sent to its webhook."""
    return Counter((each["labels"]["alertname"], each["status"]) for body in hook.bodies for each in body["alerts"])
