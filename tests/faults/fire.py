"""The whole pipeline under fire: a stream of real observations goes through it while something breaks.

The checker is the digest: what Kafka acknowledged, replayed without a broker into a database of its own, gives the
rows that must be there, no less and no more. Every attack ends with a line for the report.
"""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final, Self

import msgspec

from components.kafka import Kafka
from components.processes import HOST, NotReady, Process, eventually, free_port
from components.toxiproxy import Proxy, Toxiproxy
from ingest.observation import Observed, Unreadable
from ingest.publish import Publisher
from ingest.replay_kafka import Feed
from integration.clickhouse_http import ClickHouseHttp
from integration.pipeline import ROOT, Pipeline, embedded_digest, examples
from sql.database import Database, connect

LONG: Final = os.environ.get("LEADSMAN_FAULTS") == "long"
RESULTS: Final = os.environ.get("LEADSMAN_FAULTS_RESULTS")
"""Where results are appended, a JSON object a line; `python -m faults.report` makes the document of them."""
CAPTURES: Final = sorted([*ROOT.glob("examples/*.jsonl.gz"), *ROOT.glob("tests/scenarios/*/capture.jsonl")])
OBSERVATIONS_A_SECOND: Final = 300 if LONG else 100
MOST_MIB: Final = 600
"""Of memory of one part, whatever happens."""
CATCH_UP_SECONDS: Final = 300.0
"""Beside twice the outage; how long it really took is in the report."""


@dataclass
class Result:
    """What an attack came to."""

    fault: str
    times: int
    fault_seconds: float
    acknowledged: int
    """Observations that Kafka has."""
    rows: int
    """In all tables, equal to those of a replay without a broker."""
    caught_up_seconds: float
    """From the end of the fault until everything was stored."""
    peak_mib: int
    at: str = ""


