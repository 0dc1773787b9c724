"""A log's state as records: a head, and beside it the parts of its large mappings, of which only those that changed
are encoded and written again. Pure.

Each bucket of a large mapping is a part. Everything else of a log is one body, in the head while it is small.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from operator import itemgetter
from typing import Final, NamedTuple

import msgspec

from streams.fold.checkpoints import StateCodec, encoded, packed, unpacked
from streams.fold.fold import LogState
from streams.fold.reducer import AnyReducer
from streams.kafka.buckets import SPLIT_FROM, Buckets, mappings_of
from streams.kafka.codec import NOTHING_FOLDED, Folded, Head

PIECE_BYTES: Final = 512 * 1024
"""Size of a piece. A compressed body that is larger is written in pieces, and is not in the head."""
_BODY: Final = ""
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""The beginning of what is compressed; msgpack of a log begins otherwise."""


class Stored(NamedTuple):
    """A log as it was read: its head, and the pieces that this refers to."""

    head: bytes
    pieces: Mapping[int, bytes] = {}


class Written(NamedTuple):
    """The records to write: the head follows once its new pieces are acknowledged."""

    head: bytes
    pieces: Mapping[int, bytes]
    size: int
    """Stored bytes of the whole log."""


class _Body(msgspec.Struct, array_like=True):
    log: bytes
    emitted: dict[str, tuple[int, int]]


class Layout:
    """The records of a log's last written state, in one epoch of its writer; a new epoch writes all of it."""

    def __init__(self) -> None:
        self.mappings: dict[str, Buckets] = {}
        self.parts: dict[str, tuple[int, ...]] = {}
        """The numbers of each part's pieces."""
        self.sizes: dict[str, int] = {}

    def drop(self, mapping: str) -> None:
        del self.mappings[mapping]
        for part in [each for each in self.parts if each.startswith(f"{mapping}/")]:
            self.drop_part(part)

    def drop_part(self, part: str) -> None:
        self.parts.pop(part, None)
        self.sizes.pop(part, None)


class PartsCodec:
    """Encodes states for one writer. A reducer's state of another version is dropped, never misread."""

    def __init__(self, reducers: Sequence[AnyReducer]) -> None:
        self._states = StateCodec(reducers)
        self._mappings = {each.name: tuple(mappings_of(each.state)) for each in reducers}
        self._encode = msgspec.msgpack.Encoder().encode
        self._head = msgspec.msgpack.Decoder(Head).decode
        self._body = msgspec.msgpack.Decoder(_Body).decode
        self._numbers = count(1)

    def encode(self, folded: Folded, layout: Layout) -> Written:
        """Encode the changes since `layout`, and update `layout` as if they were written."""
        pieces: dict[int, bytes] = {}
        states = {name: self._without_split(name, state, layout, pieces) for name, state in folded.log.states.items()}
        for gone in [each for each in layout.mappings if each.partition("/")[0] not in states]:
            layout.drop(gone)
        body, emitted = b"", dict(folded.emitted)
        layout.drop_part(_BODY)
        if states:
            log = self._states.encode(LogState(folded.log.minute, states, folded.log.exists))
            body, emitted = packed(self._encode(_Body(log, emitted))), {}
            if len(body) > PIECE_BYTES:
                self._put(_BODY, body, layout, pieces)
                body = b""
        head = Head(
            offset=folded.offset,
            log=body,
            emitted=emitted,
            shift=folded.shift,
            newest=None if folded.newest_ms is None else folded.newest_ms / 1000,
            sent=dict(folded.sent),
            parts=layout.parts,
            number=next(self._numbers),
            minute=folded.log.minute,
        )
        encoded = self._encode(head)
        return Written(encoded, pieces, len(encoded) + sum(layout.sizes.values()))

    def decode(self, stored: Stored | None) -> Folded:
        """The state of a log; of one that was never seen where there is none."""
        if stored is None:
            return Folded(NOTHING_FOLDED, LogState(), {})
        head = self._head(stored.head)
        log, emitted = LogState(head.minute), head.emitted
        value = b"".join(stored.pieces[each] for each in head.parts[_BODY]) if _BODY in head.parts else head.log
        if value.startswith(_ZSTD):
            body = self._body(unpacked(value))
            log, emitted = self._states.decode(body.log), body.emitted
        elif value:
            log = self._states.decode(value)  # of a version that wrote a log as one record
        entries: dict[tuple[str, str], list[bytes]] = {}
        for part, numbers in head.parts.items():
            if part != _BODY:
                name, path, _ = part.split("/")
                entries.setdefault((name, path), []).append(b"".join(stored.pieces[each] for each in numbers))
        for (name, path), parts in entries.items():
            mapping = next((each for each in self._mappings.get(name, ()) if each.name == path), None)
            if mapping is not None and name in log.states:
                found = sorted((each for part in parts for each in mapping.decode(unpacked(part))), key=itemgetter(0))
                log.states[name] = mapping.replaced(log.states[name], {key: value for _, key, value in found})
        newest_ms = None if head.newest is None else round(head.newest * 1000)
        return Folded(head.offset, log, emitted, head.shift, newest_ms, head.sent)

    def without_oldest(self, folded: Folded, layout: Layout, excess: int) -> tuple[Folded, str, int]:
        """The state without the entries that are the longest in its largest mapping, so many that `excess` bytes
        less are stored; which mapping that is, and how many. None are left out where there is no mapping.
        """
        sizes = {
            each: sum(layout.sizes[part] for part in layout.parts if part.startswith(f"{each}/"))
            for each in layout.mappings
        }
        largest = max(sizes, key=lambda each: sizes[each], default=None)
        if largest is None:
            return folded, "", 0
        name, _, path = largest.partition("/")
        mapping = next(each for each in self._mappings[name] if each.name == path)
        entries = list(mapping.of(folded.log.states[name]).items())
        left_out = min(len(entries), -(-len(entries) * excess // max(sizes[largest], 1)))
        state = mapping.replaced(folded.log.states[name], dict(entries[left_out:]))
        states = {**folded.log.states, name: state}
        return folded._replace(log=LogState(folded.log.minute, states, folded.log.exists)), largest, left_out

    def _without_split(
        self, name: str, state: msgspec.Struct, layout: Layout, pieces: dict[int, bytes]
    ) -> msgspec.Struct:
        """The state without what its buckets hold; those that changed are among the pieces."""
        for mapping in self._mappings.get(name, ()):
            now = mapping.of(state)
            label = f"{name}/{mapping.name}"
            buckets = layout.mappings.get(label)
            is_large = len(now) >= (SPLIT_FROM if buckets is None else SPLIT_FROM // 2)
            if buckets is not None and not (is_large and buckets.fit(len(now))):
                layout.drop(label)
                buckets = None
            if not is_large:
                continue
            if buckets is None:
                buckets = layout.mappings[label] = Buckets(len(now))
            for bucket, entries in buckets.changed(now).items():
                part = f"{label}/{bucket:x}"
                layout.drop_part(part)
                if entries:
                    self._put(part, packed(encoded(entries)), layout, pieces)
            state = mapping.replaced(state, {})
        return state

    def _put(self, part: str, value: bytes, layout: Layout, pieces: dict[int, bytes]) -> None:
        cut = {next(self._numbers): value[at : at + PIECE_BYTES] for at in range(0, len(value), PIECE_BYTES)}
        pieces.update(cut)
        layout.parts[part] = tuple(cut)
        layout.sizes[part] = len(value)
