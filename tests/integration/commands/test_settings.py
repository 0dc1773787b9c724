"""`leadsman config`, `validate` and `replay --into kafka` as a user types them."""

import time
import uuid
from pathlib import Path

import pytest

from components.captures import jsonl, pod
from components.cluster.kubernetes import Cluster
from components.command import leadsman, succeeds
from components.kafka import Kafka
from components.processes import HOST, free_port

SECRET = "canary-5c1e"  # noqa: S105  # it is to be found nowhere


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "leadsman.yaml"


def test_config_prints_what_is_in_force_and_no_secret(file: Path) -> None:
    file.write_text(
        f"db: http://u:{SECRET}@h:8123/leadsman\n"
        f"kafka: {{security_protocol: SASL_SSL, username: u, password: {SECRET}, partitions: 3}}\n"
        "watch: {cluster: prod}\n"
    )
    shown = succeeds("config", f"--config={file}", "--kafka=flag:9093")
    assert SECRET not in shown
    for line in ("bootstrap_servers: flag:9093", "partitions: 3", "cluster: prod", "password: '**********'"):
        assert line in shown


def test_config_can_be_used_as_a_file_again(file: Path, tmp_path: Path) -> None:
    file.write_text("kafka: {partitions: 3, topic_prefix: t}\nland: {batch_seconds: 2.5}\n")
    shown = succeeds("config", f"--config={file}", "--db=chdb://x")
    again = tmp_path / "again.yaml"
    again.write_text(shown)
    assert succeeds("config", f"--config={again}", "--db=chdb://x") == shown


def test_config_init_writes_a_file_once(file: Path, tmp_path: Path) -> None:
    assert succeeds("config", "init", cwd=tmp_path).startswith("leadsman.yaml: every setting")
    assert file.read_text() == succeeds("config", "init", "-")
    assert succeeds("config", f"--config={file}") == succeeds("config")
    again = leadsman("config", "init", file)
    assert (again.returncode, "exists; give another name" in again.stderr) == (2, True)


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        pytest.param("partitions", "kafka.partitions", id="wrong"),
        pytest.param("password", "security_protocol PLAINTEXT does not use password", id="of another protocol"),
    ],
)
def test_a_setting_that_cannot_be_is_named_and_its_value_is_not(file: Path, setting: str, says: str) -> None:
    file.write_text(f"kafka: {{{setting}: {SECRET}}}")
    done = leadsman("config", f"--config={file}")
    assert done.returncode == 2
    assert says in done.stderr
    assert SECRET not in done.stderr


def test_validate_says_of_each_connection_what_to_do(file: Path, kubeconfig: Path) -> None:
    file.write_text(
        f"db: http://u:{SECRET}@{HOST}:{free_port()}/leadsman\n"
        f"kafka: {{bootstrap_servers: '{HOST}:{free_port()}'}}\n"
        f"watch: {{kubeconfig: {kubeconfig}, resources: [nodes, pods]}}\n"
    )
    done = leadsman("validate", f"--config={file}")
    lines = done.stdout.splitlines()
    assert done.returncode == 9
    assert [line.partition(":")[0].split()[0] for line in lines] == ["Kafka", "database", "cluster"]
    assert all("NOT USABLE" in line for line in lines)
    assert "Check kafka.bootstrap_servers" in lines[0]
    assert "Check watch.kubeconfig" in lines[2]
    assert SECRET not in done.stdout + done.stderr


@pytest.mark.components("cluster")
def test_validate_finds_all_well_changes_nothing_and_misses_a_permission(
    kafka: Kafka, cluster: Cluster, tmp_path: Path
) -> None:
    def validated(user: str, kubelet: str) -> tuple[int, list[str]]:
        file = tmp_path / f"{user}.yaml"
        file.write_text(
            f"db: chdb://{tmp_path / 'db'}\n"
            f"kafka: {{bootstrap_servers: '{kafka.bootstrap_servers}', topic_prefix: v{uuid.uuid4().hex[:6]}}}\n"
            f"watch: {{kubeconfig: {cluster.kubeconfig(user)}, kubelet: {{access: '{kubelet}'}}}}\n"
        )
        done = leadsman("validate", f"--config={file}")
        return done.returncode, done.stdout.splitlines()

    succeeds("migrate", db=tmp_path / "db")
    status, lines = validated("admin", "off")  # another test's kubelet may be there
    assert status == 0
    assert "ok: will create" in lines[0]
    assert not [line for line in lines if "NOT USABLE" in line]
    status, lines = validated("nobody", "direct")
    assert status == 9
    refused = [line for line in lines if "NOT USABLE" in line]
    assert {line.split(": ")[1] for line in refused} == {
        *(f"{verb} {resource}" for verb in ("list", "watch") for resource in ("nodes", "pods", "events")),
        *(f"{verb} leases.coordination.k8s.io in default" for verb in ("create", "get", "update")),
    }
    assert all("not allowed: give the account this verb" in line for line in refused)
    assert "cluster: get nodes/configz: ok: not allowed: eviction thresholds are assumed" in lines
    assert any(
        line.startswith("cluster: get leases.coordination.k8s.io in kube-node-lease: ok: not") for line in lines
    )


@pytest.mark.components("kafka")
def test_a_replay_into_kafka_keeps_its_speed(kafka: Kafka, file: Path, tmp_path: Path) -> None:
    capture = tmp_path / "capture.jsonl"
    capture.write_text(jsonl([pod(f"12:00:{second:02}", f"p{second}", "n", type_="ADDED") for second in (1, 21, 41)]))
    file.write_text(
        f"kafka: {{bootstrap_servers: '{kafka.bootstrap_servers}', topic_prefix: s{uuid.uuid4().hex[:6]}}}"
    )
    seconds: list[float] = []
    for speed in ("max", "10"):
        began = time.monotonic()
        done = leadsman("replay", capture, "--into=kafka", f"--speed={speed}", f"--config={file}")
        seconds.append(time.monotonic() - began)
        # aiokafka warns of a topic that was made a moment ago and whose leader is not known everywhere yet
        assert done.returncode == 0, done.stderr
        assert "3 observations read, 6 records sent to Kafka" in done.stdout
    # 40 s at ten times real time
    assert seconds[1] > 4


@pytest.mark.parametrize("speed", ["0", "-1", "fast", "inf", "nan"])
def test_a_speed_that_is_none_is_refused(speed: str, tmp_path: Path) -> None:
    done = leadsman("replay", tmp_path, "--into=kafka", f"--speed={speed}")
    assert done.returncode == 2
    assert "is not a speed; write max, or a factor of real time" in " ".join(done.stderr.split())
