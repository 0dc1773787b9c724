"""Sends messages through a pipe, each after its length in 4 bytes."""

from typing import IO, Final

_LENGTH_BYTES: Final = 4


def write_frame(into: IO[bytes], message: bytes) -> None:
    """Write a message of less than 4 GiB, at once."""
    into.write(len(message).to_bytes(_LENGTH_BYTES) + message)
    into.flush()


def read_frame(of: IO[bytes]) -> bytes | None:
    """Return the next message; None if the pipe ends before the message is complete."""
    length = of.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    size_bytes = int.from_bytes(length)
    message = of.read(size_bytes)
    return message if len(message) == size_bytes else None
