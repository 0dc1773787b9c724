"""The event loop of parts that run for months: uvloop's, without a fault of it."""

from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

Result = TypeVar("Result")


class Loop(uvloop.Loop):
    """Closes the file of a connection once.

    If a peer resets a TLS handshake, uvloop closes the file, and the socket that it was given closes the number again
    when it is forgotten. That number may be another connection's by then, for example of Kafka. That one is then open
    for the loop and never ends, and the next socket with its number raises RuntimeError.

    https://github.com/MagicStack/uvloop/issues/653
    """

    async def create_connection(self, *arguments: Any, sock: Any = None, **options: Any) -> Any:
        """Connect as uvloop does; a socket that is given is the loop's afterwards, also where this fails."""
        try:
            return await super().create_connection(*arguments, sock=sock, **options)
        finally:
            if sock is not None:
                sock.detach()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return uvloop.run(work, loop_factory=Loop)
