"""The site as a process: it listens until it is asked to stop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager

from common.clock import SYSTEM
from common.door import listening_at
from common.errors import AddressTaken
from common.stopping import stop_on_signals
from common.text import plain
from leadsman.web.reading.settings import PageSettings
from leadsman.web.site.access import is_loopback
from leadsman.web.site.pages import Now
from leadsman.web.site.serve import Site
from sql.database.open import Database


class CannotListen(AddressTaken):
    """The address is in use or not this machine's; the message has what to do."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        reason = plain(error.strerror or error)
        super().__init__(f"{host} port {port} cannot be listened on: {reason}. Name another --port")


def run_site(
    db: Database,
    host: str,
    port: int,
    token: str,
    settings: PageSettings,
    report: Callable[[str], None],
    beside: AbstractAsyncContextManager[None],
) -> None:
    """Serve inside of `beside` until SIGINT or SIGTERM; `report` gets a line with the address. Raises CannotListen.

    An embedded database that is served has no writer: it is a recording.
    """

    async def run() -> None:
        with stop_on_signals() as stop:
            now: Now = (lambda: None) if db.embedded else SYSTEM.now
            async with beside, listening(db, host, port, token, settings, now) as at:
                report(f"the page is at {at} ; Ctrl-C ends it")
                await stop.wait()

    asyncio.run(run())


@asynccontextmanager
async def listening(
    db: Database, host: str, port: int, token: str, settings: PageSettings, now: Now = SYSTEM.now
) -> AsyncIterator[str]:
    """Serve during the block; gives the address. Raises CannotListen."""
    site = Site(db, token, guard_host=is_loopback(host), steps=settings.steps, now=now)
    async with AsyncExitStack() as stack:
        try:
            _, listened = await stack.enter_async_context(listening_at(site.application(), (host, port), site.busy))
        except OSError as error:
            raise CannotListen(host, port, error) from None
        yield address(host, listened)


def address(host: str, port: int) -> str:
    """Format an address for a browser."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
