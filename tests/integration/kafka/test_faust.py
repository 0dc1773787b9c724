"""`faust -A leadsman.faust worker` is a worker as `leadsman work` is: it makes the topics, and concludes."""

import signal
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from components.command import ENVIRONMENT, in_a_process
from components.kafka import Kafka
from components.topics import messages, topics_with
from paths import NODE_PRESSURE, ROOT
from waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.components("kafka")


def test_fausts_own_command_runs_a_worker(kafka: Kafka, tmp_path: Path) -> None:
    prefix = f"faust-{uuid.uuid4().hex[:8]}"
    environment = {
        **ENVIRONMENT,
        "LEADSMAN_KAFKA__BOOTSTRAP_SERVERS": kafka.bootstrap_servers,
        "LEADSMAN_KAFKA__TOPIC_PREFIX": prefix,
        "LEADSMAN_KAFKA__PARTITIONS": "2",
    }
    command: list[str | Path] = [
        Path(sys.executable).with_name("faust"),
        "-A",
        "leadsman.faust",
        "worker",
        "-l",
        "warn",
    ]
    log = tmp_path / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=out) as worker,
    ):
        try:
            eventually("topics", lambda: worker.poll() is not None or topics_with(kafka.bootstrap_servers, prefix))
            settings = tmp_path / "leadsman.yaml"
            settings.write_text(
                f"kafka: {{bootstrap_servers: '{kafka.bootstrap_servers}', topic_prefix: {prefix}, partitions: 2}}\n"
            )
            done = in_a_process("replay", NODE_PRESSURE, "--into=kafka", "--config", settings)
            assert done.returncode == 0, done.stderr
            eventually(
                "findings",
                lambda: worker.poll() is not None or messages(kafka.bootstrap_servers, f"{prefix}.findings"),
            )
            assert worker.poll() is None, log.read_text()
        finally:
            worker.send_signal(signal.SIGTERM)
            worker.wait(PATIENCE_SECONDS)
    assert "Traceback" not in log.read_text()
