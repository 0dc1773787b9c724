"""A header in every message of a publisher, by which repeated messages are recognised."""

from typing import Final, NamedTuple

from ingest.model.numbers import int64_of

SENT: Final = "sent"
"""The header that distinguishes a message sent again from a later one with the same content."""


class Sent(NamedTuple):
    """The publisher of a message, and the message's number for that key in that topic. The numbers rise, usually by
    1.
    """

    publisher: str
    number: int

    def header(self) -> bytes:
        return f"{self.number} {self.publisher}".encode()

    @classmethod
    def parse(cls, header: bytes) -> "Sent":
        """Raises ValueError where `header` did not write it."""
        number, publisher = header.decode().split(" ", 1)
        return cls(publisher, int64_of(number))
