"""Reads the logs of a topic from their changelog. A log's state never goes back, however late a writer was. Pure.

1. A head is a log's state, and refers to the pieces of its parts. Heads are written under their writer's epoch, so
that compaction keeps the last one of every writer. Pieces are never overwritten.

2. A head refers only to pieces of its own epoch, and is written after they are acknowledged. So a writer that was
stopped, taken over and resumed changes only what its own heads need.

3. The furthest of a log's heads whose pieces are all present is its state.

4. After its own head is acknowledged, an owner deletes the records of earlier generations, and its own pieces that
it no longer needs. It deletes nothing else of a log that continues.

5. A new leader can lack the end of the changelog, and the owner may then write on. So a progress record carries a
digest of the heads that it relies on. It counts only if the records before it have these heads, and no longer than
the records after it leave each log as far.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

import msgspec

from streams.kafka.codec import Head
from streams.kafka.parts import Stored

_MARK: Final = b"\0"
_HEAD: Final = b"s"
_PIECE: Final = b"t"
_PROGRESS: Final = b"p"
_NUMBER: Final = 8
"""Bytes of a number in a key."""


class Epoch(NamedTuple):
    """A writer in one generation of its group."""

    generation: int
    writer: int
    """A random number, because generations of a deleted group start from 1 again."""


BEFORE_EPOCHS: Final = Epoch(0, 0)
"""Epoch of records from a version without epochs; their key is the log's."""


class RecordKey(NamedTuple):
    """The key of a changelog's record: `log` is None for a partition's progress, `piece` is None for a head."""

    epoch: Epoch
    log: bytes | None
    piece: int | None = None

    def encode(self) -> bytes:
        if self.epoch == BEFORE_EPOCHS and self.log is not None:
            return self.log
        kind = _PROGRESS if self.log is None else _HEAD if self.piece is None else _PIECE
        numbers = (*self.epoch, *(() if self.piece is None else (self.piece,)))
        return _MARK + kind + b"".join(each.to_bytes(_NUMBER, "big") for each in numbers) + (self.log or b"")

    @classmethod
    def decode(cls, key: bytes) -> "RecordKey":
        """Read a key. One that `encode` did not write is the log's key of a version without epochs."""
        kind = key[1:2]
        numbers = 3 if kind == _PIECE else 2
        log_at = 2 + numbers * _NUMBER
        if key[:1] != _MARK or kind not in {_HEAD, _PIECE, _PROGRESS} or len(key) < log_at:
            return cls(BEFORE_EPOCHS, key)
        generation, writer, *piece = [
            int.from_bytes(key[at : at + _NUMBER], "big") for at in range(2, log_at, _NUMBER)
        ]
        log = None if kind == _PROGRESS else key[log_at:]
        return cls(Epoch(generation, writer), log, *piece)


_head: Final = msgspec.msgpack.Decoder(Head).decode
_progress: Final = msgspec.msgpack.Decoder(int).decode
encode_progress: Final = msgspec.msgpack.Encoder().encode
"""The value of a progress record: the offset before which all messages of the partition are in its states."""
Headers: TypeAlias = Sequence[tuple[str, bytes]]
RELIES_ON: Final = "relies-on"
"""The header of a progress record with its digest. Earlier versions neither write nor read it."""


class _Progress(NamedTuple):
    generation: int
    """Progress of an earlier generation does not count: its writer was paused, and its states may be deleted."""
    offset: int


_NO_PROGRESS: Final = _Progress(0, 0)


class LastMessage(NamedTuple):
    """The last message that a state contains; none of its messages is newer than `newest_ms`, by Kafka's time."""

    newest_ms: int
    offset: int


class _Read:
    __slots__ = ("far", "identity", "is_empty", "last", "pieces", "value")

    def __init__(self, key: bytes, value: bytes) -> None:
        head = _head(value)
        self.value = value
        self.far = head.far
        self.identity = int.from_bytes(blake2b(b"%d %d %d " % head.far + key, digest_size=_NUMBER).digest())
        self.is_empty = head.is_empty
        self.last = None if head.newest is None else LastMessage(round(head.newest * 1000), head.offset - head.shift)
        self.pieces = frozenset(number for numbers in head.parts.values() for number in numbers)


