"""A worker, lander or watcher that dies or is paused at one exact moment: `python -m faults.dying MOMENT
[SIGKILL|SIGSTOP]`, settings in the environment.

One that is paused has sessions of SESSION_SECONDS, so that it is taken over soon, and prints WENT_ON when it was
resumed and has done what it was about to do.
"""

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple

import uvloop

import ingest.apiserver.leader
import streams.kafka.app
import streams.kafka.landing.consumer
from common.tasks import stop_on_signals
from ingest.apiserver.progress import Progress
from ingest.apiserver.versions import VersionFile
from ingest.kafka.replay import Feed
from leadsman.run.land import run_lander
from leadsman.run.settings import Settings, load
from leadsman.run.watch import run_watcher
from leadsman.run.work import run_worker
from sql.database.open import Database
from sql.landing.portions import PortionStore
from streams.kafka.landing.consumer import Landing
from streams.kafka.membership import Membership
from streams.kafka.states import LogStates

SURVIVED: Final = 2
"""Times that it passes the moment before it dies: it is in the middle of its work then."""
SESSION_SECONDS: Final = 7
WENT_ON: Final = "it goes on after its pause"
_passed: Final = itertools.count()


class Moment(NamedTuple):
    """Before or after a call of a method."""

    when: Literal["before", "after"]
    owner: Any
    method: str


OF_A_LANDER: Final = {
    "after its intent": Moment("before", PortionStore, "__call__"),
    "between two tables": Moment("after", Database, "insert"),
    "after its inserts": Moment("after", PortionStore, "__call__"),
    "after its commit": Moment("after", Landing, "_land"),
}
OF_A_WORKER: Final = {
    "before a request to Kafka": Moment("before", Membership, "assured"),
    "after its findings": Moment("before", LogStates, "write_pieces"),
    "before its states": Moment("before", LogStates, "write_heads"),
    "between two states": Moment("after", LogStates, "_send"),
    "before what its states cover": Moment("before", LogStates, "cover"),
}
OF_A_WATCHER: Final = {
    "at the end of a list": Moment("before", Progress, "listed"),
    "before it publishes": Moment("before", Feed, "publish"),
    "after it published": Moment("after", Feed, "publish"),
    "before it stores versions": Moment("before", VersionFile, "save"),
    "after it stored versions": Moment("after", VersionFile, "save"),
}


async def _watch(settings: Settings) -> None:
    with stop_on_signals() as stop:
        await run_watcher(settings.kafka, settings.live(), stop)


PARTS: Final[dict[str, Callable[[Settings], Coroutine[Any, Any, None]]]] = {
    **dict.fromkeys(OF_A_LANDER, run_lander),
    **dict.fromkeys(OF_A_WORKER, run_worker),
    **dict.fromkeys(OF_A_WATCHER, _watch),
}


def _meets(moment: Moment, sent: signal.Signals) -> None:
    method = getattr(moment.owner, moment.method)

    def passes(when: str) -> bool:
        """Whether this is where it was paused."""
        if when != moment.when or next(_passed) != SURVIVED:
            return False
        os.kill(os.getpid(), sent)
        return True

    def called(*arguments: Any) -> Any:
        paused = passes("before")
        try:
            result = method(*arguments)
            paused = paused or passes("after")
        finally:
            _goes_on(paused)
        return result

    async def awaited(*arguments: Any) -> Any:
        paused = passes("before")
        try:
            result = await method(*arguments)
            if isinstance(result, asyncio.Future):
                await result
            paused = paused or passes("after")
        finally:
            _goes_on(paused)
        return result

    setattr(moment.owner, moment.method, awaited if iscoroutinefunction(method) else called)


def _goes_on(was_paused: bool) -> None:
    if was_paused:
        sys.stdout.write(f"{WENT_ON}\n")
        sys.stdout.flush()


def _is_taken_over_soon() -> None:
    streams.kafka.app.SESSION_SECONDS = SESSION_SECONDS  # type: ignore[misc]
    streams.kafka.landing.consumer.SESSION_MS = SESSION_SECONDS * 1000  # type: ignore[misc]
    ingest.apiserver.leader.LEASE_SECONDS = SESSION_SECONDS  # type: ignore[misc]
    ingest.apiserver.leader.RENEW_DEADLINE_SECONDS = SESSION_SECONDS - 2  # type: ignore[misc]


def main(name: str, sent: str = "SIGKILL") -> None:
    """Run until the moment has come; afterwards too, when it is continued."""
    _meets({**OF_A_LANDER, **OF_A_WORKER, **OF_A_WATCHER}[name], signal.Signals[sent])
    if sent == "SIGSTOP":
        _is_taken_over_soon()
    uvloop.run(PARTS[name](load()))


if __name__ == "__main__":
    main(*sys.argv[1:])
