"""Alerts from the table to a receiver: each once, also after a kill, and what was missed meanwhile."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from components.rows import row, store
from fakes.clock import START, FakeClock
from leadsman.run.alert import KEPT, LOOK_SECONDS, AlertDelivery, progress_file
from sql.database.open import Database, connect
from streams.alerting.receivers.alert_states import WITHOUT_NEWS, Received
from streams.alerting.receivers.posting import Failed
from streams.alerting.receivers.pushing import ROUND_SECONDS, Pushed
from streams.alerting.silences import Silence, matchers
from streams.fold.findings import Alert

pytestmark = pytest.mark.asyncio
HOUR = timedelta(hours=1)


def alert(name: str, status: str = "firing", hours: float = 0.0, **values: Any) -> Alert:
    """The message of an alert that fired `hours` after START, or was resolved an hour later."""
    starts_at = START + hours * HOUR
    at = starts_at if status == "firing" else starts_at + HOUR
    given = {"ts": at, "updated_at": at, "ends_at": None if status == "firing" else at, "labels": {"alertname": name}}
    return row(Alert, fingerprint=name, alertname=name, status=status, starts_at=starts_at, **{**given, **values})


class Up:
    """A process that may be killed, with a receiver that keeps what it was sent."""

    def __init__(self, database: Database, file: Path, silences: Sequence[Silence] = ()) -> None:
        self.clock = FakeClock()
        self.sent: list[str] = []
        self.fails = False
        opened = partial(connect, str(database), read_only=True)
        self._new = partial(AlertDelivery, opened, "c", file, silences=lambda: silences, clock=self.clock.clock)
        self.start()

    def start(self) -> None:
        """Another process, where one was killed."""
        self.process = self._new(receiver=Pushed(self._send))

    async def _send(self, received: Received, _: float) -> None:
        if self.fails:
            raise Failed("500")
        self.sent.append(f"{received.alert.labels['alertname']} {received.alert.reason or received.alert.status}")

    async def next(self) -> list[str]:
        self.sent.clear()
        await self.process.once()
        return sorted(self.sent)


@pytest.fixture
def up(database: Database, tmp_path: Path) -> Up:
    return Up(database, progress_file(tmp_path, "slack=https://hooks.example.org/x"))


async def test_a_new_receiver_is_sent_what_fires_and_then_what_changes(database: Database, up: Up) -> None:
    store(database, alert("old"), alert("old", "resolved"), alert("a"), alert("other", cluster="another"))
    assert await up.next() == ["a firing"]
    assert await up.next() == []
    store(database, alert("a", "resolved"), alert("b", hours=1), alert("b", "resolved", hours=1))
    assert await up.next() == ["a resolved", "b firing", "b resolved"]
    store(database, alert("a", hours=5))
    assert await up.next() == ["a firing"]


async def test_a_restart_sends_what_was_missed_and_nothing_again(database: Database, up: Up) -> None:
    store(database, alert("a"), alert("b"))
    await up.next()
    store(database, alert("a", "resolved"), alert("c"), alert("b", updated_at=START + HOUR))
    up.start()
    assert await up.next() == ["a resolved", "c firing"]
    up.start()
    assert await up.next() == []


async def test_a_kill_before_the_receiver_took_it_sends_it_after_the_restart(
    database: Database, up: Up, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(database, alert("a"))
    await up.next()
    store(database, alert("b"))

    async def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Pushed, "deliver", killed)
        with pytest.raises(KeyboardInterrupt):
            await up.process.once()
    up.start()
    assert await up.next() == ["b firing"]


async def test_what_the_receiver_did_not_take_is_tried_by_the_next_process_too(database: Database, up: Up) -> None:
    store(database, alert("a"))
    up.fails = True
    assert await up.next() == []
    up.start()
    up.fails = False
    await up.next()
    up.clock.seconds += ROUND_SECONDS
    assert await up.next() == ["a firing"]
    up.start()
    assert await up.next() == []


async def test_an_alert_without_news_ends_as_unknown_once(database: Database, up: Up) -> None:
    store(database, alert("a"))
    await up.next()
    ((landed_at,),) = database.query("SELECT max(landed_at) FROM alerts").rows
    up.clock.seconds += (landed_at - up.clock.now() + WITHOUT_NEWS).total_seconds() + 1
    assert await up.next() == ["a unknown"]
    up.start()
    assert await up.next() == []


async def test_a_silenced_alert_is_not_sent(database: Database, tmp_path: Path) -> None:
    silence = Silence("a", matchers(["alertname=a"]), START, START + HOUR, "ana", "why", START)
    up = Up(database, tmp_path / "progress.json", [silence])
    store(database, alert("a"), alert("b"))
    assert await up.next() == ["b firing"]
    up.start()
    up.clock.seconds += HOUR.total_seconds() + 60
    assert await up.next() == ["a firing"]
    assert await up.next() == []


def _only(folder: Path) -> Path:
    (file,) = folder.iterdir()
    return file


async def test_the_progress_is_private_bounded_and_replaced_whole(database: Database, up: Up, tmp_path: Path) -> None:
    store(database, alert("a"), alert("a", "resolved"))
    await up.next()
    file = _only(tmp_path)
    assert file.stat().st_mode & 0o777 == 0o600
    assert "hooks" not in file.name
    assert "a@" in file.read_text()
    up.clock.seconds += (KEPT + 2 * HOUR).total_seconds()
    await up.next()
    assert "a@" not in file.read_text()
    file.write_text("{")
    up.start()
    assert await up.next() == []
    assert LOOK_SECONDS < ROUND_SECONDS
