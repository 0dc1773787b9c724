"""/readyz and /metrics of running parts against real components: true while all is well, and while it is not."""

import json
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from components.clickhouse import ClickHouseHttp
from components.command import leadsman, leadsman_process, succeeds
from components.kafka import Kafka
from components.processes import free_port
from components.telemetry import get, is_ready, why_not_ready
from fakes.machine import Thread, write_checkpoints, write_sysfs
from paths import SCENARIOS
from waiting import eventually

pytestmark = pytest.mark.components("kafka")

CAPTURE = SCENARIOS / "evictions/capture.jsonl"
OTHER = SCENARIOS / "image_gc/capture.jsonl"
"""It has other nodes, and so other rows."""
USAGE = 2


class Part:
    """A part with its own settings and telemetry."""

    def __init__(self, name: str, folder: Path, given: dict[str, object], *flags: str) -> None:
        self.port = free_port()
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(given | {"telemetry": {"port": self.port}, "log": "json"}))
        self.process = leadsman_process(name, *flags, f"--config={file}", folder=folder)

    def is_ready(self) -> bool:
        return is_ready(self.port)

    def reasons(self) -> str:
        return " ".join(why_not_ready(self.port))

    def figure(self, name: str) -> float:
        """The sum over its labels."""
        families = text_string_to_metric_families(get(self.port, "metrics")[1])
        return sum(sample.value for family in families for sample in family.samples if sample.name == name)


@pytest.fixture
def given(kafka: Kafka, tmp_path: Path) -> Iterator[tuple[dict[str, object], ClickHouseHttp]]:
    with ClickHouseHttp(tmp_path / "db") as http:
        kafka_settings = {
            "bootstrap_servers": kafka.bootstrap_servers,
            "topic_prefix": f"r{uuid.uuid4().hex[:8]}",
            "partitions": 2,
        }
        yield {"db": http.dsn("ready"), "kafka": kafka_settings, "land": {"batch_seconds": 0.2}}, http


def test_parts_report_readiness_counts_and_a_database_that_is_away(
    given: tuple[dict[str, object], ClickHouseHttp], tmp_path: Path
) -> None:
    settings, http = given
    work, land = Part("work", tmp_path, settings), Part("land", tmp_path, settings)
    feed = tmp_path / "feed.yaml"
    feed.write_text(yaml.safe_dump(settings))
    try:
        for part in (land, work):
            part.process.start()
        for part in (land, work):
            part.process.await_ready(part.is_ready, 90)
        assert get(land.port, "healthz") == (200, '{"part": "land", "alive": true}')
        succeeds("replay", CAPTURE, "--into=kafka", f"--config={feed}", "--quiet")
        eventually("it is folded", lambda: work.figure("leadsman_folded_messages_total") > 0)
        eventually("it is landed", lambda: land.figure("leadsman_landed_messages_total") > 0)
        eventually("nothing is left", lambda: work.figure("leadsman_lag_messages") == 0)
        assert work.figure("leadsman_folded_timestamp_seconds") > time.time() - 600
        assert work.figure("leadsman_stage_seconds_count") > 0
        assert land.figure("leadsman_stage_seconds_count") > 0
        http.inject("read_only")
        succeeds("replay", OTHER, "--into=kafka", f"--config={feed}", "--quiet")
        eventually("land says so", lambda: "the database cannot be used now" in land.reasons())
        assert get(land.port, "healthz")[0] == 200
        http.heal()
        eventually("land is ready again", land.is_ready)
        assert land.figure("leadsman_land_refusals_total") > 0
        assert work.is_ready()
    finally:
        land.process.stop()
        work.process.stop()
    lines = [line for line in land.process.log.read_text().splitlines() if line.startswith("{")]
    reported = [json.loads(line) for line in lines]
    assert {"level", "timestamp", "event"} <= reported[0].keys()
    assert any(each["event"] == "not stored yet" for each in reported)


def test_a_port_that_is_taken_ends_the_part_with_both_settings_named(
    given: tuple[dict[str, object], ClickHouseHttp], tmp_path: Path
) -> None:
    settings, http = given
    file = tmp_path / "leadsman.yaml"
    file.write_text(yaml.safe_dump(settings | {"telemetry": {"port": http.port}}))
    done = leadsman("work", f"--config={file}")
    assert done.returncode == USAGE
    assert f"telemetry.host and telemetry.port: 127.0.0.1:{http.port} cannot be listened on" in done.stderr


def test_an_agent_that_writes_captures_reports_what_it_cannot_read(tmp_path: Path) -> None:
    write_sysfs(tmp_path / "host", [Thread(0, 0, 0, 0)])
    captures = tmp_path / "captures"
    flags = ("--node=n", f"--root={tmp_path / 'host'}", "--interval=1", f"--output={captures}")
    agent = Part("agent", tmp_path, {"watch": {"cluster": "lab"}}, *flags)
    agent.process.start()
    try:
        eventually("it tells what is not there", lambda: "cpu_manager_state: missing" in agent.reasons())
        write_checkpoints(tmp_path / "host", '{"policyName":"none"}', '{"policyName":"None"}')
        eventually("it is ready", agent.is_ready)
        assert agent.figure("leadsman_agent_looks_total") > 1
    finally:
        agent.process.stop()
    assert [file.name for file in captures.iterdir() if file.name.startswith("lab-n")]
