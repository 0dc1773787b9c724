"""The whole pipeline under fire: a stream of real observations goes through it while something breaks.

The checker is the digest: what Kafka acknowledged, replayed without a broker into a database of its own, gives the
rows that must be there, no less and no more. Every attack ends with a line for the report.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import zip_longest
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any, Final, NamedTuple, Self, TypeAlias

from components.clickhouse import ClickHouseHttp
from components.command import leadsman_process
from components.disk import Disk, why_no_disk
from components.kafka import Kafka
from components.pipeline import Pipeline, embedded_digest
from components.proc import peak_bytes
from components.processes import HOST, Process, free_port
from components.telemetry import why_not_ready
from components.toxiproxy import Proxy, Toxiproxy
from faults.feeding import Feeder, endless
from faults.form import OBSERVATIONS_A_SECOND
from faults.offsets import committed, reached
from faults.result import Result, note
from ingest.model.observation import Observed, Unreadable
from sql.database.open import Database, connect
from sql.questions.digest import TableDigest
from waiting import NotReady, eventually

MOST_MIB: Final = 600
"""Most memory of one part under any fault."""
CATCH_UP_SECONDS: Final = 300.0
"""Beside twice the outage; how long it really took is in the report."""
DISK_MIB: Final = 512
CLEANS_SOON: Final = {"log.cleaner.backoff.ms": "200"}
"""Pause of the broker's log cleaner if nothing must be cleaned."""
WANTED: Final = "_wanted"
"""Ends the name of the database of the expected tables."""
GOES_ON: Final = 2 * OBSERVATIONS_A_SECOND
"""Observations that are sent after the fault, before the stream ends."""

Attack: TypeAlias = Callable[["Attacked"], tuple[int, float]]
"""Tells how often it did what it does, and the seconds of one fault."""
Difference: TypeAlias = tuple[TableDigest | None, TableDigest | None]
"""The rows of a table, and the expected ones."""
Wanted: TypeAlias = Callable[[Pipeline, Sequence[Observed | Unreadable], str], list[TableDigest]]
"""Return the expected tables after all of that was sent; the DSN is that of the tables."""


class Fault(NamedTuple):
    name: str
    reported: str
    """In the report."""
    attack: Attack


def named(faults: Sequence[Fault]) -> str:
    """Several by their names: the id of a test, and the name of its database."""
    return "_".join(each.name for each in faults)


