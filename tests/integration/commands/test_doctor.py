"""`leadsman doctor`: what it finds in a cluster, a database and a part, and how it is shown."""

import json
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from aiohttp import web
from aiokafka import AIOKafkaProducer

from components.command import dsn, leadsman
from components.kafka import Kafka
from components.rows import row, store, store_samples, summary
from fakes.serving import serving
from leadsman.cli.doctor import WIDTH, shown, status
from leadsman.cli.exits import EXIT_NOT_SEEN
from leadsman.run.doctor import COMMITS, Diagnosis, diagnose, kafka_clocks
from leadsman.run.kafka import make_topics
from leadsman.run.settings import Settings, load
from paths import ROOT
from sql.database.open import connect
from streams.fold.findings import NodeRow, PodBinding, SourceError

REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class Api:
    """An API server with a clock, which allows what `allows` says and is a part with reasons, too."""

    def __init__(self) -> None:
        self.ahead = timedelta()
        self.allows: Callable[[dict[str, Any]], bool] = lambda asked: (
            asked["resource"] != "nodes" or bool(asked.get("subresource") != "proxy")
        )
        self.reasons: list[str] = []

    async def answer(self, request: web.Request) -> web.Response:
        if request.path == "/readyz":
            body = {"part": "up", "ready": not self.reasons, "reasons": self.reasons}
            return web.json_response(body, status=503 if self.reasons else 200)
        dated = {"Date": format_datetime(datetime.now(UTC) + self.ahead, usegmt=True)}
        if request.path == "/version":
            return web.json_response({"gitVersion": "v1.36.1"}, headers=dated)
        if request.path != REVIEW:
            return web.Response(status=404)
        asked = (await request.json())["spec"]["resourceAttributes"]
        return web.json_response({"status": {"allowed": self.allows(asked)}}, headers=dated)

    @asynccontextmanager
    async def running(self, folder: Path) -> AsyncIterator[str]:
        """Gives the address; the kubeconfig is in the folder."""
        async with serving(self.answer) as url:
            named = {"clusters": "cluster", "contexts": "context", "users": "user"}
            values: dict[str, Any] = {
                "cluster": {"server": url},
                "context": {"cluster": "x", "user": "x"},
                "user": {},
            }
            config = {each: [{"name": "x", one: values[one]}] for each, one in named.items()}
            text = yaml.safe_dump({"apiVersion": "v1", "kind": "Config", "current-context": "x", **config})
            (folder / "kubeconfig").write_text(text)
            yield url


@pytest.fixture
def db(migrated_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))


def settings_of(folder: Path, db: Path, **more: Any) -> Settings:
    return load(db=dsn(db), watch={"kubeconfig": folder / "kubeconfig"}, **more)


async def found_in(api: Api, folder: Path, db: Path) -> dict[str, Diagnosis]:
    async with api.running(folder):
        return {each.what: each for each in await diagnose(settings_of(folder, db))}


def seen(db: Path, *rows: Any) -> None:
    with connect(dsn(db)) as database:
        store(database, row(NodeRow, cluster="lab", node="n", ts=datetime.now(UTC)), *rows)


@pytest.mark.asyncio
async def test_a_healthy_cluster_has_no_findings(tmp_path: Path, db: Path) -> None:
    seen(db)
    found = await found_in(Api(), tmp_path, db)
    assert [each for each in found.values() if each.state != "ok"] == []
    assert "v1.36.1" in found["cluster"].detail
    assert {"permissions", "clock of the API server", "streams of lab"} <= found.keys()
    assert status(list(found.values())) == 0


@pytest.mark.asyncio
async def test_a_clock_that_is_minutes_ahead_is_wrong(tmp_path: Path, db: Path) -> None:
    seen(db)
    api = Api()
    api.ahead = timedelta(minutes=5)
    clock = (await found_in(api, tmp_path, db))["clock of the API server"]
    assert clock.state == "wrong"
    assert "ahead of this machine's" in clock.detail


@pytest.mark.asyncio
@pytest.mark.components("kafka")
async def test_a_clock_ahead_of_this_machine_s_is_seen_by_the_dates_in_kafka(kafka: Kafka) -> None:
    """This machine's is set back instead."""
    prefix = f"clocks-{uuid.uuid4().hex[:8]}"
    settings = load(kafka={"bootstrap_servers": kafka.bootstrap_servers, "topic_prefix": prefix, "partitions": 2})

    async def looked(here: datetime) -> dict[str, tuple[str, str]]:
        return {each.what: (each.state, each.detail) async for each in kafka_clocks(settings, here)}

    now = datetime.now(UTC)
    assert (await looked(now))["clocks in Kafka"][0] == "ok"
    await make_topics(settings.kafka)
    topic = f"{prefix}.nodes"
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, b"x")
    ((what, (state, detail)),) = (await looked(now - timedelta(minutes=5))).items()
    assert (what, state) == ("clock of a broker", "wrong")
    dated = rf"the time of a message in ({re.escape(topic)}|{COMMITS}) shows it"
    assert re.fullmatch(rf"at least \d+ min(?: \d+ s)? ahead of this machine's: {dated}", detail)


