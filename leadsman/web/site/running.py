"""The site as a process: it listens until it is asked to stop."""

import asyncio
import signal
from collections.abc import Callable

from aiohttp import web

from leadsman.web.site.access import is_loopback
from leadsman.web.site.serve import Site
from sql.database.open import Database


def run_site(db: Database, host: str, port: int, token: str, report: Callable[[str], None]) -> None:
    """Serve until SIGINT or SIGTERM; `report` gets a line with the address. Raises OSError where it cannot listen."""
    asyncio.run(_run(db, host, port, token, report))


async def _run(db: Database, host: str, port: int, token: str, report: Callable[[str], None]) -> None:
    site = Site(db, token, guard_host=is_loopback(host))
    runner = web.AppRunner(site.application(), access_log=None)
    await runner.setup()
    ended = _ended()
    try:
        listener = web.TCPSite(runner, host, port)
        await listener.start()
        report(f"the page is at {address(host, _port(runner, port))} ; Ctrl-C ends it")
        await ended.wait()
    finally:
        await runner.cleanup()


def address(host: str, port: int) -> str:
    """As a browser takes it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def _port(runner: web.AppRunner, port: int) -> int:
    return port or int(runner.addresses[0][1])


def _ended() -> asyncio.Event:
    """Set by SIGINT or SIGTERM, from now on."""
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    return ended
