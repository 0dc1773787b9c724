"""Secrets of a cluster are found nowhere behind a source: no log, topic, capture, dead letter or table.

They stand where people put them: in variables, arguments, probes, annotations, URLs, termination messages, and in
sentences that look like any other.
"""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from components.captures import event, observation, pod
from components.cluster.kubernetes import Cluster
from components.command import in_a_process as leadsman
from components.command import leadsman_process
from components.kafka import Kafka
from components.pipeline import waiting
from components.processes import free_port
from components.telemetry import get
from components.topics import messages, topics_with
from sql.database.open import Database, connect
from waiting import eventually

CANARY: Final = "canary-93d1b7"
SOUND: Final = "a-name-that-is-to-be-found"
SENTENCE: Final = f"the vault code is {CANARY}"
INCOMPLETE: Final = 3


def spec(**more: object) -> dict[str, Any]:
    """A container with a secret wherever one can stand."""
    probe = {"httpGet": {"port": 1, "httpHeaders": [{"name": "Authorization", "value": f"Bearer {CANARY}"}]}}
    return {
        "name": "c",
        "image": f"https://user:{CANARY}@registry.example/image",
        "command": ["sh", "-c", CANARY],
        "args": [f"--password={CANARY}"],
        "env": [{"name": "PASSWORD", "value": CANARY}],
        "livenessProbe": probe,
        "lifecycle": {"preStop": {"exec": {"command": [CANARY]}}},
        **more,
    }


CONDITION: Final = {"type": "example.com/Vault", "status": "False", "reason": "Sealed", "message": SENTENCE}
FREE_TEXTS: Final = (
    ("VaultSealed", SENTENCE),
    ("Unhealthy", f"Liveness probe failed: {SENTENCE}"),
    ("Failed", f'Failed to pull image "registry.example/x": {SENTENCE}'),
    ("FailedScheduling", f"0/3 nodes are available: 3 {SENTENCE}."),
    (SENTENCE, "it happened"),
)
"""Reasons and messages."""
ANNOTATIONS: Final = {"kubectl.kubernetes.io/last-applied-configuration": f'{{"x":"{CANARY}"}}', "note": CANARY}


def capture(folder: Path, *, free: bool = True) -> Path:
    """Captures of others without redaction: good lines, bad ones, and one that is cut off; `free` texts are for the
    strict mode, since nothing in them looks like a credential.
    """
    good = pod("12:00:01", SOUND, "n", type_="ADDED")
    good["object"]["metadata"]["annotations"] = ANNOTATIONS
    good["object"]["spec"]["containers"] = [spec()]
    good["object"]["status"]["containerStatuses"] = [
        {"name": "c", "state": {"terminated": {"exitCode": 1, "message": CANARY}}, "lastState": {}},
    ]
    said = SENTENCE if free else f"cannot log in: password={CANARY}"
    waits = {"waiting": {"reason": "Stuck", "message": said}}
    good["object"]["status"]["containerStatuses"].append({"name": "d", "state": waits, "lastState": {}})
    good["object"]["status"] |= {"reason": "Stuck", "message": said}
    good["object"]["status"]["conditions"] = [{**CONDITION, "message": said}]
    wrong = json.loads(json.dumps(good))
    wrong["object"]["metadata"]["name"] = 7
    unknown = good | {"resource": "secrets"}
    reported = event(
        "12:00:02", "e1", "Failed", f"cannot pull https://user:{CANARY}@registry.example/x: token={CANARY}"
    )
    failed = observation("12:00:03", "pods", {"error": f"GET https://u:{CANARY}@host/api failed"}, type_="ERROR")
    texts = FREE_TEXTS if free else [("Unhealthy", f"Liveness probe failed: login with {said}")]
    events = (event(f"12:00:04.{i}", f"free{i}", *each, node="n", kind="Warning") for i, each in enumerate(texts))
    lines = [json.dumps(each) for each in (good, wrong, unknown, reported, failed, *events)]
    cut = json.dumps(wrong | {"ts": "2026-07-01T12:00:09Z"})
    file = folder / "capture.jsonl"
    file.write_text("\n".join([*lines, cut[: cut.index('"livenessProbe"') - 30]]))
    return file


def tables_with(dsn: str, text: str) -> set[str]:
    """The tables that have a row in which the text stands. A view shows nothing but what tables have."""
    stored = "SELECT name FROM system.tables WHERE database = currentDatabase() AND engine != 'View'"
    with connect(dsn, make=False) as database:
        found = database.query(stored).rows
        return {str(name) for (name,) in found if _holds(database, str(name), text)}


def _holds(database: Database, table: str, text: str) -> bool:
    rows = f"SELECT toString(tuple(*)) AS row FROM `{table}`"
    counted = database.query(f"SELECT count() FROM ({rows}) WHERE position(row, {{text:String}}) > 0", {"text": text})
    return bool(counted.rows[0][0])


def _everything(servers: str, prefix: str) -> bytes:
    """Keys, values and headers of every message of every topic of ours, changelogs too."""
    found = messages(servers, *topics_with(servers, prefix))
    return b"\n".join(b" ".join([each.key or b"", each.value or b"", repr(each.headers).encode()]) for each in found)