class _Log:
    __slots__ = ("basis", "floor", "heads", "partition", "pieces")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.heads: dict[Epoch, _Read] = {}
        self.pieces: dict[Epoch, dict[int, bytes]] = {}
        self.basis: _Read | None = None
        """The head that is in the sum of its partition."""
        self.floor: tuple[int, int] | None = None
        """The position of the head that its partition's progress relies on."""

    def best(self) -> tuple[Epoch, _Read] | None:
        """Return the furthest head whose pieces are all present."""
        whole = [each for each in self.heads.items() if self._is_whole(*each)]
        return max(whole, key=lambda each: (each[1].far[:2], each[0]), default=None)

    def basis_of(self, epoch: Epoch) -> _Read | None:
        """Return the head that progress of this epoch relies on: its own or, before there is one, the furthest.

        A paused writer of an earlier generation cannot change it. An empty state has nothing to lose.
        """
        head = self.heads.get(epoch)
        if head is None or not self._is_whole(epoch, head):
            best = self.best()
            head = None if best is None else best[1]
        return None if head is None or head.is_empty else head

    def went_back(self) -> bool:
        """Tell whether the log's state is older than progress claims."""
        if self.floor is None:
            return False
        best = self.best()
        if best is not None and best[1].is_empty and best[1].far[:2] >= self.floor:
            self.floor = None  # the log is about to be forgotten
            return False
        return best is None or best[1].far[:2] < self.floor

    def _is_whole(self, epoch: Epoch, head: _Read) -> bool:
        return not head.pieces or head.pieces <= self.pieces.get(epoch, {}).keys()

    def is_empty_before(self, offset: int) -> bool:
        best = self.best()
        if best is None:
            return True
        shift, reached, _ = best[1].far
        return best[1].is_empty and reached - shift < offset


def _identity(head: _Read | None) -> int:
    return 0 if head is None else head.identity


