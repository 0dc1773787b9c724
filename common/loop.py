"""The event loop of parts that run for months: uvloop's, with a workaround for one of its faults."""

from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

Result = TypeVar("Result")


class Loop(uvloop.Loop):
    """Closes the file of a connection only once. If a peer resets a TLS handshake, uvloop closes the file.

    Later the socket object closes the same number again when it is collected. By then the number can be another
    connection's, for example to Kafka. The loop considers that connection open forever, and the next socket with its
    number raises RuntimeError.

    https://github.com/MagicStack/uvloop/issues/653
    """

    async def create_connection(self, *arguments: Any, sock: Any = None, **options: Any) -> Any:
        """Connect as uvloop does. The loop owns a given socket from then on, even if this fails."""
        try:
            return await super().create_connection(*arguments, sock=sock, **options)
        finally:
            if sock is not None:
                sock.detach()


def run(work: Coroutine[Any, Any, Result]) -> Result:
    return uvloop.run(work, loop_factory=Loop)
