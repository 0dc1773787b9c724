"""Which messages were sent before: a header that every message of a publisher has."""

from typing import Final, NamedTuple

from ingest.model.numbers import int64_of

SENT: Final = "sent"
"""The header that distinguishes a message sent again from a later one with the same content."""


class Sent(NamedTuple):
    """Which publisher sent a message, and which one of its messages with that key in that topic it is: the numbers
    rise, by 1 as a rule.
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