class Ground:
    """Kafka and ClickHouse, each behind a proxy, and the pipeline between them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self.toxiproxy = Toxiproxy(folder)
        self._folder_of_kafka, self._folder_of_clickhouse = folder / "kafka", folder / "clickhouse"
        self.clickhouse = ClickHouseHttp(self._folder_of_clickhouse / "data")

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self.toxiproxy)
            self.disk_of_kafka = self._disk(self._folder_of_kafka, stack)
            self.disk_of_clickhouse = self._disk(self._folder_of_clickhouse, stack)
            kafka_port = free_port()
            more = {"advertised.listeners": f"PLAINTEXT://{HOST}:{kafka_port}", **CLEANS_SOON}
            self.kafka = Kafka(self._folder_of_kafka, more)
            self.to_kafka = self.toxiproxy.before(self.kafka.port, kafka_port)
            stack.callback(self.kafka.stop)
            self.kafka.start()
            self.kafka.bootstrap_servers = f"{HOST}:{kafka_port}"
            stack.enter_context(self.clickhouse)
            self.to_clickhouse = self.toxiproxy.before(self.clickhouse.port)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _disk(self, folder: Path, stack: ExitStack) -> Disk | None:
        """Mount a disk there, and return it; None if nothing can be mounted."""
        folder.mkdir()
        return None if why_no_disk() else stack.enter_context(Disk(folder, DISK_MIB))

    def differences_after(
        self,
        *faults: Fault,
        source: Iterable[Observed | Unreadable] | None = None,
        wanted: Wanted | None = None,
    ) -> list[Difference]:
        """Run the pipeline while the faults happen; the tables in which a row is lost or doubled afterwards.

        AssertionError where memory is not bounded, NotReady where it does not catch up.
        """
        name = named(faults)
        direct = self.clickhouse.dsn(name)
        through = direct.replace(str(self.clickhouse.port), str(self.to_clickhouse.port))
        folder = self._folder / name
        folder.mkdir()
        pipeline = Pipeline(self.kafka, through, folder)
        try:
            return self._run(pipeline, folder, direct, faults, source or endless(), wanted or _replayed)
        finally:
            self.to_kafka.heal()
            self.to_clickhouse.heal()
            self.clickhouse.heal()
            for disk in (self.disk_of_kafka, self.disk_of_clickhouse):
                if disk is not None:
                    disk.free()
            pipeline.stop()

    def _run(
        self,
        pipeline: Pipeline,
        folder: Path,
        direct: str,
        faults: Sequence[Fault],
        source: Iterable[Observed | Unreadable],
        wanted: Wanted,
    ) -> list[Difference]:
        with Feeder(pipeline, source) as feeder, Attacked(self, pipeline, folder, direct) as attacked:
            with connect(direct) as database:
                eventually("the first rows are stored", lambda: _has_rows(database), every_seconds=0.5)
            *others, last = faults
            before = sum(_recovers_from(each, attacked, feeder) for each in others)
            times, fault_seconds = last.attack(attacked)
            healed = time.monotonic()
            _goes_on(feeder)
            acknowledged = feeder.stop()
            pipeline.settle(2 * fault_seconds + CATCH_UP_SECONDS)
            caught_up = time.monotonic() - healed
            peak = attacked.peak_mib()
        pipeline.dsn = direct
        assert peak < MOST_MIB
        found, due = pipeline.digest(), wanted(pipeline, feeder.sent, direct)
        differences = [pair for pair in zip_longest(found, due) if pair[0] != pair[1]]
        if not differences:
            self.clickhouse.drop(named(faults), f"{named(faults)}{WANTED}")
            note(
                Result(
                    fault="; ".join(each.reported for each in faults),
                    times=before + times,
                    fault_seconds=fault_seconds,
                    acknowledged=acknowledged,
                    rows=sum(table.rows for table in found),
                    caught_up_seconds=round(caught_up, 1),
                    peak_mib=peak,
                )
            )
        return differences


class Attacked:
    """The pipeline's processes, and what stands between them. A process that ends is started again, as a Deployment
    would.
    """

    def __init__(self, ground: Ground, pipeline: Pipeline, folder: Path, direct: str) -> None:
        self.kafka = ground.kafka
        self.to_kafka: Proxy = ground.to_kafka
        self.to_clickhouse: Proxy = ground.to_clickhouse
        self.clickhouse = ground.clickhouse
        self.disk_of_clickhouse = ground.disk_of_clickhouse
        self.disk_of_kafka = ground.disk_of_kafka
        self.dsn = direct
        self.pipeline = pipeline
        self._telemetry_port = free_port()
        self.worker, self.lander = pipeline.part("work", "0"), self._real_lander(folder)
        self.parts = [self.worker, self.lander]
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
        self.lander.stop()

    def again(self, part: Process) -> None:
        """SIGKILL, and started again."""
        with self._tended:
            self._note(part)
            part.kill()
            part.start()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Worker and lander do not run, and start again afterwards."""
        with self._tended:
            for part in self.parts:
                self._note(part)
                part.kill()
            yield
            for part in self.parts:
                part.start()

    def refusal(self) -> str:
        """Return the lander's reason for not being ready; empty if it is."""
        return "; ".join(why_not_ready(self._telemetry_port))

    def committed(self) -> dict[Any, int]:
        """The offsets of the lander's group, by partition."""
        return asyncio.run(committed(self.pipeline, "land"))

    def peak_mib(self) -> int:
        """The most memory that a part held at once, as far as it was looked at every half second."""
        return max(self._peaks)

    def _real_lander(self, folder: Path) -> Process:
        telemetry = {"LEADSMAN_TELEMETRY__PORT": str(self._telemetry_port)}
        environment = self.pipeline.environment("land", "0") | telemetry
        return leadsman_process("land", folder=folder, name="land-0", environment=environment)

    def _tend(self) -> None:
        while not self._over.wait(0.5):
            with self._tended:
                for part in self.parts:
                    self._note(part)
                    if not part.runs:
                        part.start()

    def _note(self, part: Process) -> None:
        with suppress(NotReady, OSError):
            self._peaks.append(peak_bytes(part.pid) >> 20)


def _recovers_from(fault: Fault, on: Attacked, feeder: Feeder) -> int:
    """Return how often it happened, when all that had been sent by its end is stored; the stream goes on."""
    times, seconds = fault.attack(on)
    _goes_on(feeder)
    eventually(
        f"stored after: {fault.reported}", reached(on.pipeline), 2 * seconds + CATCH_UP_SECONDS, every_seconds=0.5
    )
    return times


def _goes_on(feeder: Feeder) -> None:
    sent = len(feeder.sent)
    eventually("the stream goes on after the fault", lambda: len(feeder.sent) > sent + GOES_ON)


def _replayed(_: Pipeline, sent: Sequence[Observed | Unreadable], dsn: str) -> list[TableDigest]:
    return embedded_digest(sent, f"{dsn}{WANTED}")


def _has_rows(database: Database) -> bool:
    known = "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = 'node_events'"
    return bool(database.query(known).rows[0][0] and database.query("SELECT count() FROM node_events").rows[0][0])
