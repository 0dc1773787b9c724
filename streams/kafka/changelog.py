"""Holds each log's newest state and a partition's progress, rebuilt from a changelog. It does no I/O.

1. A head is a log's state, and refers to the pieces of its parts. Heads are written under their writer's epoch, so
that compaction keeps the last one of every writer. Pieces are never overwritten.

2. A head refers only to pieces of its own epoch, and is written after they are acknowledged. So a writer that was
stopped, taken over and resumed changes only what its own heads need.

3. The furthest of a log's heads whose pieces are all present is its state, however late a writer was.

4. After its own head is acknowledged, an owner deletes the records of earlier generations, and its own pieces that
it no longer needs. It deletes nothing else of a log that continues.

5. A new partition leader can lack the end of the changelog, and the owner may then write on. So a progress record
carries a digest of the heads that it relies on. It counts only if the records before it contain exactly these heads.
A later record that moves a log back behind them cancels it.

The glossary defines head, piece, epoch and takeover (glossary.md#states-of-a-worker).
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
_NUMBER_BYTES: Final = 8
"""Length of a number in a key, and of a digest."""


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
        return _MARK + kind + b"".join(each.to_bytes(_NUMBER_BYTES, "big") for each in numbers) + (self.log or b"")

    @classmethod
    def decode(cls, key: bytes) -> "RecordKey":
        """Read a key. One that `encode` did not write is the log's key of a version without epochs."""
        kind = key[1:2]
        numbers = 3 if kind == _PIECE else 2
        log_at = 2 + numbers * _NUMBER_BYTES
        if key[:1] != _MARK or kind not in {_HEAD, _PIECE, _PROGRESS} or len(key) < log_at:
            return cls(BEFORE_EPOCHS, key)
        generation, writer, *piece = [
            int.from_bytes(key[at : at + _NUMBER_BYTES], "big") for at in range(2, log_at, _NUMBER_BYTES)
        ]
        log = None if kind == _PROGRESS else key[log_at:]
        return cls(Epoch(generation, writer), log, *piece)


_decode_head: Final = msgspec.msgpack.Decoder(Head).decode
_decode_progress: Final = msgspec.msgpack.Decoder(int).decode
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
    """The offset of the last message that a state contains, and Kafka's time of the newest one."""

    newest_ms: int
    offset: int


class _DecodedHead:
    __slots__ = ("digest", "is_empty", "last", "pieces", "position", "value")

    def __init__(self, key: bytes, value: bytes) -> None:
        head = _decode_head(value)
        self.value = value
        self.position = head.position
        hashed = blake2b(b"%d %d %d " % head.position + key, digest_size=_NUMBER_BYTES)
        self.digest = int.from_bytes(hashed.digest())
        self.is_empty = head.is_empty
        self.last = None if head.newest is None else LastMessage(round(head.newest * 1000), head.offset - head.shift)
        self.pieces = frozenset(number for numbers in head.parts.values() for number in numbers)


class _Log:
    __slots__ = ("counted_head", "floor", "heads", "partition", "pieces")

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.heads: dict[Epoch, _DecodedHead] = {}
        self.pieces: dict[Epoch, dict[int, bytes]] = {}
        self.counted_head: _DecodedHead | None = None
        """Head counted in the partition's sum."""
        self.floor: tuple[int, int] | None = None
        """Position below which this log must not fall; None if no progress relies on it."""

    def best(self) -> tuple[Epoch, _DecodedHead] | None:
        """Return the furthest head whose pieces are all present."""
        whole = [each for each in self.heads.items() if self._is_whole(*each)]
        return max(whole, key=lambda each: (each[1].position[:2], each[0]), default=None)

    def head_for(self, epoch: Epoch) -> _DecodedHead | None:
        """Return the head that progress of this epoch relies on: its own or, before there is one, the furthest.

        None for an empty state: its loss is harmless. Once this epoch has its own complete head, earlier writers
        cannot change the result. Until then their late heads can: the progress does not count, and messages are
        folded again.
        """
        head = self.heads.get(epoch)
        if head is None or not self._is_whole(epoch, head):
            best = self.best()
            head = None if best is None else best[1]
        return None if head is None or head.is_empty else head

    def _is_whole(self, epoch: Epoch, head: _DecodedHead) -> bool:
        return not head.pieces or head.pieces <= self.pieces.get(epoch, {}).keys()

    def is_empty_before(self, offset: int) -> bool:
        best = self.best()
        if best is None:
            return True
        shift, reached, _ = best[1].position
        return best[1].is_empty and reached - shift < offset


def _digest_of(head: _DecodedHead | None) -> int:
    return 0 if head is None else head.digest