class _Basis:
    """A sum of hashes of the heads that progress of a partition relies on, whose order is not kept.

    There are many more logs and progress records than logs that change in between.
    """

    __slots__ = ("_changed", "_epoch", "_found", "_sum")

    def __init__(self) -> None:
        self._epoch = BEFORE_EPOCHS
        self._sum = 0
        self._changed: set[_Log] = set()
        """Logs changed since the last sum, and those `_found` to have changed since progress counted."""
        self._found: set[_Log] = set()

    def change(self, log: _Log) -> None:
        self._changed.add(log)

    def leave(self, log: _Log) -> None:
        """Remove a log that now belongs to another partition."""
        self._sum -= _identity(log.basis)
        log.basis = log.floor = None
        self._changed.discard(log)
        self._found.discard(log)

    def digest(self, epoch: Epoch, logs: Iterable[_Log]) -> bytes:
        """Return the digest for progress of this epoch; `logs` are all of the partition."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._changed.update(logs)
        for log in self._changed:
            before, log.basis = log.basis, log.basis_of(epoch)
            self._sum += _identity(log.basis) - _identity(before)
        self._found |= self._changed
        self._changed.clear()
        return (self._sum % (1 << 8 * _NUMBER)).to_bytes(_NUMBER)

    def count(self) -> None:
        """Accept progress that relies on the last sum of heads."""
        for log in self._found:
            log.floor = None if log.basis is None else log.basis.far[:2]
        self._found.clear()


class Changelog:
    """Holds the states of a worker's partitions, and which writers' records exist of them."""

    def __init__(self) -> None:
        self.owned: frozenset[int] = frozenset()
        """Partitions whose records by other writers were all read."""
        self._logs: dict[bytes, _Log] = {}
        self._bases: defaultdict[int, _Basis] = defaultdict(_Basis)
        self._progress: dict[int, _Progress] = {}
        self._progress_epochs: dict[int, set[Epoch]] = {}

    def apply(self, partition: int, key: bytes, value: bytes | None, headers: Headers = ()) -> None:
        """Apply a record that was read or written, in the order of the changelog; a value of None deletes it."""
        epoch, log, piece = RecordKey.decode(key)
        if log is None:
            self._apply_progress(partition, epoch, value, dict(headers).get(RELIES_ON))
        elif value is None:
            self._delete(epoch, log, piece)
        else:
            found = self._logs.setdefault(log, _Log(partition))
            if found.partition != partition:  # a publisher chose this partition, against our rule
                self._bases[found.partition].leave(found)
                found.partition = partition
            self._bases[partition].change(found)
            if piece is not None:
                found.pieces.setdefault(epoch, {})[piece] = value
                return
            head, before = _Read(key, value), found.heads.get(epoch)
            if before is None or head.far > before.far:  # records that were written are read again after a rebalance
                found.heads[epoch] = head
                if head.pieces or head.is_empty:  # any other head takes its log further
                    self._check(found)

    def get(self, log: bytes) -> Stored | None:
        """Return the furthest state of a log."""
        found = self._logs.get(log)
        best = None if found is None else found.best()
        if found is None or best is None:
            return None
        epoch, head = best
        return Stored(head.value, found.pieces.get(epoch, {}))

    def has_epoch(self, log: bytes, epoch: Epoch) -> bool:
        """Tell whether the furthest state is of this epoch, so that no owner of an earlier one deletes it."""
        found = self._logs.get(log)
        best = None if found is None else found.best()
        return best is not None and best[0] == epoch

    def empty(self, following: Mapping[int, int]) -> list[tuple[int, bytes]]:
        """List logs without a state, all of whose messages are before the next offset of their partition."""
        return [
            (each.partition, log)
            for log, each in self._logs.items()
            if each.partition in following and each.is_empty_before(following[each.partition])
        ]

    def covered(self, partition: int) -> int:
        """Return the offset before which all messages are in a state; 0 if no progress shows it."""
        return self._progress.get(partition, _NO_PROGRESS).offset

    def progress(self, partition: int, epoch: Epoch, offset: int) -> tuple[bytes, bytes, Headers]:
        """Return the progress record for the current heads: key, value and headers."""
        digest = self._bases[partition].digest(epoch, self._of(partition))
        return RecordKey(epoch, None).encode(), encode_progress(offset), [(RELIES_ON, digest)]

    def last(self, partition: int) -> LastMessage | None:
        """Return the last message of the partition that a state contains; None if no state shows it."""
        best = (each.best() for each in self._logs.values() if each.partition == partition)
        return max((each[1].last for each in best if each is not None and each[1].last is not None), default=None)

    def superseded(self, log: bytes, by: Epoch) -> Iterator[bytes]:
        """Yield the keys of records that an owner deletes once its own head of the log is acknowledged."""
        found = self._logs.get(log)
        if found is None:
            return
        for epoch in sorted(found.heads):
            if epoch.generation < by.generation:
                yield RecordKey(epoch, log).encode()
        needed = found.heads[by].pieces if by in found.heads else frozenset()
        for epoch, pieces in sorted(found.pieces.items()):
            if epoch.generation < by.generation or epoch == by:
                unused = pieces.keys() - (needed if epoch == by else frozenset())
                yield from (RecordKey(epoch, log, each).encode() for each in sorted(unused))

    def records(self, log: bytes) -> list[bytes]:
        """Return the keys of all records of a log, which its owner deletes once the log has no state."""
        found = self._logs.get(log)
        if found is None:
            return []
        pieces = [RecordKey(epoch, log, each) for epoch, numbers in found.pieces.items() for each in numbers]
        return [each.encode() for each in (*(RecordKey(epoch, log) for epoch in found.heads), *pieces)]

    def states(self, partition: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the records of the furthest states, each with its pieces first."""
        for log, each in self._logs.items():
            best = each.best() if each.partition == partition else None
            if best is not None:
                epoch, head = best
                for number in sorted(head.pieces):
                    yield RecordKey(epoch, log, number).encode(), each.pieces[epoch][number]
                yield RecordKey(epoch, log).encode(), head.value

    def superseded_progress(self, partition: int, by: Epoch) -> Iterator[bytes]:
        """Yield the keys of progress records of other generations: a deleted group had higher ones."""
        for epoch in sorted(self._progress_epochs.get(partition, set())):
            if epoch.generation != by.generation:
                yield RecordKey(epoch, None).encode()

    def logs(self, partition: int) -> list[bytes]:
        return [key for key, each in self._logs.items() if each.partition == partition and each.best() is not None]

    def own(self, partitions: AbstractSet[int]) -> None:
        """Take ownership of partitions that were read completely, and forget all others."""
        self.owned = frozenset(partitions)
        self._logs = {key: each for key, each in self._logs.items() if each.partition in partitions}
        for gone in self._progress_epochs.keys() - partitions:
            del self._progress_epochs[gone]
            self._progress.pop(gone, None)
        for gone in self._bases.keys() - partitions:
            del self._bases[gone]

    def release(self) -> None:
        """End the ownership: other processes may write."""
        self.owned = frozenset()

    def _delete(self, epoch: Epoch, log: bytes, piece: int | None) -> None:
        found = self._logs.get(log)
        if found is None:
            return
        self._bases[found.partition].change(found)
        head = found.heads.get(epoch)
        if piece is None:
            found.heads.pop(epoch, None)
        elif epoch in found.pieces:
            found.pieces[epoch].pop(piece, None)
            if not found.pieces[epoch]:
                del found.pieces[epoch]
        if head is not None and (piece is None or piece in head.pieces):
            self._check(found)
        if not found.heads and not found.pieces:
            del self._logs[log]

    def _check(self, log: _Log) -> None:
        if log.went_back():
            log.floor = None
            self._progress[log.partition] = self._progress[log.partition]._replace(offset=0)

    def _apply_progress(self, partition: int, epoch: Epoch, value: bytes | None, digest: bytes | None) -> None:
        epochs = self._progress_epochs.setdefault(partition, set())
        before = self._progress.get(partition, _NO_PROGRESS)
        if value is None:
            epochs.discard(epoch)
            if epoch.generation == before.generation:  # of a deleted group: generations start from 1 again
                self._progress[partition] = before._replace(generation=0)
            return
        epochs.add(epoch)
        found = _Progress(epoch.generation, _progress(value))
        basis = self._bases[partition]
        if found >= before and digest in {None, basis.digest(epoch, self._of(partition))}:
            self._progress[partition] = found
            basis.count()

    def _of(self, partition: int) -> Iterator[_Log]:
        return (each for each in self._logs.values() if each.partition == partition)
