"""The folder of temporary files is full, through which an embedded database's inserts go."""

from itertools import islice
from pathlib import Path

import pytest

from components.clickhouse import ClickHouseHttp
from components.command import leadsman_process
from components.disk import Disk, why_no_disk
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest
from components.processes import free_port
from components.telemetry import why_not_ready
from faults.feeding import endless
from faults.result import Tried, note
from waiting import eventually

pytestmark = [
    pytest.mark.components("kafka"),
    pytest.mark.skipif(bool(why_no_disk()), reason=why_no_disk() or "one can be"),
]

OBSERVATIONS = 500


def test_nothing_is_lost_and_the_lander_reports_and_heals(kafka: Kafka, tmp_path: Path) -> None:
    observations = list(islice(endless(), 2 * OBSERVATIONS))
    pipeline = Pipeline(kafka, f"chdb://{tmp_path / 'db'}", tmp_path)
    port = free_port()
    with Disk(tmp_path / "tmp", 16) as disk, ClickHouseHttp(tmp_path / "wanted") as http:
        given = {"TMPDIR": str(disk.folder), "LEADSMAN_TELEMETRY__PORT": str(port)}
        environment = pipeline.environment("land", "0") | given
        lander = leadsman_process("land", folder=tmp_path, environment=environment)
        try:
            lander.start()
            pipeline.part("work", "0").start()
            pipeline.replay(observations[:OBSERVATIONS])
            pipeline.settle()
            disk.fill()
            pipeline.replay(observations[OBSERVATIONS:])
            reported = "No space left on device. See TMPDIR"
            eventually("the lander tells", lambda: reported in " ".join(why_not_ready(port)))
            assert pipeline.waiting() > 0
            disk.free()
            pipeline.settle()
            assert not why_not_ready(port)
        finally:
            lander.stop()
            pipeline.stop()
        assert pipeline.digest() == embedded_digest(observations, http.dsn("wanted"))
    note(
        Tried(fault="TMPDIR of a lander with an embedded database full", outcome="told, none lost, healed by itself")
    )
