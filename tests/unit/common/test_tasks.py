"""Tasks beside a block: how they end, and whose error is raised."""

import asyncio
import gc
import re
import threading
import weakref
from collections.abc import Coroutine, Iterator
from contextlib import suppress

import pytest

from common.tasks import Tasks, in_thread, together
from paths import LAYERS, ROOT
from waiting import until

pytestmark = pytest.mark.asyncio


class Endless:
    """Work that goes on until it is cancelled."""

    def __init__(self, then: Exception | None = None) -> None:
        self.begun = asyncio.Event()
        self.ended = False
        self._then = then

    async def run(self) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True
            if self._then:
                raise self._then


async def beside(block: Coroutine[None, None, None], *works: Coroutine[None, None, None]) -> None:
    """The block with the works beside it."""
    async with Tasks() as spawn:
        for work in works:
            spawn(work)
        await block


async def fail(error: Exception, after: Endless | None = None) -> None:
    if after:
        await after.begun.wait()
    raise error


async def test_tasks_have_ended_when_the_block_has() -> None:
    work = Endless()
    async with Tasks() as spawn:
        spawn(work.run())
        await work.begun.wait()
    assert work.ended


async def test_a_task_that_fails_ends_the_block_and_the_others_and_its_own_error_is_raised() -> None:
    work = Endless()
    with pytest.raises(KeyError, match="why"):
        await beside(Endless().run(), work.run(), fail(KeyError("why"), after=work))
    assert work.ended


async def test_the_error_of_the_block_ends_the_tasks() -> None:
    work = Endless()
    with pytest.raises(KeyError, match="why"):
        await beside(fail(KeyError("why"), after=work), work.run())
    assert work.ended


async def test_the_first_error_is_raised_and_keeps_its_cause_and_a_later_one_is_its_note() -> None:
    work = Endless(then=ValueError("while it ended"))
    error = KeyError("why")
    error.__cause__ = OSError("the cause")
    with pytest.raises(KeyError) as raised:
        await beside(Endless().run(), work.run(), fail(error, after=work))
    assert raised.value is error
    assert isinstance(raised.value.__cause__, OSError)
    assert raised.value.__notes__ == ["then: ValueError('while it ended')"]


async def test_what_is_raised_by_a_block_that_a_task_had_ended_does_not_hide_the_task_s_error() -> None:
    with pytest.raises(KeyError, match="why"):
        await beside(Endless(then=ValueError("while it was cancelled")).run(), fail(KeyError("why")))


async def test_a_task_that_is_cancelled_alone_ends_nothing_else() -> None:
    work, other = Endless(), Endless()
    async with Tasks() as spawn:
        task = spawn(work.run())
        spawn(other.run())
        await other.begun.wait()
        task.cancel()
        await asyncio.wait({task})
        assert (work.ended, other.ended) == (True, False)


async def test_a_cancellation_from_outside_passes() -> None:
    work = Endless()
    running = asyncio.ensure_future(beside(Endless().run(), work.run()))
    await work.begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert work.ended


async def test_nested_blocks_raise_the_innermost_error() -> None:
    with pytest.raises(KeyError, match="why"):
        await beside(Endless().run(), together([fail(KeyError("why"))]))


@pytest.mark.parametrize("parts", [0, 3])
async def test_together_waits_for_all(parts: int) -> None:
    ended: list[int] = []

    async def end(number: int) -> None:
        await asyncio.sleep(0)
        ended.append(number)

    await together(end(number) for number in range(parts))
    assert ended == list(range(parts))


async def test_a_thread_has_ended_when_the_task_that_waited_for_it_is_cancelled() -> None:
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def act() -> None:
        begun.set()
        go_on.wait()
        ended.set()

    waiting = asyncio.ensure_future(in_thread(act))
    await until(begun.is_set)
    for _ in range(2):
        waiting.cancel()
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended.is_set()


async def test_an_error_of_a_thread_is_raised_also_where_nobody_waits_for_it_any_more() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def act() -> None:
        begun.set()
        go_on.wait()
        raise KeyError("why")

    async def cancelled() -> None:
        async with Tasks() as spawn:
            spawn(in_thread(act))
            await until(begun.is_set)
            asyncio.get_running_loop().call_soon(go_on.set)

    with pytest.raises(KeyError, match="why"):
        await cancelled()


async def test_a_task_that_handles_the_error_of_a_thread_is_cancelled_all_the_same() -> None:
    begun, go_on = threading.Event(), threading.Event()

    def act() -> None:
        begun.set()
        go_on.wait()
        raise OSError("the disk is full")

    async def again_and_again() -> None:
        while True:
            with suppress(OSError):
                await in_thread(act)
            await asyncio.sleep(0)

    work = asyncio.ensure_future(again_and_again())
    await until(begun.is_set)
    for _ in range(2):
        work.cancel()
        await asyncio.sleep(0)
    go_on.set()
    await asyncio.wait({work}, timeout=5)
    assert work.cancelled()
    assert work.cancelling() == 2


@pytest.mark.parametrize("folder", LAYERS)
async def test_nobody_begins_a_task_by_another_way(folder: str) -> None:
    """One that nobody awaits dies unheard."""
    other_ways = re.compile(r"ensure_future|create_task|TaskGroup")
    files = (ROOT / folder).rglob("*.py")
    assert {file.name for file in files if other_ways.search(file.read_text())} <= {"tasks.py"}


class Opened:
    """A file or connection that closes when nobody holds it any more."""


@pytest.fixture
def no_cycle_search() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_cycle_search")
async def test_what_a_failed_thread_opened_is_closed_when_its_error_is_handled() -> None:
    held: list[weakref.ref[Opened]] = []

    def act() -> None:
        opened = Opened()
        held.append(weakref.ref(opened))
        raise KeyError

    with suppress(KeyError):
        await in_thread(act)
    await asyncio.sleep(0)  # the loop drops the call that it is in
    assert [each() for each in held] == [None]