def test_a_replay_leaves_no_secret_in_the_database_nor_in_what_it_prints(tmp_path: Path) -> None:
    done = leadsman("replay", capture(tmp_path, free=False), db=tmp_path / "db")
    assert done.returncode == INCOMPLETE
    assert CANARY not in done.stdout + done.stderr
    dsn = f"chdb://{tmp_path / 'db'}"
    assert "pod_bindings" in tables_with(dsn, SOUND)
    assert "dead_letters" in tables_with(dsn, SOUND)
    assert "node_events" in tables_with(dsn, "Liveness probe failed: login with cannot log in: password=[redacted]")
    assert tables_with(dsn, CANARY) == set()
    page = tmp_path / "page.html"
    assert leadsman("report", f"--output={page}", db=tmp_path / "db").returncode == 0
    assert "Liveness probe failed: " in page.read_text()
    assert CANARY not in page.read_text()


@pytest.mark.components("kafka")
def test_a_replay_leaves_no_secret_in_any_topic(kafka: Kafka, tmp_path: Path) -> None:
    prefix = f"c{uuid.uuid4().hex[:8]}"
    config = tmp_path / "leadsman.yaml"
    config.write_text(
        f"kafka: {{bootstrap_servers: '{kafka.bootstrap_servers}', topic_prefix: {prefix}, partitions: 1}}\n"
        "redact: strict\n"
    )
    done = leadsman("replay", capture(tmp_path), "--into=kafka", f"--config={config}")
    assert done.returncode == INCOMPLETE
    assert CANARY not in done.stdout + done.stderr
    everything = _everything(kafka.bootstrap_servers, prefix)
    assert everything.count(SOUND.encode()) > 1
    assert CANARY.encode() not in everything


@pytest.fixture
def namespace(cluster: Cluster) -> Iterator[str]:
    name = f"canary-{uuid.uuid4().hex[:8]}"
    cluster.make_namespace(name, annotations=ANNOTATIONS)
    yield name
    cluster.request("DELETE", f"/api/v1/namespaces/{name}")


@pytest.mark.components("cluster")
def test_what_is_watched_leaves_no_secret_anywhere(
    cluster: Cluster, kafka: Kafka, namespace: str, tmp_path: Path
) -> None:
    body = {
        "metadata": {"name": SOUND, "annotations": ANNOTATIONS},
        "spec": {"schedulerName": "nobody", "containers": [spec(image="none")], "terminationGracePeriodSeconds": 0},
    }
    cluster.request("POST", f"/api/v1/namespaces/{namespace}/pods", body)
    about = {"kind": "Pod", "namespace": namespace, "name": SOUND}
    reported = {
        "metadata": {"name": f"{SOUND}.1", "annotations": ANNOTATIONS},
        "involvedObject": about,
        "reason": "Failed",
        "message": f"Failed to pull https://user:{CANARY}@registry.example/x?token={CANARY}",
        "type": "Warning",
    }
    cluster.request("POST", f"/api/v1/namespaces/{namespace}/events", reported)
    for i, (reason, message) in enumerate(FREE_TEXTS):
        free = reported | {"metadata": {"name": f"{SOUND}.free{i}"}, "reason": reason, "message": message}
        cluster.request("POST", f"/api/v1/namespaces/{namespace}/events", free)
    status = {"status": {"conditions": [CONDITION], "reason": "Stuck", "message": SENTENCE}}
    cluster.request("PATCH", f"/api/v1/namespaces/{namespace}/pods/{SOUND}/status", status)
    prefix, port, dsn = f"c{uuid.uuid4().hex[:8]}", free_port(), f"chdb://{tmp_path / 'db'}"
    environment = {
        "LEADSMAN_KAFKA__TOPIC_PREFIX": prefix,
        "LEADSMAN_KAFKA__PARTITIONS": "1",
        "LEADSMAN_TELEMETRY__PORT": str(port),
        "LEADSMAN_WORK__STATE_SECONDS": "0.3",
        "LEADSMAN_UNUSED": CANARY,
        "LEADSMAN_REDACT": "strict",
    }
    flags = [f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off"]
    up_flags = (f"--kafka={kafka.bootstrap_servers}", f"--db={dsn}", "--no-leader-election", *flags)
    up = leadsman_process("up", *up_flags, folder=tmp_path, environment=environment)
    recording = leadsman_process("capture", f"--output={tmp_path / 'capture'}", "--strict", *flags, folder=tmp_path)
    up.start()
    recording.start()

    def landed() -> bool:
        parts = (("work", "cluster"), ("land", "findings"))
        seen = SOUND.encode() in _everything(kafka.bootstrap_servers, f"{prefix}.findings")
        return seen and all(
            waiting(kafka.bootstrap_servers, f"{prefix}-{part}", [f"{prefix}.{topic}"]) == 0 for part, topic in parts
        )

    try:
        up.await_ready(lambda: "watching begins" in up.last_lines())
        eventually("all is landed", landed)
        eventually("it is captured", lambda: SOUND in _text(tmp_path / "capture"))
        statuses, served = zip(*(get(each, "metrics") for each in range(port, port + 4)), strict=True)
    finally:
        recording.stop()
        up.stop()
    assert {"pod_bindings", "node_events"} <= tables_with(dsn, SOUND)
    assert tables_with(dsn, CANARY) == set()
    assert CANARY.encode() not in _everything(kafka.bootstrap_servers, prefix)
    assert CANARY not in _text(tmp_path / "capture") + up.log.read_text() + recording.log.read_text() + "".join(
        served
    )
    assert set(statuses) == {200}
    assert "leadsman_landed_messages_total" in "".join(served)


def _text(folder: Path) -> str:
    return "".join(file.read_text() for file in folder.glob("*"))
