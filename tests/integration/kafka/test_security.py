"""Kafka with TLS, SCRAM and client certificates: all of our clients, Faust's too, and what a wrong secret gets."""

import asyncio
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from common.errors import KafkaUnusable
from common.supervise import Part, Supervisor
from components.command import COMMAND, leadsman, leadsman_process
from components.pipeline import embedded_digest, waiting
from components.processes import Process, free_port
from components.secured import PASSWORD, Authority, SecuredKafka
from components.telemetry import is_ready
from fakes.machine import Thread, write, write_checkpoints, write_sysfs
from ingest.files.sources import read_sources
from ingest.kafka.admin import ensure_topics
from leadsman.cli.up import LASTING
from leadsman.run.kafka import feed, make_topics
from leadsman.run.settings import Settings, load
from paths import SCENARIOS
from sql.database.open import connect
from sql.questions.digest import digest
from waiting import eventually

pytestmark = pytest.mark.components("kafka")

CAPTURE: Final = SCENARIOS / "evictions/capture.jsonl"
NO_KAFKA: Final = 8
CPU_STATE = '{"policyName":"static","defaultCpuSet":"0","entries":{"5f3a":{"w":"1"}},"checksum":2703986358}'
MEMORY_STATE = '{"policyName":"None","machineState":{},"entries":{},"checksum":4236770233}'


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    folder = tmp_path_factory.mktemp("secured")
    running = SecuredKafka(folder, Authority(folder, "authority"))
    running.kafka.start()
    try:
        yield running
    finally:
        running.kafka.stop()


class Configured:
    """A file of settings for one protocol, and parts that run with it."""

    def __init__(self, folder: Path, kafka: dict[str, Any], name: str) -> None:
        given = {"topic_prefix": name, "partitions": 2, **kafka}
        self.file = folder / "leadsman.yaml"
        work = {"state_seconds": 0.3}
        self.file.write_text(yaml.safe_dump({"db": f"chdb://{folder / 'db'}", "kafka": given, "work": work}))
        self.settings: Settings = load(self.file)
        self._folder = folder

    @contextmanager
    def part(self, name: str) -> Iterator[Process]:
        part = leadsman_process(name, f"--config={self.file}", folder=self._folder)
        part.start()
        try:
            yield part
        finally:
            part.stop()

    def replay(self) -> None:
        asyncio.run(feed(self.settings.kafka, read_sources([CAPTURE])))

    def waiting(self, part: str, *topics: str) -> int:
        kafka = self.settings.kafka
        names = [f"{kafka.topic_prefix}.{topic}" for topic in topics]
        group = f"{kafka.topic_prefix}-{part}"
        return waiting(kafka.bootstrap_servers, group, names, kafka.client_options())

    def is_worked(self) -> bool:
        return self.waiting("work", "nodes", "cluster") == 0

    def await_worked(self) -> None:
        eventually(f"all is folded; see {self._folder}", self.is_worked, every_seconds=0.3)

    def is_landed(self) -> bool:
        return self.is_worked() and self.waiting("land", "nodes", "findings", "dead-letters") == 0


def test_all_parts_use_tls_and_scram_and_nothing_logs_the_password(secured: SecuredKafka, tmp_path: Path) -> None:
    live = Configured(tmp_path, secured.settings_of("SASL_SSL", "SCRAM-SHA-512"), "scram")
    live.replay()
    with live.part("work") as work, live.part("land") as land:
        eventually(f"all is landed; see {tmp_path}", live.is_landed, every_seconds=0.3)
    logs = work.log.read_text() + land.log.read_text()
    assert PASSWORD not in logs
    assert "Traceback" not in logs
    with connect(live.settings.db.get_secret_value()) as database:
        landed = digest(database)
    assert landed == embedded_digest(read_sources([CAPTURE]), f"chdb://{tmp_path / 'embedded'}")


def test_a_worker_proves_itself_by_a_certificate(secured: SecuredKafka, tmp_path: Path) -> None:
    live = Configured(tmp_path, secured.settings_of("SSL"), "mtls")
    live.replay()
    assert not live.is_worked()
    with live.part("work") as work:
        live.await_worked()
        assert "Traceback" not in work.log.read_text()


def test_a_worker_logs_in_without_tls(secured: SecuredKafka, tmp_path: Path) -> None:
    live = Configured(tmp_path, secured.settings_of("SASL_PLAINTEXT", "PLAIN"), "plain")
    live.replay()
    assert not live.is_worked()
    with live.part("work") as work:
        live.await_worked()
        assert "Traceback" not in work.log.read_text()


