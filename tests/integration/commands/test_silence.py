"""`leadsman silence`: with a database of its own, and beside a process that holds it, such as a lander."""

import asyncio
import json
import shutil
import uuid
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
import yaml

from common.clock import SYSTEM
from components.command import Done, dsn, in_a_process, leadsman, leadsman_process, succeeds
from components.kafka import Kafka
from components.processes import free_port
from components.rows import row
from components.telemetry import is_ready
from fakes.clock import hurried
from leadsman.run.beside import answering
from leadsman.run.in_process import Announcing
from leadsman.run.silences import SILENCES, Silences
from sql.database.errors import DatabaseUnreachable
from sql.database.held import SOCKET, connect_to_read
from sql.database.open import Database, connect
from sql.landing.silences import List, answer
from streams.alerting.silences import Silence, matchers
from streams.fold.batch import Batch
from streams.fold.findings import Alert

ADD = (
    "silence",
    "add",
    "alertname=NodeNotReady",
    "node=~w-[0-9]+",
    "--for",
    "2h",
    "--why",
    "new kernel",
    "--who",
    "ana",
)


@pytest.fixture
def db(migrated_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(migrated_folder, tmp_path / "db", symlinks=True))


def listed(db: Path, *flags: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(succeeds("silence", "list", "--format", "json", *flags, db=db))
    return found


def test_a_silence_is_made_listed_and_expired(db: Path) -> None:
    before = SYSTEM.now()
    name = succeeds(*ADD, db=db).strip()
    (found,) = listed(db)
    assert (found["id"], found["state"], found["created_by"]) == (name, "active", "ana")
    assert found["matchers"] == 'alertname="NodeNotReady" node=~"w-[0-9]+"'
    ends_at = datetime.fromisoformat(found["ends_at"])
    assert timedelta(hours=2) <= ends_at - before < timedelta(hours=2, minutes=5)
    assert "new kernel" in succeeds("silence", "list", db=db)
    assert succeeds("silence", "expire", name[:6], db=db).strip() == name
    assert listed(db) == []
    assert [each["state"] for each in listed(db, "--all")] == ["expired"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("add", "node=~.*", "--for", "1h", "--why", "x"), "would mute every alert"),
        (("add", "node", "--for", "1h", "--why", "x"), "is not a matcher"),
        (("add", "node=~(?=a)b", "--for", "1h", "--why", "x"), "RE2"),
        (("add", "a=b", "--why", "x"), "give an end"),
        (("add", "a=b", "--until", "2020-01-01T00:00Z", "--why", "x"), "or in the past"),
        (("expire", "ff"), "no silence has an id with that prefix"),
    ],
)
def test_an_impossible_silence_is_refused_in_a_sentence(arguments: tuple[str, ...], message: str, db: Path) -> None:
    done = leadsman("silence", *arguments, db=db)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())


async def meanwhile(*arguments: object, db: Path) -> Done:
    return await asyncio.to_thread(in_a_process, *arguments, db=db)


@pytest.mark.asyncio
async def test_the_process_that_holds_an_embedded_database_answers_and_knows_at_once(db: Path) -> None:
    with connect(dsn(db)), connect(dsn(db), read_only=True) as reader:
        silences = Silences(partial(connect, dsn(db)))
        async with answering(reader, {SILENCES: silences.reply}):
            name = (await meanwhile(*ADD, db=db)).stdout.strip()
            assert [each.id for each in silences.known()] == [name]
            assert name in (await meanwhile("silence", "list", db=db)).stdout
            refused = await meanwhile("silence", "expire", "zz", db=db)
            assert (refused.returncode, "no silence has an id" in refused.stderr) == (2, True)
            assert (await meanwhile("silence", "expire", name, db=db)).returncode == 0
            assert silences.known()[0].state(SYSTEM.now()) == "expired"
        assert not (db / SOCKET).exists()
        held = await meanwhile(*ADD, db=db)
    assert (held.returncode, "holds this database" in held.stderr) == (14, True)


@pytest.mark.components("kafka")
def test_a_lander_with_an_embedded_database_adds_silences_and_alert_reads_them(
    kafka: Kafka, db: Path, tmp_path: Path
) -> None:
    port, file = free_port(), tmp_path / "leadsman.yaml"
    topics = {"bootstrap_servers": kafka.bootstrap_servers, "topic_prefix": f"s{uuid.uuid4().hex[:8]}"}
    file.write_text(yaml.safe_dump({"db": dsn(db), "kafka": topics, "telemetry": {"port": port}}))
    land = leadsman_process("land", f"--config={file}", folder=tmp_path)
    land.start()
    try:
        land.await_ready(lambda: is_ready(port), 90)
        name = in_a_process(*ADD, db=db).stdout.strip()
        silences = Silences(partial(connect_to_read, dsn(db)))  # as `leadsman alert` opens it
        asyncio.run(silences.read())
        assert [each.id for each in silences.known()] == [name]
    finally:
        land.stop()


@pytest.mark.asyncio
async def test_while_the_database_cannot_be_read_what_was_known_holds(db: Path) -> None:
    succeeds(*ADD, db=db)
    broken = False

    def open_database() -> Database:
        if broken:
            raise DatabaseUnreachable("away")
        return connect(dsn(db))

    silences = Silences(open_database, hurried())
    await silences.read()
    assert len(silences.known()) == 1
    broken = True
    await silences.read()
    assert len(silences.known()) == 1
    broken = False
    with connect(dsn(db)) as database:
        (found,) = answer(database, List())
        running = asyncio.create_task(silences.run())
        assert (await meanwhile("silence", "list", db=db)).returncode == 14  # it is held, and nobody serves
        assert found.id == silences.known()[0].id
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


class Nowhere:
    """A sink that keeps nothing."""

    def write(self, batch: Batch) -> None:
        pass

    def drain(self) -> None:
        pass


def test_up_announces_no_alert_that_is_silenced() -> None:
    now = SYSTEM.now()
    covering = Silence("a", matchers(["alertname=A"]), now, now + timedelta(hours=1), "ana", "why", now)
    lines: list[str] = []
    announcing = Announcing(Nowhere(), lines.append, lambda: [covering])
    for status in ("firing", "resolved"):
        batch = Batch()
        batch.add(
            [
                row(Alert, ts=now, status=status, alertname=name, fingerprint=name, labels={"alertname": name})
                for name in ("A", "B")
            ]
        )
        announcing.write(batch)
    assert [line.split()[1:3] for line in lines] == [["B", "firing:"], ["B", "resolved:"]]
