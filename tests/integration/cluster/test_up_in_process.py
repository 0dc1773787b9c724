"""`leadsman up` without Kafka: one process that watches a real cluster, kept through kills, and its page."""

import json
import os
import re
import signal
import socket
import threading
import time
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from components.clickhouse import ClickHouseHttp
from components.cluster.kubelet import RealNode
from components.cluster.kubernetes import ApiError, Cluster
from components.command import leadsman, leadsman_process, succeeds
from components.kafka import Kafka
from components.page.browser import browse
from components.pipeline import Pipeline
from components.processes import HOST, Process, free_port
from ingest.files.sources import read_sources
from integration.cluster.node_story import (
    CANARY,
    GROWER,
    await_eviction,
    check_story,
    pin,
    restored,
    start_growing,
    watch_flags,
)
from profiles import NIGHT
from sql.database.open import connect
from sql.questions.digest import digest
from waiting import PATIENCE_SECONDS, eventually, unhurried

pytestmark = pytest.mark.components("cluster")

PICTURES: Final = os.environ.get("LEADSMAN_UP_PICTURES", "")
KILLS: Final = int(os.environ.get("LEADSMAN_KILLS", "3" if NIGHT else "2"))
FIRST_SECONDS: Final = 30.0
SHOWN_SECONDS: Final = 15.0
BESIDE: Final = (
    ("query", "evicted_pods", "-o", "json"),
    ("query", "--sql", "SELECT pod FROM evictions"),
    ("fit", "--cpu", "1m", "-o", "json"),
    ("report",),
)
"""Commands that are run while `up` holds the database."""
BROKEN: Final = "not-ready-before-up"
EVICTED: Final = re.compile(r"1 pod evicted for memory|Memory: 1 pod evicted, ")
"""The title of the card, alone or with what else holds of the node's memory."""
NOT_READY: Final = re.compile(r"\d+ of \d+ nodes? not Ready")


def _up(folder: Path, *flags: str) -> Process:
    return leadsman_process(
        "up", f"--db=chdb://{folder / 'db'}", f"--capture={folder / 'kept'}", *flags, folder=folder
    )


class _Hook(NamedTuple):
    url: str
    alerts: list[tuple[str, str]]
    """Name and status of each alert that was posted."""
    nodes: list[str]
    """The node of each, or nothing."""


