"""The logs of a topic as its changelog has them, however late a writer was: a log's state never goes back. Pure.

Each record is written under its writer's epoch, so that compaction keeps the last one of every writer, and a writer
that was stopped, taken over and resumed changes its own record alone. Of a log's records the furthest is its state.
An owner deletes those of earlier generations after its own is acknowledged, and never others.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

import msgspec

_MARK: Final = b"\0"
_STATE: Final = b"s"
_PROGRESS: Final = b"p"
_NUMBER: Final = 8
"""Bytes."""
_KEY_AT: Final = 2 + 2 * _NUMBER


class Epoch(NamedTuple):
    """A writer in one generation of its group."""

    generation: int
    writer: int
    """At random, since a group that was deleted counts its generations from 1 again."""


BEFORE_EPOCHS: Final = Epoch(0, 0)
"""Of the records of a version that had none; their key is the log's."""


class RecordKey(NamedTuple):
    """The key of a changelog's record. `log` is the log's key; None in a record of a partition's progress."""

    epoch: Epoch
    log: bytes | None

    def encode(self) -> bytes:
        kind = _PROGRESS if self.log is None else _STATE
        numbers = b"".join(each.to_bytes(_NUMBER, "big") for each in self.epoch)
        return _MARK + kind + numbers + (self.log or b"")

    @classmethod
    def decode(cls, key: bytes) -> "RecordKey":
        """Any other key than `encode` writes is a log's, of before epochs."""
        kind = key[1:2]
        if key[:1] != _MARK or kind not in {_STATE, _PROGRESS} or len(key) < _KEY_AT:
            return cls(BEFORE_EPOCHS, key)
        epoch = Epoch(int.from_bytes(key[2 : 2 + _NUMBER], "big"), int.from_bytes(key[2 + _NUMBER : _KEY_AT], "big"))
        return cls(epoch, key[_KEY_AT:] if kind == _STATE else None)


class _Reached(msgspec.Struct, array_like=True):
    """The beginning of a state as `TableCodec` stores it."""

    offset: int
    log: msgspec.Raw = msgspec.Raw()
    emitted: msgspec.Raw = msgspec.Raw()
    shift: int = 0


_reached: Final = msgspec.msgpack.Decoder(_Reached).decode
_progress: Final = msgspec.msgpack.Decoder(int).decode
encode_progress: Final = msgspec.msgpack.Encoder().encode
"""The value of a progress record: the offset before which all messages of the partition are in its states."""


def how_far(state: bytes) -> tuple[int, int]:
    """Of two states of a log the greater is the later one: a recreated topic shifts its offsets up."""
    reached = _reached(state)
    return reached.shift, reached.offset


class _Log:
    __slots__ = ("epochs", "far", "partition", "value")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.epochs: set[Epoch] = set()
        self.value = b""
        self.far = (-1, -1)


class Changelog:
    """The states of the partitions that a worker has, and whose records there are of them."""

    def __init__(self) -> None:
        self.owned: frozenset[int] = frozenset()
        """Partitions of which all was read that others wrote."""
        self._logs: dict[bytes, _Log] = {}
        self._progress: dict[int, int] = {}
        self._progress_epochs: dict[int, set[Epoch]] = {}

    def apply(self, partition: int, key: bytes, value: bytes | None) -> None:
        """Take up a record, as read or as written; None deletes it."""
        epoch, log = RecordKey.decode(key)
        if log is None:
            self._apply_progress(partition, epoch, value)
        elif value is None:
            self._delete(epoch, log)
        else:
            found = self._logs.setdefault(log, _Log(partition))
            found.partition = partition
            found.epochs.add(epoch)
            far = how_far(value)
            if far >= found.far:
                found.value, found.far = value, far

    def get(self, log: bytes) -> bytes | None:
        """The furthest state."""
        found = self._logs.get(log)
        return None if found is None else found.value

    def covered(self, partition: int) -> int | None:
        """The offset before which everything is in a state; 0 where there is no state, None where none shows it."""
        if partition in self._progress:
            return self._progress[partition]
        return None if any(each.partition == partition for each in self._logs.values()) else 0

    def superseded(self, log: bytes, by: Epoch) -> Iterator[bytes]:
        """Keys of the records that an owner deletes once its own state of the log is acknowledged."""
        found = self._logs.get(log)
        yield from _earlier(set() if found is None else found.epochs, log, by)

    def records(self, log: bytes) -> list[bytes]:
        """Keys of all that is known of a log: what its owner deletes once the log has no state any more."""
        found = self._logs.get(log)
        return [] if found is None else [_key(epoch, log) for epoch in sorted(found.epochs)]

    def superseded_progress(self, partition: int, by: Epoch) -> Iterator[bytes]:
        """As `superseded`, of a partition's progress."""
        yield from _earlier(self._progress_epochs.get(partition, set()), None, by)

    def logs(self, partition: int) -> list[bytes]:
        """Their keys."""
        return [key for key, each in self._logs.items() if each.partition == partition]

    def begin(self, partitions: AbstractSet[int]) -> None:
        """All of these was read, and no other process writes it; what other partitions have is forgotten."""
        self.owned = frozenset(partitions)
        self._logs = {key: each for key, each in self._logs.items() if each.partition in partitions}
        for gone in self._progress_epochs.keys() - partitions:
            del self._progress_epochs[gone]
            self._progress.pop(gone, None)

    def end(self) -> None:
        """Others may write."""
        self.owned = frozenset()

    def _delete(self, epoch: Epoch, log: bytes) -> None:
        found = self._logs.get(log)
        if found is None:
            return
        found.epochs.discard(epoch)
        if not found.epochs:
            del self._logs[log]

    def _apply_progress(self, partition: int, epoch: Epoch, value: bytes | None) -> None:
        epochs = self._progress_epochs.setdefault(partition, set())
        if value is None:
            epochs.discard(epoch)
        else:
            epochs.add(epoch)
            self._progress[partition] = max(_progress(value), self._progress.get(partition, 0))


def _earlier(epochs: AbstractSet[Epoch], log: bytes | None, by: Epoch) -> Iterator[bytes]:
    for epoch in sorted(epochs):
        if epoch.generation < by.generation:
            yield _key(epoch, log)


def _key(epoch: Epoch, log: bytes | None) -> bytes:
    return log if epoch == BEFORE_EPOCHS and log is not None else RecordKey(epoch, log).encode()
