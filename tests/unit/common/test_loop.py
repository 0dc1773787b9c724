"""Connections that a peer ends while they begin."""

import asyncio
import os
import socket
import ssl
import struct

import pytest

from common import loop

AT_ONCE = struct.pack("ii", 1, 0)


def test_a_peer_that_resets_a_handshake_closes_no_other_connection() -> None:
    """Regression: the number of the closed file was closed again when the socket was forgotten, whoever had it."""

    async def connect() -> None:
        running = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as server:
            sock: socket.socket | None = socket.socket()
            assert sock is not None
            sock.setblocking(False)
            await running.sock_connect(sock, server.getsockname())
            number = sock.fileno()
            peer, _ = server.accept()
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
            peer.close()
            with pytest.raises(ConnectionResetError):
                await running.create_connection(
                    asyncio.Protocol, sock=sock, ssl=ssl.create_default_context(), server_hostname="kubelet"
                )
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(number)
            os.dup2(server.fileno(), number)
            sock = None
            os.close(number)  # OSError if it was closed

    loop.run(connect())


def test_a_connection_over_a_given_socket_is_as_ever() -> None:
    async def talk() -> bytes:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await reader.readexactly(4))
            writer.close()

        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            sock = socket.create_connection(server.sockets[0].getsockname())
            sock.setblocking(False)
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(b"ping")
            answered = await reader.read()
            writer.close()
            await writer.wait_closed()
            return answered

    assert loop.run(talk()) == b"ping"
