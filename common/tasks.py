"""Tasks that end loudly: none outlives the block that began it, and the first to fail ends all the others."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

Begin: TypeAlias = Callable[[Coroutine[Any, Any, object]], asyncio.Task[object]]


@asynccontextmanager
async def tasks() -> AsyncIterator[Begin]:
    """Give what begins a task beside the block. They are cancelled when it ends; the block is when one of them fails.

    What failed first is raised as it is, not in a group, with what failed after it as notes: this is the only place
    that takes a group apart.
    """
    running: set[asyncio.Task[object]] = set()
    failed: list[BaseException] = []

    def ended(task: asyncio.Task[object]) -> None:
        running.discard(task)
        if not task.cancelled() and (error := task.exception()):
            failed.append(error)

    try:
        async with asyncio.TaskGroup() as group:

            def begin(work: Coroutine[Any, Any, object]) -> asyncio.Task[object]:
                task = group.create_task(work)
                running.add(task)
                task.add_done_callback(ended)
                return task

            try:
                yield begin
            except Exception as error:
                failed.append(error)
                raise
            for task in list(running):
                task.cancel()
    except BaseExceptionGroup:
        pass  # raised below, where it is no longer the context of its own part
    if failed:
        for later in failed[1:]:
            failed[0].add_note(f"then: {later!r}")
        raise failed[0]


async def together(works: Iterable[Coroutine[Any, Any, object]]) -> None:
    """Return when all have ended. The first that fails cancels the others, and its error is raised."""
    async with tasks() as begin:
        if running := [begin(work) for work in works]:
            await asyncio.wait(running)
