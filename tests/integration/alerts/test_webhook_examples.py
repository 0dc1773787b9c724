"""The example receivers: they take what Leadsman signs, and act on nothing forged, old or repeated."""

import asyncio
import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from common.clock import SYSTEM, Clock
from components.processes import HOST, Process, free_port
from components.programs.cache import ComponentMissing, refuse, tool
from paths import EXAMPLES
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.pushing import SIGNATURE, signature, webhook
from streams.kafka.messages.alerts import AlertMessage
from waiting import PATIENCE_SECONDS, eventually

SECRET = "canary-webhook-secret"  # noqa: S105  # of this test
T0 = datetime(2026, 11, 21, 4, tzinfo=UTC)


class Receiver:
    """An example that runs, and prints what it acts on."""

    def __init__(self, name: str, argv: list[str], folder: Path) -> None:
        self.port = free_port()
        self.process = Process(name, [*argv, str(self.port)], folder / "log", {"WEBHOOK_SECRET": SECRET})

    def post(self, body: bytes, header: str) -> int:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", "/hook", body, {SIGNATURE: header})
            return connection.getresponse().status
        finally:
            connection.close()

    def answers(self) -> bool:
        try:
            return self.post(b"", "") == 401
        except OSError:
            return False

    def acted(self) -> list[str]:
        return [line for line in self.process.log.read_text().splitlines() if line.startswith(("firing", "resolved"))]

    def deliver(self, *news: Received, clock: Clock = SYSTEM) -> None:
        """Deliver like `leadsman alert`."""

        async def deliver() -> None:
            sender = webhook(f"http://{HOST}:{self.port}/hook", SECRET, clock)
            try:
                await sender.deliver(news, AlertStates())
            finally:
                await sender.close()

        asyncio.run(deliver())


@pytest.fixture(params=["python", "go"])
def receiver(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Receiver]:
    argv = [sys.executable, str(EXAMPLES / "webhook_receiver.py")]
    if request.param == "go":
        try:
            build = [tool("go"), "build", "-o", str(tmp_path / "receiver"), str(EXAMPLES / "webhook_receiver.go")]
        except ComponentMissing as missing:
            refuse(str(missing))
        subprocess.run(build, check=True, capture_output=True, cwd=tmp_path)
        argv = [str(tmp_path / "receiver")]
    running = Receiver(request.param, argv, tmp_path)
    running.process.start()
    try:
        running.process.await_ready(running.answers)
        yield running
    finally:
        running.process.stop()


def alert(status: str = "firing", name: str = "A") -> Received:
    resolved = status == "resolved"
    message = AlertMessage(
        status="resolved" if resolved else "firing",
        fingerprint=f"of-{name}",
        labels={"alertname": name},
        annotations={},
        starts_at=T0,
        ends_at=T0 if resolved else None,
        updated_at=T0,
    )
    return Received(message, f"{name}-{status}", T0)


def test_what_leadsman_sends_is_taken_and_acted_on_once(receiver: Receiver) -> None:
    receiver.deliver(alert(), alert("resolved"), alert(name="B"))
    receiver.deliver(alert(name="B"))  # whose answer was lost
    eventually("it acted", lambda: len(receiver.acted()) >= 3)
    assert sorted(receiver.acted()) == ["firing A", "firing B", "resolved A"]


def test_what_is_forged_changed_old_or_from_the_future_is_refused(receiver: Receiver) -> None:
    body, now = msgspec.json.encode(alert().alert), int(time.time())
    genuine = signature(SECRET, body, now)
    assert receiver.post(body.replace(b"firing", b"resolved"), genuine) == 401
    for header in (
        "",
        genuine.replace("v1=", "v1=0"),
        genuine.replace(f"t={now}", f"t={now + 1}"),
        f"{genuine},v1={'0' * 64}",
        signature("another", body, now),
        signature(SECRET, body, now - 310),
        signature(SECRET, body, now + 310),
    ):
        assert receiver.post(body, header) == 401, header
    assert receiver.acted() == []


def test_within_the_window_time_may_differ_and_a_replay_changes_nothing(receiver: Receiver) -> None:
    firing, resolved = (msgspec.json.encode(alert(status).alert) for status in ("firing", "resolved"))
    now = int(time.time())
    first = signature(SECRET, firing, now - 200)
    assert receiver.post(firing, first) == 204
    assert receiver.post(resolved, signature(SECRET, resolved, now)) == 204
    assert receiver.post(firing, first) == 204
    eventually("it acted", lambda: len(receiver.acted()) >= 2)
    assert receiver.acted() == ["firing A", "resolved A"]


def test_a_body_that_is_too_large_is_not_read(receiver: Receiver) -> None:
    connection = http.client.HTTPConnection(HOST, receiver.port, timeout=PATIENCE_SECONDS)
    connection.putrequest("POST", "/hook")
    connection.putheader("Content-Length", str(1 << 30))
    connection.putheader(SIGNATURE, f"t={int(time.time())},v1={'0' * 64}")
    connection.endheaders()
    try:
        connection.send(b"x" * (1024 * 1024 + 1))
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it ended the connection while we sent
    finally:
        connection.close()


def test_a_stranger_who_sends_nothing_holds_up_no_alert(receiver: Receiver) -> None:
    with (
        socket.create_connection((HOST, receiver.port)),
        socket.create_connection((HOST, receiver.port)) as slow,
    ):
        slow.sendall(b"POST /hook HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\n")
        receiver.deliver(alert())
        eventually("it acts", lambda: receiver.acted() == ["firing A"])