class Feeder:
    """Sends observations at a steady rate from a thread of its own; what is not acknowledged is sent again."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.sent: list[Observed | Unreadable] = []
        self._pipeline = pipeline
        self._enough = Event()
        self._failure: BaseException | None = None
        self._thread = Thread(target=self._run, name="feeder")
        self._thread.start()

    def stop(self) -> int:
        """Returns when Kafka has acknowledged all of it; how many observations that are."""
        self._enough.set()
        self._thread.join(600)
        if self._thread.is_alive():
            raise NotReady("Kafka did not acknowledge what was sent within 10 minutes")
        if self._failure is not None:
            raise self._failure
        return len(self.sent)

    def _run(self) -> None:
        try:
            asyncio.run(self._send())
        except BaseException as failure:  # noqa: BLE001  # it is raised by `stop`
            self._failure = failure

    async def _send(self) -> None:
        begin = time.monotonic()
        async with Publisher(self._pipeline.settings.kafka.bootstrap_servers) as publisher:
            feed = Feed(publisher, self._pipeline.topics)
            for item in _endless():
                if self._enough.is_set():
                    break
                self.sent.append(item)
                await feed.send(item)
                ahead = len(self.sent) / OBSERVATIONS_A_SECOND - (time.monotonic() - begin)
                if ahead > 0:
                    await asyncio.sleep(ahead)
            await publisher.flush()


def _endless() -> Iterator[Observed | Unreadable]:
    """Real captures again and again, each time under clusters of their own."""
    for copy in count():
        yield from examples(CAPTURES, copy)


class Ground:
    """Kafka and ClickHouse, each behind a proxy, and the pipeline between them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.toxiproxy = Toxiproxy(folder)
        self.clickhouse = ClickHouseHttp(folder / "clickhouse")
        self._kafka_port = free_port()
        self.kafka = Kafka(folder, {"advertised.listeners": f"PLAINTEXT://{HOST}:{self._kafka_port}"})

    def __enter__(self) -> Self:
        self.toxiproxy.__enter__()
        self.to_kafka = self.toxiproxy.before(self.kafka.port, self._kafka_port)
        self.kafka.start()
        self.kafka.bootstrap_servers = f"{HOST}:{self._kafka_port}"
        self.clickhouse.__enter__()
        self.to_clickhouse = self.toxiproxy.before(int(self.clickhouse.dsn().rsplit(":", 1)[1].split("/")[0]))
        return self

    def __exit__(self, *_: object) -> None:
        self.clickhouse.__exit__(None, None, None)
        self.kafka.stop()
        self.toxiproxy.__exit__()

    def attacked(self, name: str, fault: str, attack: Callable[["Attacked"], tuple[int, float]]) -> Result:
        """Run the pipeline while `attack` does what it does; it tells how often, and the seconds of one fault.

        AssertionError where a row is lost or doubled, memory is not bounded, or it does not catch up.
        """
        direct = self.clickhouse.dsn(name)
        through = direct.replace(direct.rsplit(":", 1)[1].split("/")[0], str(self.to_clickhouse.port))
        folder = self._folder / name
        folder.mkdir()
        pipeline = Pipeline(self.kafka, through, folder)
        try:
            return self._run(pipeline, direct, fault, attack)
        finally:
            self.to_kafka.heal()
            self.to_clickhouse.heal()
            pipeline.stop()

    def _run(
        self, pipeline: Pipeline, direct: str, fault: str, attack: Callable[["Attacked"], tuple[int, float]]
    ) -> Result:
        feeder = Feeder(pipeline)
        with Attacked(self, pipeline) as attacked:
            with connect(direct) as database:
                eventually("the first rows are stored", lambda: _has_rows(database), 120)
            times, fault_seconds = attack(attacked)
            healed = time.monotonic()
            time.sleep(2)
            acknowledged = feeder.stop()
            pipeline.settle(2 * fault_seconds + CATCH_UP_SECONDS)
            caught_up = time.monotonic() - healed
            peak = attacked.peak_mib()
        pipeline.dsn = direct
        found, wanted = pipeline.digest(), embedded_digest(feeder.sent, f"{direct}_wanted")
        assert found == wanted
        assert peak < MOST_MIB
        rows = sum(table.rows for table in found)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        result = Result(fault, times, fault_seconds, acknowledged, rows, round(caught_up, 1), peak, now)
        if RESULTS:
            with Path(RESULTS).open("ab") as results:
                results.write(msgspec.json.encode(asdict(result)) + b"\n")
        return result


class Attacked:
    """The pipeline's processes, and what stands between them. A process that ends is started again, as a Deployment
    would.
    """

    def __init__(self, ground: Ground, pipeline: Pipeline) -> None:
        self.kafka = ground.kafka
        self.to_kafka: Proxy = ground.to_kafka
        self.to_clickhouse: Proxy = ground.to_clickhouse
        self.clickhouse = ground.clickhouse
        self.pipeline = pipeline
        self.parts = [pipeline.part("work", "0"), pipeline.part("land", "0")]
        self._peaks: list[int] = [0]
        self._tended = Lock()
        self._over = Event()
        self._tending = Thread(target=self._tend, name="tending")

    def __enter__(self) -> Self:
        for part in self.parts:
            part.start()
        self._tending.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._tending.join()

    def again(self, part: Process) -> None:
        """SIGKILL, and started again."""
        with self._tended:
            self._note(part)
            part.kill()
            part.start()

    def peak_mib(self) -> int:
        """The most memory that a part held at once, as far as it was looked at every half second."""
        return max(self._peaks)

    def _tend(self) -> None:
        while not self._over.wait(0.5):
            with self._tended:
                for part in self.parts:
                    self._note(part)
                    if not part.runs:
                        part.start()

    def _note(self, part: Process) -> None:
        with suppress(NotReady, OSError):
            self._peaks.append(_peak_mib(part))


def _has_rows(database: Database) -> bool:
    known = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'node_events'"
    return bool(database.query(known).rows[0][0] and database.query("SELECT count() FROM node_events").rows[0][0])


def _peak_mib(part: Process) -> int:
    status = Path(f"/proc/{part.pid}/status").read_text()
    return next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
