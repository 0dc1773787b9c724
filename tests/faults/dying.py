"""A worker or lander that dies or is paused at one exact moment: `python -m faults.dying MOMENT [SIGKILL|SIGSTOP]`,
settings in the environment.
"""

import asyncio
import itertools
import os
import signal
import sys
from inspect import iscoroutinefunction
from typing import Any, Final, Literal, NamedTuple

import uvloop

from leadsman.run.land import run_lander
from leadsman.run.settings import load
from leadsman.run.work import run_worker
from sql.database.open import Database
from sql.landing.portions import PortionStore
from streams.kafka.landing.consumer import Landing
from streams.kafka.states import LogStates

SURVIVED: Final = 2
"""Times that it passes the moment before it dies: it is in the middle of its work then."""
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
    "after its findings": Moment("before", LogStates, "write_pieces"),
    "before its states": Moment("before", LogStates, "write_heads"),
    "between two states": Moment("after", LogStates, "_send"),
    "before what its states cover": Moment("before", LogStates, "cover"),
}


def _meets(moment: Moment, sent: signal.Signals) -> None:
    method = getattr(moment.owner, moment.method)

    def passes(when: str) -> None:
        if when == moment.when and next(_passed) == SURVIVED:
            os.kill(os.getpid(), sent)

    def called(*arguments: Any) -> Any:
        passes("before")
        result = method(*arguments)
        passes("after")
        return result

    async def awaited(*arguments: Any) -> Any:
        passes("before")
        result = await method(*arguments)
        if isinstance(result, asyncio.Future):
            await result
        passes("after")
        return result

    setattr(moment.owner, moment.method, awaited if iscoroutinefunction(method) else called)


def main(name: str, sent: str = "SIGKILL") -> None:
    """Run until the moment has come; afterwards too, when it is continued."""
    _meets({**OF_A_LANDER, **OF_A_WORKER}[name], signal.Signals[sent])
    uvloop.run((run_lander if name in OF_A_LANDER else run_worker)(load()))


if __name__ == "__main__":
    main(*sys.argv[1:])
