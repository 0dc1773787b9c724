"""A worker with a fault: `python -m components.faulty raising|slow|slow_seek|frail`, set up as `work` is."""

import asyncio
import contextlib
import dataclasses
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec
from aiokafka import AIOKafkaConsumer

from ingest.model.records import EventRecord, Record
from leadsman.cli.live import run_part
from leadsman.run.settings import load
from leadsman.run.work import run_worker
from streams.analytics.registry import REDUCERS
from streams.fold.reducer import Reducer
from waiting import until

SLOW_SEEK: Final = "slow_seek"
FRAIL: Final = "frail"
"""The reducers of a worker are WITH_FRAIL."""
POISON: Final = "Poison"
FAULT_AFTER: Final = 300
"""Steps of reducers."""
MET: Final = "LEADSMAN_TEST_FAULT_MET"
"""The file that a part makes when it meets its fault."""


def _raising(record: Record) -> None:
    _met()
    raise MemoryError(f"no memory is left for a reducer, at {type(record).__name__}")


class _NoState(msgspec.Struct, frozen=True):
    pass


def _frail(state: _NoState, record: EventRecord) -> tuple[_NoState, tuple[()]]:
    if record.object.reason == POISON:
        raise ZeroDivisionError(record.object.metadata.name)
    return state, ()


WITH_FRAIL: Final = (Reducer("frail", 1, "node", (EventRecord,), _NoState, _frail), *REDUCERS)
"""The reducers, and one that fails on Events of the reason POISON."""


_CALLS: Final = itertools.count()


def _slow(_: Record) -> None:
    _met()
    if next(_CALLS) % 100 == 0:
        time.sleep(0.01)  # the fault itself


def _seek_slowly() -> None:
    """Delays the answer about committed offsets, like a slow Kafka: until something was read, or a second."""
    quick = AIOKafkaConsumer.seek_to_committed

    async def slow(self: AIOKafkaConsumer, *partitions: Any) -> Any:
        found = await quick(self, *partitions)  # type: ignore[no-untyped-call]  # aiokafka's
        logs = [tp for tp in self.assignment() if not tp.topic.endswith("-changelog")]
        before = [await self.position(tp) for tp in logs]

        async def was_read() -> bool:
            return [await self.position(tp) for tp in logs] != before

        with contextlib.suppress(TimeoutError):
            await until(was_read, timeout_seconds=1)
        await asyncio.sleep(0.02)  # the fault itself: a part of it is delivered meanwhile
        return found

    AIOKafkaConsumer.seek_to_committed = slow  # type: ignore[method-assign]


def _met() -> None:
    if MET in os.environ:
        Path(os.environ[MET]).touch()


FAULTS: Final = {"raising": _raising, "slow": _slow}


def _reducers_with(fault: Callable[[Record], None]) -> tuple[Reducer[Any], ...]:
    """The reducers, whose steps meet the fault when they have made FAULT_AFTER."""
    steps = itertools.count()

    def faulty(step: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def stepped(state: Any, record: Record) -> Any:
            if next(steps) >= FAULT_AFTER:
                fault(record)
            return step(state, record)

        return stepped

    return tuple(dataclasses.replace(reducer, step=faulty(reducer.step)) for reducer in REDUCERS)


def main(fault: str) -> None:
    """Run the worker, as its command does."""
    if fault == SLOW_SEEK:
        _seek_slowly()
    reducers = _reducers_with(FAULTS[fault]) if fault in FAULTS else WITH_FRAIL if fault == FRAIL else REDUCERS
    run_part(load(), "work", run_worker(load(), reducers))


if __name__ == "__main__":
    main(sys.argv[1])
