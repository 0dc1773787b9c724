"""Kubelets that cost almost nothing: one process, one port, an address of 127.64.0.0/10 for each node.

`python -m bench.scale.stubs PORT NODES PODS CERTIFICATE KEY` prints a line when it listens.
"""

import asyncio
import ssl
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

import uvloop

from .answers import Answers

_END: Final = b"\r\n\r\n"


def address(node: int) -> str:
    """Address of a node's kubelet."""
    return f"127.{64 + (node >> 16)}.{node >> 8 & 255}.{node & 255}"


def node_at(host: str) -> int:
    """Return the node that has the address."""
    _, high, middle, low = map(int, host.split("."))
    return (high - 64 << 16) + (middle << 8) + low


class _Kubelet(asyncio.Protocol):
    """One connection: HTTP/1.1, kept alive, GET only."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._received = b""
        self._node = 0
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._node = node_at(transport.get_extra_info("sockname")[0])

    def data_received(self, data: bytes) -> None:
        *requests, self._received = (self._received + data).split(_END)
        for request in requests:
            body = self._answers.body(request.split(b" ", 2)[1], self._node, datetime.now(UTC))
            status = b"200 OK" if body else b"404 Not Found"
            self._transport.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body))


async def _serve(numbers: Sequence[int], files: Sequence[str]) -> None:
    port, nodes, pods = numbers
    certificate, key = files
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    hosts = [address(node) for node in range(nodes)]
    server = await loop.create_server(partial(_Kubelet, Answers(pods)), hosts, port, ssl=tls, backlog=64)
    print("listening", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve([int(number) for number in sys.argv[1:4]], sys.argv[4:6]))
