"""A log's state as the bytes that a table and its changelog keep."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from streams.checkpoints import StateCodec
from streams.fold import LogState
from streams.reducer import Reducer

NOTHING_FOLDED: Final = -1


class Emission(NamedTuple):
    """Where a record was emitted: the log's key, the offset of the record that caused it, and which one of it."""

    origin: str
    offset: int
    number: int

    def header(self) -> bytes:
        """The value of the header `origin`."""
        return f"{self.offset} {self.number} {self.origin}".encode(errors="surrogatepass")

    @classmethod
    def parse(cls, header: bytes) -> "Emission":
        """Raises ValueError where `header` did not write it."""
        offset, number, origin = header.decode(errors="surrogatepass").split(" ", 2)
        return cls(origin, int(offset), int(number))


class Folded(NamedTuple):
    """A log's state and what is in it already: records up to `offset` are not folded again.

    `emitted` is the offset and number of the last record that each other log emitted into this one: a worker that
    died after emitting and before its state was stored emits the same again.
    """

    offset: int
    log: LogState
    emitted: Mapping[str, tuple[int, int]]

    def has(self, emission: Emission) -> bool:
        """Whether an emitted record was folded before."""
        return self.emitted.get(emission.origin, (NOTHING_FOLDED, 0)) >= (emission.offset, emission.number)


class _Stored(msgspec.Struct, array_like=True):
    offset: int
    log: bytes
    emitted: dict[str, tuple[int, int]] = {}


class TableCodec:
    """A log's state as the value of a table's key. A reducer's state of another version is dropped, never misread."""

    def __init__(self, reducers: Sequence[Reducer[Any]]) -> None:
        self._states = StateCodec(reducers)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decode = msgspec.msgpack.Decoder(_Stored).decode

    def encode(self, folded: Folded) -> bytes:
        return self._encode(_Stored(folded.offset, self._states.encode(folded.log), dict(folded.emitted)))

    def decode(self, value: bytes | None) -> Folded:
        """The state of a key; of one that was never seen where there is no value."""
        if value is None:
            return Folded(NOTHING_FOLDED, LogState(), {})
        stored = self._decode(value)
        return Folded(stored.offset, self._states.decode(stored.log), stored.emitted)
