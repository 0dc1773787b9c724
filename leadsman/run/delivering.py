"""Delivers the alerts of `leadsman up` to a receiver without Kafka, from the table in which they are stored.

A file beside the journal has what the receiver was sent. It is written after each delivery, so that the process after
a killed one delivers what was missed.
"""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import msgspec
import structlog

from common.clock import SYSTEM, Clock
from common.private import open_private
from common.tasks import in_thread
from sql.database.errors import DatabaseError
from sql.database.open import Database
from streams.alerting.receivers.alert_states import AlertStates, Received
from streams.alerting.receivers.choose import Receiver, group_of, reported
from streams.alerting.receivers.consume import JUDGE_EVERY, Withholding
from streams.alerting.receivers.remembered import Remembered
from streams.alerting.silences import Silence
from streams.fold.findings import Alert
from streams.kafka.messages.alerts import message_of

LOOK_SECONDS: Final = 3.0
KEPT: Final = timedelta(days=7)
"""Time for which an alert that is over is still delivered to a receiver that missed it."""
_READ: Final = f"""
SELECT {", ".join(Alert._fields)}, landed_at FROM alerts
WHERE cluster = {{cluster:String}} AND (ts > {{since:DateTime64(6)}} OR (fingerprint, starts_at) NOT IN
    (SELECT fingerprint, starts_at FROM alerts WHERE cluster = {{cluster:String}} AND status = 'resolved'))
ORDER BY starts_at, updated_at, status = 'resolved', fingerprint
"""
log = structlog.get_logger(__name__)


class _Progress(msgspec.Struct, frozen=True):
    delivered: list[str]
    remembered: Remembered


class Delivering:
    """Delivers the alerts of one cluster to one receiver."""

    def __init__(
        self,
        open_database: Callable[[], Database],
        cluster: str,
        file: Path,
        receiver: Receiver,
        silences: Callable[[], Sequence[Silence]] = tuple,
        clock: Clock = SYSTEM,
    ) -> None:
        """`file` has the progress; it is made when something was delivered."""
        self._open = open_database
        self._cluster = cluster
        self._file = file
        self._receiver = receiver
        self._withholding = Withholding(receiver, silences, clock)
        self._clock = clock
        self._states = AlertStates()
        self._progress = _read(file)
        self._judged_at = self._progress.remembered.judged_at if self._progress else clock.now()
        self._sent_at = clock.monotonic()
        self._begun = False
        self._trouble = ""

    async def run(self) -> None:
        """Deliver until cancelled. A database that does not answer is asked again."""
        try:
            with reported(self._receiver, lambda: self._trouble):
                while True:
                    try:
                        await self.once()
                        self._trouble = ""
                    except DatabaseError as error:
                        if not self._trouble:
                            log.warning("alerts cannot be read", receiver=self._receiver.name, reason=str(error))
                        self._trouble = f"alerts cannot be read: {error}"
                    await self._clock.sleep(LOOK_SECONDS)
        finally:
            await self._receiver.close()

    async def once(self) -> None:
        """Deliver what is new. Raises DatabaseError."""
        every = await in_thread(self._stored)
        known = set(self._progress.delivered) if self._progress else set()
        read = [each for each in every if self._states.read(each)]
        if self._progress is None:  # a new receiver is sent what fires now
            news = list(self._states.firing())
        else:
            news = [each for each in read if each.identity not in known]
        news += self._resumed() if not self._begun else self._lost()
        resend = self._withholding.resend_seconds
        if news or (resend is not None and self._clock.monotonic() - self._sent_at >= resend):
            await self._withholding.deliver(news, self._states)
            self._sent_at = self._clock.monotonic()
        remembered = self._withholding.remembered(self._judged_at)
        self._keep(_Progress([each.identity for each in every], remembered))

    def _stored(self) -> list[Received]:
        with self._open() as database:
            given = {"cluster": self._cluster, "since": self._clock.now() - KEPT}
            return [_received(Alert(*row), landed_at) for *row, landed_at in database.query(_READ, given).rows]

    def _resumed(self) -> Sequence[Received]:
        """Go on as the earlier process would: with what it has parked, withheld and ended as unknown."""
        self._begun = True
        if self._progress is not None:
            self._states.lose(self._judged_at)
            remembered = self._progress.remembered
            self._withholding.withhold(remembered.withheld, more=remembered.more)
            for each in self._states.of(self._progress.remembered.parked):
                self._receiver.park(each)
        return ()

    def _lost(self) -> Sequence[Received]:
        now = self._clock.now()
        if now - self._judged_at < JUDGE_EVERY:
            return ()
        self._judged_at = now
        return self._states.lose(now)

    def _keep(self, progress: _Progress) -> None:
        """Replace the file; one that was cut off by a kill is never read."""
        if progress == self._progress:
            return
        unfinished = self._file.with_suffix(".new")
        with open_private(unfinished, "wb") as file:
            file.write(msgspec.json.encode(progress))
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._file)
        self._progress = progress


def progress_file(folder: Path, receiver: str) -> Path:
    """The file of a receiver in a cluster's folder; its address is not readable in it."""
    return folder / f"{group_of('up', receiver)}.json"


def _received(alert: Alert, landed_at: datetime) -> Received:
    identity = f"{alert.fingerprint}@{alert.starts_at.isoformat()}#{alert.status}"
    return Received(message_of(alert), identity, landed_at.astimezone(UTC))


def _read(file: Path) -> _Progress | None:
    """None for a receiver that was never sent anything."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Progress)
    except FileNotFoundError:
        return None
    except msgspec.MsgspecError:
        log.warning("the progress of a receiver cannot be read: it is sent what fires now", file=str(file))
        return None