@contextmanager
def _hook() -> Iterator[_Hook]:
    alerts: list[tuple[str, str]] = []
    nodes: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            alert = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            alerts.append((alert["labels"]["alertname"], alert["status"]))
            nodes.append(alert["labels"].get("node", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
            """Quiet."""

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            yield _Hook(f"http://{HOST}:{server.server_address[1]}/", alerts, nodes)
        finally:
            server.shutdown()
            serving.join()


@contextmanager
def _running(up: Process) -> Iterator[None]:
    try:
        _start(up)
        yield
        up.terminate()
        assert up.wait() == 0
    finally:
        up.stop()


def _start(up: Process) -> None:
    """Returns when the page is served."""
    served = "is at http"
    before = up.log.read_text().count(served) if up.log.exists() else 0
    up.start()
    up.await_ready(lambda: up.log.read_text().count(served) > before)


def _page(port: int) -> str:
    with urllib.request.urlopen(f"http://{HOST}:{port}/?last=1h", timeout=PATIENCE_SECONDS) as answer:
        return str(answer.read().decode())


def _is_replayed(folder: Path) -> None:
    """The database has what a replay of all that was observed gives."""
    succeeds("replay", "--quiet", folder / "kept", db=folder / "again")
    assert succeeds("digest", db=folder / "db") == succeeds("digest", db=folder / "again")


def _picture(port: int, name: str) -> None:
    """Save pictures of the page for people if LEADSMAN_UP_PICTURES names a folder."""
    if PICTURES:
        step = {"url": f"http://{HOST}:{port}/", "width": 1200, "height": 900, "scheme": "light"}
        browse([{**step, "actions": [["wait", 500]], "picture": f"{PICTURES}/{name}.png"}])


class Evicted(NamedTuple):
    """An `up` that has ended, and what it showed while a pod was evicted from a real node."""

    folder: Path
    first_seconds: float
    """Most time from its start to a finding on its page."""
    shown_seconds: float
    """Most time from the eviction to its place on the page."""
    threshold: int
    answers: tuple[str, ...]
    """Lines that BESIDE printed while it ran."""
    delivered: Counter[tuple[str, str]]
    delivered_after_a_restart: Counter[tuple[str, str]]


@pytest.fixture(scope="module")
def evicted(real_node: RealNode, tmp_path_factory: pytest.TempPathFactory) -> Evicted:
    folder, port = tmp_path_factory.mktemp("evicted"), free_port()
    with restored(real_node), _a_node_that_is_not_ready(real_node.cluster), _hook() as hook:
        up = _up(folder, f"--port={port}", f"--to=webhook={hook.url}", *watch_flags(real_node))
        started_at = time.monotonic()
        with _running(up):
            eventually("the broken node is on the page", lambda: NOT_READY.search(_page(port)), every_seconds=1)
            first_seconds = time.monotonic() - started_at
            _picture(port, "up-first-finding")
            pin(real_node)
            threshold = start_growing(real_node)
            real_node.await_phase(GROWER, "Failed")
            evicted_at = time.monotonic()
            eventually("the eviction is on the page", lambda: EVICTED.search(_page(port)), every_seconds=1)
            shown_seconds = time.monotonic() - evicted_at
            await_eviction(real_node)
            _picture(port, "up-eviction")
            eventually("the alert was reported", lambda: "PodsEvicted firing" in up.log.read_text())
            eventually("the alert was delivered", lambda: ("PodsEvicted", "firing") in hook.alerts)
            answers = tuple(leadsman(*each, db=folder / "db", cwd=folder).stdout for each in BESIDE)
        before = Counter(hook.alerts)
        with _running(up):
            eventually("it resumed", lambda: _page(port))
    return Evicted(folder, first_seconds, shown_seconds, threshold, answers, before, Counter(hook.alerts))


@contextmanager
def _a_node_that_is_not_ready(cluster: Cluster) -> Iterator[None]:
    conditions = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
    cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": BROKEN}})
    try:
        cluster.request("PATCH", f"/api/v1/nodes/{BROKEN}/status", {"status": {"conditions": conditions}})
        yield
    finally:
        cluster.request("DELETE", f"/api/v1/nodes/{BROKEN}")


def test_the_page_has_a_finding_soon_after_the_start_and_an_eviction_soon_after_it(evicted: Evicted) -> None:
    assert evicted.first_seconds < unhurried(FIRST_SECONDS)
    assert evicted.shown_seconds < unhurried(SHOWN_SECONDS)


def test_commands_beside_it_are_answered(evicted: Evicted) -> None:
    pods, own, fit, _ = evicted.answers
    assert GROWER in pods
    assert GROWER in own
    assert json.loads(fit)["nodes"]
    assert EVICTED.search((evicted.folder / "report.html").read_text())


def test_alerts_are_delivered_once_without_kafka(evicted: Evicted) -> None:
    assert evicted.delivered["PodsEvicted", "firing"] == 1
    assert evicted.delivered_after_a_restart["PodsEvicted", "firing"] == 1


def test_sql_has_the_story_of_the_real_node(evicted: Evicted, real_node: RealNode) -> None:
    with connect(f"chdb://{evicted.folder / 'db'}", read_only=True) as db:
        check_story(db, real_node, evicted.threshold)
    _is_replayed(evicted.folder)
    kept = _captured(evicted.folder / "kept")
    assert (GROWER in kept, CANARY in kept) == (True, False)


def test_kafka_s_pipeline_makes_the_same_rows_of_what_it_observed(
    evicted: Evicted, kafka: Kafka, clickhouse: ClickHouseHttp, tmp_path: Path
) -> None:
    with Pipeline(kafka, clickhouse.dsn("kept"), tmp_path) as pipeline:
        pipeline.part("land", "0").start()
        pipeline.part("work", "0").start()
        pipeline.replay(read_sources([evicted.folder / "kept"]))
        pipeline.settle()
        with connect(f"chdb://{evicted.folder / 'db'}", read_only=True) as db:
            assert pipeline.digest() == digest(db)


def test_after_repeated_kills_the_database_equals_a_replay_of_the_capture(cluster: Cluster, tmp_path: Path) -> None:
    """And its receiver has each alert, twice only if the kill came while it was sent."""
    with _hook() as hook:
        _kill_again_and_again(cluster, tmp_path, hook)
    reported = zip(hook.nodes, hook.alerts, strict=True)
    evicted_on = Counter(node for node, alert in reported if alert == ("PodsEvicted", "firing"))
    assert evicted_on.keys() == {f"killed-{kill}" for kill in range(KILLS)}
    assert max(evicted_on.values()) <= 2
    _is_replayed(tmp_path)


def _kill_again_and_again(cluster: Cluster, tmp_path: Path, hook: _Hook) -> None:
    namespace = f"kills-{uuid.uuid4().hex[:8]}"
    cluster.make_namespace(namespace)
    pods = f"/api/v1/namespaces/{namespace}/pods"
    to = f"--to=webhook={hook.url}"
    up = _up(tmp_path, "--port=0", f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off", "--cluster=killed", to)
    made = 0
    for kill in range(KILLS):
        try:
            _start(up)
            _evict(cluster, pods, f"evicted-{kill}", f"killed-{kill}")
            for _ in range(40):
                spec = {"containers": [{"name": "c", "image": "none"}], "nodeName": "nowhere" if made % 2 else ""}
                cluster.request("POST", pods, {"metadata": {"name": f"p{made}"}, "spec": spec})
                if made >= 10:
                    with suppress(ApiError):  # the pod garbage collector deletes some, too
                        cluster.request("DELETE", f"{pods}/p{made - 10}", {"gracePeriodSeconds": 0})
                made += 1
            os.kill(up.pid, signal.SIGKILL)
        finally:
            up.stop()
    last = f'"p{made - 1}"'
    with _running(up):
        eventually("the last pod was observed", lambda: last in _captured(tmp_path / "kept"))
        eventually("the last alert was delivered", lambda: f"killed-{KILLS - 1}" in hook.nodes)


def _evict(cluster: Cluster, pods: str, name: str, node: str) -> None:
    """Write what a kubelet writes of a pod that it evicted; no such node exists."""
    spec = {"containers": [{"name": "c", "image": "none"}], "nodeName": node}
    cluster.request("POST", pods, {"metadata": {"name": name}, "spec": spec})
    status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory. "}
    cluster.request("PATCH", f"{pods}/{name}/status", {"status": status})


def _captured(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.jsonl"))


def test_a_database_that_another_process_has_open_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    flags = ("--port=0", f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off")
    with _running(_up(tmp_path, *flags)):
        second = leadsman("up", f"--db=chdb://{tmp_path / 'db'}", *flags)
    assert (second.returncode, "holds this database" in second.stderr) == (14, True)


def test_an_unknown_token_and_a_port_in_use_are_one_sentence_and_a_status_each(
    cluster: Cluster, tmp_path: Path
) -> None:
    config = json.loads(cluster.kubeconfig().read_text())
    config["users"][0]["user"] = {"token": "expired"}
    (tmp_path / "expired").write_text(json.dumps(config))
    db = f"--db=chdb://{tmp_path / 'db'}"
    expired = leadsman("up", db, "--port=0", f"--kubeconfig={tmp_path / 'expired'}")
    assert (expired.returncode, expired.stderr.count("\n")) == (12, 1)
    assert "log in again" in expired.stderr
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        done = leadsman("up", db, f"--port={port}", f"--kubeconfig={cluster.kubeconfig()}", "--kubelet=off")
    assert (done.returncode, done.stderr.count("\n")) == (13, 1)
    assert str(port) in done.stderr