class _HeadsDigest:
    """Order-independent sum of the digests of a partition's heads.

    Updated only for changed logs, because few change between two progress records.
    """

    __slots__ = ("_epoch", "_sum", "_uncommitted", "_unsummed")

    def __init__(self) -> None:
        self._epoch = BEFORE_EPOCHS
        self._sum = 0
        self._unsummed: set[_Log] = set()
        """Logs that changed since the last sum."""
        self._uncommitted: set[_Log] = set()
        """Logs in the sum that changed since progress last counted."""

    def change(self, log: _Log) -> None:
        self._unsummed.add(log)

    def remove(self, log: _Log) -> None:
        """Remove a log that now belongs to another partition."""
        self._sum -= _digest_of(log.counted_head)
        log.counted_head = log.floor = None
        self._unsummed.discard(log)
        self._uncommitted.discard(log)

    def digest(self, epoch: Epoch, logs: Iterable[_Log]) -> bytes:
        """Return the digest for progress of this epoch; `logs` are all of the partition."""
        if epoch != self._epoch:
            self._epoch = epoch
            self._unsummed.update(logs)
        for log in self._unsummed:
            before, log.counted_head = log.counted_head, log.head_for(epoch)
            self._sum += _digest_of(log.counted_head) - _digest_of(before)
        self._uncommitted |= self._unsummed
        self._unsummed.clear()
        return (self._sum % (1 << 8 * _NUMBER_BYTES)).to_bytes(_NUMBER_BYTES)

    def commit(self) -> None:
        """Accept progress that relies on the last sum of heads."""
        for log in self._uncommitted:
            log.floor = None if log.counted_head is None else log.counted_head.position[:2]
        self._uncommitted.clear()


class Changelog:
    """Holds the states of a worker's partitions, and the keys of the records of each writer."""

    def __init__(self) -> None:
        self.owned: frozenset[int] = frozenset()
        """Partitions whose records by other writers were all read."""
        self._logs: dict[bytes, _Log] = {}
        self._digests: defaultdict[int, _HeadsDigest] = defaultdict(_HeadsDigest)
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
            if found.partition != partition:  # a producer chose another partition than our partitioner
                self._digests[found.partition].remove(found)
                found.partition = partition
            self._digests[partition].change(found)
            if piece is not None:
                found.pieces.setdefault(epoch, {})[piece] = value
                return
            head, before = _DecodedHead(key, value), found.heads.get(epoch)
            if (
                before is None or head.position > before.position
            ):  # records that were written are read again after a rebalance
                found.heads[epoch] = head
                if head.pieces or head.is_empty:  # a later non-empty head without pieces can only advance its log
                    self._discard_progress_if_behind(found)

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

    def logs_without_state(self, next_offsets: Mapping[int, int]) -> list[tuple[int, bytes]]:
        """List logs without a state, all of whose messages are before the next offset of their partition."""
        return [
            (each.partition, log)
            for log, each in self._logs.items()
            if each.partition in next_offsets and each.is_empty_before(next_offsets[each.partition])
        ]

    def covered(self, partition: int) -> int:
        """Return the offset before which all messages are in a state; 0 if no progress shows it."""
        return self._progress.get(partition, _NO_PROGRESS).offset

    def progress(self, partition: int, epoch: Epoch, offset: int) -> tuple[bytes, bytes, Headers]:
        """Return the progress record for the current heads: key, value and headers."""
        digest = self._digests[partition].digest(epoch, self._of(partition))
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
        """Yield the keys of progress records of other generations, also of higher ones, left by a deleted group."""
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
        for gone in self._digests.keys() - partitions:
            del self._digests[gone]

    def release(self) -> None:
        """End the ownership: other processes may write."""
        self.owned = frozenset()

    def _delete(self, epoch: Epoch, log: bytes, piece: int | None) -> None:
        found = self._logs.get(log)
        if found is None:
            return
        self._digests[found.partition].change(found)
        head = found.heads.get(epoch)
        if piece is None:
            found.heads.pop(epoch, None)
        elif epoch in found.pieces:
            found.pieces[epoch].pop(piece, None)
            if not found.pieces[epoch]:
                del found.pieces[epoch]
        if head is not None and (piece is None or piece in head.pieces):
            self._discard_progress_if_behind(found)
        if not found.heads and not found.pieces:
            del self._logs[log]

    def _discard_progress_if_behind(self, log: _Log) -> None:
        if log.floor is None:
            return
        best = log.best()
        is_behind = best is None or best[1].position[:2] < log.floor
        if is_behind:
            self._progress[log.partition] = self._progress[log.partition]._replace(offset=0)
        if is_behind or (best is not None and best[1].is_empty):  # an empty log is about to be forgotten
            log.floor = None

    def _apply_progress(self, partition: int, epoch: Epoch, value: bytes | None, digest: bytes | None) -> None:
        epochs = self._progress_epochs.setdefault(partition, set())
        before = self._progress.get(partition, _NO_PROGRESS)
        if value is None:
            epochs.discard(epoch)
            if epoch.generation == before.generation:  # of a deleted group: generations start from 1 again
                self._progress[partition] = before._replace(generation=0)
            return
        epochs.add(epoch)
        found = _Progress(epoch.generation, _decode_progress(value))
        heads_digest = self._digests[partition]
        if found >= before and digest in {None, heads_digest.digest(epoch, self._of(partition))}:
            self._progress[partition] = found
            heads_digest.commit()

    def _of(self, partition: int) -> Iterator[_Log]:
        return (each for each in self._logs.values() if each.partition == partition)