@pytest.mark.asyncio
async def test_a_permission_that_lacks_is_named_with_the_command_that_gives_it(tmp_path: Path, db: Path) -> None:
    seen(db)
    api = Api()
    api.allows = lambda asked: (asked["resource"], asked["verb"]) != ("pods", "watch")
    lacking = (await found_in(api, tmp_path, db))["cluster: watch pods"]
    assert lacking.state == "wrong"
    file = lacking.mend.rpartition("kubectl apply -f ")[2]
    assert "leadsman-watch" in (ROOT / file).read_text()
    assert "ConfigMap" not in (ROOT / file).read_text(), "it would overwrite settings"


@pytest.mark.asyncio
async def test_streams_that_are_old_or_cannot_be_read_are_named(tmp_path: Path, db: Path) -> None:
    now = datetime.now(UTC)
    seen(
        db,
        row(SourceError, cluster="lab", node="n", ts=now, resource="stats/summary", kind="unreadable", error="403"),
    )
    with connect(dsn(db)) as database:
        store(database, row(NodeRow, cluster="old", node="n", ts=now - timedelta(hours=3)))
    found = await found_in(Api(), tmp_path, db)
    assert found["streams of lab"].state == "ok"
    old = found["streams of old"]
    assert (old.state, old.detail) == ("wrong", "last observed: nodes 3 h ago")
    unreadable = found["lab: stats/summary"]
    assert unreadable.detail == "unreadable within the last hour: 403"
    assert unreadable.mend == "leadsman query source_errors"


@pytest.mark.asyncio
async def test_each_stream_has_its_age_and_silent_kubelets_are_counted(tmp_path: Path, db: Path) -> None:
    now = datetime.now(UTC)
    pod = row(PodBinding, cluster="lab", node="n", uid="p", ts=now - timedelta(hours=2), change="bound")
    seen(db, row(NodeRow, cluster="lab", node="silent", ts=now), pod)
    with connect(dsn(db)) as database:
        for node, minutes in (("n", 0), ("silent", 20)):
            sample = summary(now - timedelta(minutes=minutes), node, memory_available_bytes=1)
            store_samples(database, msgspec.structs.replace(sample, cluster="lab"))
    found = await found_in(Api(), tmp_path, db)
    streams = found["streams of lab"]
    assert streams.state == "ok"
    assert re.fullmatch(
        r"last observed: (nodes|statistics) \S+ s, (nodes|statistics) \S+ s, pods 2 h ago", streams.detail
    )
    silent = found["lab: statistics"]
    assert (silent.state, silent.detail) == ("wrong", "1 of 2 nodes sent none for over 10 min")


@pytest.mark.asyncio
async def test_a_part_that_is_not_ready_gives_its_reasons(tmp_path: Path, db: Path) -> None:
    seen(db)
    api = Api()
    api.reasons = ["Kafka takes nothing"]
    async with api.running(tmp_path) as url:
        port = int(url.rpartition(":")[2])
        found = {each.what: each for each in await diagnose(settings_of(tmp_path, db, telemetry={"port": port}))}
    assert (found["part up"].state, found["part up"].detail) == ("wrong", "Kafka takes nothing")


def test_without_a_cluster_or_a_database_it_names_what_it_could_not_see(tmp_path: Path) -> None:
    file = tmp_path / "leadsman.yaml"
    file.write_text(f"db: chdb://{tmp_path}/none\nwatch: {{kubeconfig: {tmp_path}/none}}\n")
    done = leadsman("doctor", f"--config={file}", "-o", "json")
    found = {each["what"]: each for each in json.loads(done.stdout)}
    assert done.returncode == 1  # there is no database yet
    assert found["cluster"]["state"] == "unknown"
    assert found["database"]["state"] == "wrong"
    assert f"LEADSMAN_DB=chdb://{tmp_path}/none" in found["database"]["mend"]
    assert found["cluster"]["mend"].endswith(f"validate --config {file}")
    screen = leadsman("doctor", f"--config={file}").stdout.splitlines()
    assert screen[0].startswith("WRONG   database:")
    assert all(len(line) <= WIDTH for line in screen if ">" not in line and "/" not in line)


def test_a_database_that_a_process_holds_is_not_seen(db: Path) -> None:
    with connect(dsn(db)):
        done = leadsman("doctor", "-o", "json", db=db)
    found = {each["what"]: each for each in json.loads(done.stdout)}
    assert found["database"]["state"] == "unknown"


def test_unknown_alone_has_a_status_of_its_own() -> None:
    assert status([Diagnosis("a", "ok", ""), Diagnosis("b", "unknown", "")]) == EXIT_NOT_SEEN
    assert status([Diagnosis("a", "wrong", ""), Diagnosis("b", "unknown", "")]) == 1


def test_what_a_cluster_named_is_plain_and_a_command_is_on_one_line() -> None:
    text = shown(Diagnosis("x\x1b[31m", "wrong", "word " * 60, "kafka-configs.sh " + "y" * 100))
    *lines, mend = text.splitlines()
    assert "\x1b" not in text
    assert all(len(line) <= WIDTH for line in lines)
    assert mend == "        > kafka-configs.sh " + "y" * 100
