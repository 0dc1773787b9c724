"""Tasks whose failure ends their block: none outlives the block, and SIGTERM ends endless work."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from types import TracebackType
from typing import Any, Final, TypeAlias, TypeVar

Result = TypeVar("Result")
Spawn: TypeAlias = Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]]


class Tasks:
    """A block with background tasks, which are cancelled when it ends. The first task that fails cancels the block.

    Its error is raised unchanged, not in a group, with later errors as notes. No other module unpacks an exception
    group.
    """

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[object]] = set()
        self._failed: list[BaseException] = []

    async def __aenter__(self) -> Spawn:
        await self._group.__aenter__()
        return self._spawn

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            for task in list(self._running):
                task.cancel()
        elif not isinstance(error, asyncio.CancelledError) and error not in self._failed:
            self._failed.append(error)
        try:
            await self._group.__aexit__(kind, error, trace)
        except BaseExceptionGroup:
            if not self._failed:
                raise
        if self._failed:
            first, *others = self._failed
            for other in others:
                first.add_note(f"then: {other!r}")
            raise first

    def _spawn(self, work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
        task = self._group.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._failed.append(error)


async def together(coroutines: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Return when all have ended. The first failure cancels the others and is raised."""
    async with Tasks() as spawn:
        if running := [spawn(work) for work in coroutines]:
            await asyncio.wait(running)


def detached(work: Coroutine[Any, Any, Result]) -> "asyncio.Task[Result]":
    """Start a task that outlives its block.

    The caller awaits or cancels it; asyncio logs the failure of a dropped task.
    """
    return asyncio.get_running_loop().create_task(work)


async def in_thread(act: Callable[[], Result]) -> Result:
    """Run `act` in a thread and return its result.

    If the caller is cancelled meanwhile, it waits until `act` has ended: a thread cannot be stopped, and nothing else
    may use its objects. If `act` then fails, its error is raised, and the cancellation is requested again: a caller
    that handles the error is cancelled at its next await.
    """
    running = detached(asyncio.to_thread(act))
    cancelled: asyncio.CancelledError | None = None
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None and running.exception() is None:
        raise cancelled
    if cancelled is not None and (task := asyncio.current_task()):
        task.uncancel()  # the count of requests stays the same
        task.cancel()
    try:
        return running.result()
    finally:
        del running, cancelled  # avoids a cycle of error and frame, so that what the frame opened closes at once


_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def stop_on_signals() -> Iterator[asyncio.Event]:
    """Yield an event that SIGTERM and SIGINT set instead of ending the process.

    It needs the main thread's event loop.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    try:
        yield stop
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


async def run_until(stop: asyncio.Event, work: Coroutine[Any, Any, None], *, seconds: float | None = None) -> None:
    """Run the work until it ends; cancel it when `stop` is set or the seconds are over. Raises its errors."""
    async with Tasks() as spawn:
        await asyncio.wait({spawn(work), spawn(stop.wait())}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)


@asynccontextmanager
async def grace(stop: asyncio.Event, seconds: float) -> AsyncIterator[None]:
    """Require the block to end within this time once `stop` is set; raises TimeoutError if it does not."""
    async with asyncio.timeout(None) as limit, Tasks() as spawn:

        async def set_limit() -> None:
            await stop.wait()
            limit.reschedule(asyncio.get_running_loop().time() + seconds)

        spawn(set_limit())
        yield
