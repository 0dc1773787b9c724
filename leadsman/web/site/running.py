"""The site as a process: it listens until it is asked to stop."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from common.errors import AddressTaken
from common.stopping import stop_on_signals
from common.text import plain
from leadsman.web.site.access import is_loopback
from leadsman.web.site.serve import Site
from sql.database.open import Database


class CannotListen(AddressTaken):
    """The address is in use or not this machine's; the message has what to do."""


def run_site(db: Database, host: str, port: int, token: str, report: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `report` gets a line with the address. Raises CannotListen."""
    asyncio.run(_run(db, host, port, token, report))


async def _run(db: Database, host: str, port: int, token: str, report: Callable[[str], None]) -> None:
    with stop_on_signals() as stop:
        async with listening(db, host, port, token) as at:
            report(f"the page is at {at} ; Ctrl-C ends it")
            await stop.wait()


@asynccontextmanager
async def listening(db: Database, host: str, port: int, token: str) -> AsyncIterator[str]:
    """Serve during the block; gives the address. Raises CannotListen."""
    site = Site(db, token, guard_host=is_loopback(host))
    runner = web.AppRunner(site.application(), access_log=None, handler_cancellation=True)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            reason = plain(error.strerror or error)
            raise CannotListen(f"{host} port {port} cannot be listened on: {reason}. Name another --port") from None
        yield address(host, _port(runner, port))
    finally:
        await runner.cleanup()


def address(host: str, port: int) -> str:
    """As a browser takes it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _port(runner: web.AppRunner, port: int) -> int:
    return port or int(runner.addresses[0][1])