def test_a_password_is_changed_without_a_restart_of_ours(secured: SecuredKafka, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text(f"{PASSWORD}\n")
    given = secured.settings_of("SASL_SSL") | {"password_file": str(password)}
    del given["password"]
    live = Configured(tmp_path, given, "rotated")
    live.replay()
    try:
        with live.part("work") as work:
            live.await_worked()
            before = work.pid
            secured.change_password("another-1")
            password.write_text("another-1\n")
            secured.kafka.restart()  # no connection of before is left
            live.replay()
            live.await_worked()
            assert work.pid == before
    finally:
        secured.change_password(PASSWORD)


def test_a_certificate_authority_is_changed_without_a_restart_of_ours(secured: SecuredKafka, tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text(Authority(tmp_path, "other").ca_file.read_text())
    settings = load(kafka=secured.settings_of("SASL_SSL") | {"ca_file": str(ca), "topic_prefix": "ca"})
    options = settings.kafka.client_options()
    servers = settings.kafka.bootstrap_servers
    with pytest.raises(KafkaUnusable):
        asyncio.run(ensure_topics(servers, [], options=options))
    ca.write_text(secured.authority.ca_file.read_text())
    assert asyncio.run(ensure_topics(servers, [], options=options)).missing == []


class Supervised:
    """A part of `up`, with a port of its own for its telemetry."""

    def __init__(self, folder: Path, kafka: dict[str, Any], name: str, *arguments: str) -> None:
        self.port = free_port()
        self.log = folder / f"{name}.log"
        file = folder / f"{name}.yaml"
        given: dict[str, Any] = {"kafka": kafka, "telemetry": {"port": self.port}}
        if name == "land":  # one process at a time has an embedded database; `alert` would read silences there
            given["db"] = f"chdb://{folder / 'db'}"
        file.write_text(yaml.safe_dump(given))
        command = (COMMAND, name, f"--config={file}", *arguments)
        self.part = Part(name, ("sh", "-c", f'exec "$@" >> {self.log} 2>&1', name, *command))

    def said(self, life: int) -> str:
        """Return its output until it ended for so many times: each life begins with its telemetry address."""
        lives = self.log.read_text().split("telemetry is served")
        return lives[life] if len(lives) > life else ""


@pytest.mark.asyncio
async def test_a_briefly_empty_ca_file_restarts_every_part_with_a_logged_reason(
    secured: SecuredKafka, tmp_path: Path
) -> None:
    """Regression: their cause died in the background, and they called themselves ready for ever."""
    ca, host = tmp_path / "ca.crt", tmp_path / "host"
    ca.write_text(secured.authority.ca_file.read_text())
    write_sysfs(host, [Thread(0, 0, 0, 0), Thread(1, 1, 0, 0)])
    write_checkpoints(host, CPU_STATE, MEMORY_STATE)
    kafka = secured.settings_of("SASL_SSL") | {"ca_file": str(ca), "topic_prefix": "empty-ca", "partitions": 2}
    agent = ("--node=n", "--into=kafka", f"--root={host}", "--interval=1")
    named = {"land": (), "work": (), "alert": ("--to=stdout",), "agent": agent}
    parts = [Supervised(tmp_path, kafka, name, *arguments) for name, arguments in named.items()]
    stop = asyncio.Event()
    supervisor = Supervisor([each.part for each in parts], lasting=LASTING, environment=os.environ)
    running = asyncio.ensure_future(supervisor.run(stop))
    try:
        await asyncio.to_thread(eventually, "all are ready", lambda: all(is_ready(each.port) for each in parts))
        folded = tmp_path / "work.log"  # the checkpoints' checksums are wrong
        await asyncio.to_thread(eventually, "it folds", lambda: "a reducer rejected a record" in folded.read_text())
        before = supervisor.pids
        ca.write_text("")
        await asyncio.to_thread(secured.kafka.restart)  # no connection of before is left
        write(host / "sys/devices/system/cpu/online", "0\n")  # something to tell
        why = f"Kafka cannot be used: kafka.ca_file: {ca} cannot be used"
        await asyncio.to_thread(eventually, "all said why", lambda: all(why in each.said(1) for each in parts), 300)
        assert not any(is_ready(each.port) for each in parts)
        ca.write_text(secured.authority.ca_file.read_text())
        await asyncio.to_thread(eventually, "all are ready again", lambda: all(is_ready(each.port) for each in parts))
        assert not before.items() & supervisor.pids.items()
    finally:
        stop.set()
        await running


@pytest.mark.parametrize(
    ("protocol", "over", "reported"),
    [
        ("SASL_SSL", {"password": "wrong-canary"}, "it rejected the user. Check kafka.username, kafka.password"),
        ("SASL_SSL", {"ca_file": "OTHER"}, "its certificate is not trusted"),
        ("SSL", {"certificate_file": None, "key_file": None}, "kafka.certificate_file if it requires one"),
        ("SASL_SSL", {"sasl_mechanism": "PLAIN", "username": "nobody"}, "it rejected the user"),
    ],
)
def test_a_refusal_by_kafka_is_reported_with_its_setting(
    secured: SecuredKafka, tmp_path: Path, protocol: str, over: dict[str, Any], reported: str
) -> None:
    given = secured.settings_of(protocol) | over
    if given.get("ca_file") == "OTHER":
        given["ca_file"] = str(Authority(tmp_path, "other").ca_file)
    with pytest.raises(KafkaUnusable, match=reported) as refused:
        asyncio.run(make_topics(load(kafka=given).kafka))
    gc.collect()  # a socket that was left open fails this test, not whichever runs when it is collected
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("command", [["work"], ["land"], ["agent", "--node=n", "--into=kafka"]])
def test_a_refused_part_ends_with_the_reason(secured: SecuredKafka, tmp_path: Path, command: list[str]) -> None:
    live = Configured(tmp_path, secured.settings_of("SASL_SSL") | {"password": "wrong-canary"}, "refused")
    done = leadsman(*command, f"--config={live.file}")
    assert done.returncode == NO_KAFKA
    assert "it rejected the user. Check kafka.username" in done.stderr
    assert "canary" not in done.stderr + done.stdout
