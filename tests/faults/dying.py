"""A worker, lander or watcher that dies or is paused at one fail point: `python -m faults.dying FAIL_POINT
[SIGKILL|SIGSTOP]`, settings in the environment.

One that is paused has sessions of SESSION_SECONDS, so that it is taken over soon, and prints WENT_ON when it was
resumed and has done what it was about to do.
"""

import asyncio
import itertools
import os
import signal
import sys
from collections.abc import Coroutine
from importlib import import_module
from inspect import iscoroutinefunction
from pkgutil import resolve_name
from typing import Any, Final, Literal, NamedTuple

from common.loop import run
from common.tasks import stop_on_signals
from leadsman.run.settings import Settings, load

SURVIVED: Final = 2
"""Times that it passes the fail point before it dies: it is in the middle of its work then."""
SESSION_SECONDS: Final = 7
WENT_ON: Final = "it goes on after its pause"
_passed: Final = itertools.count()


class FailPoint(NamedTuple):
    """Before or after a call of a method, by its module and name: a part imports only what it needs."""

    when: Literal["before", "after"]
    method: str


OF_A_LANDER: Final = {
    "after its intent": FailPoint("before", "sql.landing.portions:PortionStore.__call__"),
    "between two tables": FailPoint("after", "sql.database.open:Database.insert"),
    "after its inserts": FailPoint("after", "sql.landing.portions:PortionStore.__call__"),
    "after its commit": FailPoint("after", "streams.kafka.landing.consumer:Landing._land"),
}
OF_A_WORKER: Final = {
    "before a request to Kafka": FailPoint("before", "streams.kafka.membership:Membership.assured"),
    "after its findings": FailPoint("before", "streams.kafka.states:LogStates.write_pieces"),
    "before its states": FailPoint("before", "streams.kafka.states:LogStates.write_heads"),
    "between two states": FailPoint("after", "streams.kafka.states:LogStates._send"),
    "before what its states cover": FailPoint("before", "streams.kafka.states:LogStates.write_progress"),
}
OF_A_WATCHER: Final = {
    "at the end of a list": FailPoint("before", "ingest.apiserver.progress:Progress.listed"),
    "before it publishes": FailPoint("before", "ingest.kafka.replay:Feed.publish"),
    "after it published": FailPoint("after", "ingest.kafka.replay:Feed.publish"),
    "before it stores versions": FailPoint("before", "ingest.apiserver.versions:VersionFile.save"),
    "after it stored versions": FailPoint("after", "ingest.apiserver.versions:VersionFile.save"),
}


def _meets(fail_point: FailPoint, sent: signal.Signals) -> None:
    of, _, name = fail_point.method.rpartition(".")
    owner = resolve_name(of)
    method = getattr(owner, name)

    def passes(when: str) -> bool:
        """Return whether this is where it was paused."""
        if when != fail_point.when or next(_passed) != SURVIVED:
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

    setattr(owner, name, awaited if iscoroutinefunction(method) else called)


def _goes_on(was_paused: bool) -> None:
    if was_paused:
        sys.stdout.write(f"{WENT_ON}\n")
        sys.stdout.flush()


def _soon_taken_over(module: str, **seconds: int) -> None:
    for name, value in seconds.items():
        setattr(import_module(module), name, value)


def _part(fail_point: str, soon: bool) -> Coroutine[Any, Any, None]:
    """The part that meets the fail point, with short sessions if it is taken over `soon`."""
    settings = load()
    if fail_point in OF_A_LANDER:
        if soon:
            _soon_taken_over("streams.kafka.landing.consumer", SESSION_MS=SESSION_SECONDS * 1000)
        from leadsman.run.land import run_lander  # noqa: PLC0415 - a part imports only what it needs

        return run_lander(settings)
    if fail_point in OF_A_WORKER:
        if soon:
            _soon_taken_over("streams.kafka.app", SESSION_SECONDS=SESSION_SECONDS)
        from leadsman.run.work import run_worker  # noqa: PLC0415

        return run_worker(settings)
    if soon:
        lease = {"LEASE_SECONDS": SESSION_SECONDS, "RENEW_DEADLINE_SECONDS": SESSION_SECONDS - 2}
        _soon_taken_over("ingest.apiserver.leader", **lease)
    return _watch(settings)


async def _watch(settings: Settings) -> None:
    from leadsman.run.watch import run_watcher  # noqa: PLC0415

    with stop_on_signals() as stop:
        await run_watcher(settings.kafka, settings.live(), stop)


def main(name: str, sent: str = "SIGKILL") -> None:
    """Run until the fail point is reached; afterwards too, when it is continued."""
    _meets({**OF_A_LANDER, **OF_A_WORKER, **OF_A_WATCHER}[name], signal.Signals[sent])
    run(_part(name, sent == "SIGSTOP"))


if __name__ == "__main__":
    main(*sys.argv[1:])
