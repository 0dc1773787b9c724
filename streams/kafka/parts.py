"""Splits a log's state into records, so that only changed parts are encoded and written again: a head, and the parts
of large mappings. Pure. Each bucket of a large mapping, by a hash of the keys, is a part. Mappings of a state are its
fields of `dict[str, ...]`, also in nested structs. The rest of a log is one body, inside the head while it is small.
"""

import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple, TypeAlias, get_args, get_origin

import msgspec

from streams.fold.checkpoints import StateCodec, encoded, packed, unpacked
from streams.fold.fold import LogState
from streams.fold.reducer import AnyReducer
from streams.kafka.codec import NOTHING_FOLDED, Folded, Head

SPLIT_FROM: Final = 1024
"""Number of entries above which a mapping is split into buckets; below half of it, they are merged again."""
BUCKET_ENTRIES: Final = 64
MAX_BUCKETS: Final = 1024
UNEVEN: Final = 4
"""The number of buckets changes if they have more or fewer entries than BUCKET_ENTRIES by this factor."""

Entries: TypeAlias = list[tuple[int, str, object]]
"""Entries of a bucket: number in the order of the mapping, key and value."""


class Field(NamedTuple):
    """A field of a state that can be split, with the path to it."""

    path: tuple[str, ...]
    name: str
    """Its path by stored names, which stay the same if a field is renamed."""
    decode: Callable[[bytes], Entries]

    def of(self, state: msgspec.Struct) -> dict[str, object]:
        found: dict[str, object] = attrgetter(".".join(self.path))(state)
        return found

    def replaced(self, state: msgspec.Struct, value: dict[str, object]) -> msgspec.Struct:
        return _replaced(state, self.path, value)


class Buckets:
    """Remembers a mapping as last written. Entries are numbered in the mapping's order, on which reducers rely."""

    def __init__(self, entries: int) -> None:
        self.count = 1
        while self.count < MAX_BUCKETS and self.count * BUCKET_ENTRIES < entries:
            self.count *= 2
        self._places: dict[str, tuple[int, int]] = {}
        """Number and bucket of each key."""
        self._written: dict[str, object] = {}
        self._next = 0

    def fit(self, entries: int) -> bool:
        each = entries / self.count
        too_many = each > BUCKET_ENTRIES * UNEVEN and self.count < MAX_BUCKETS
        return not too_many and each >= BUCKET_ENTRIES / UNEVEN

    def changed(self, now: dict[str, object]) -> dict[int, Entries]:
        """Return the entries of each bucket that changed since it was written. Values are compared by identity."""
        if now is self._written:
            return {}
        places, before = self._places, self._written
        touched = {places.pop(key)[1] for key in before.keys() - now.keys()}
        last = -1
        for key, value in now.items():
            place = places.get(key)
            if place is None or place[0] < last:
                place = places[key] = self._next, zlib.crc32(key.encode()) % self.count
                self._next += 1
                touched.add(place[1])
            elif before[key] is not value:
                touched.add(place[1])
            last = place[0]
        self._written = now
        entries: dict[int, Entries] = {bucket: [] for bucket in touched}
        for key, value in now.items():
            number, bucket = places[key]
            if bucket in entries:
                entries[bucket].append((number, key, value))
        return entries


def mappings_of(state: type[msgspec.Struct], path: tuple[str, ...] = (), stored: str = "") -> Iterator[Field]:
    for field in msgspec.structs.fields(state):
        at, name, hint = (*path, field.name), f"{stored}{field.encode_name}", field.type
        if get_origin(hint) is dict and get_args(hint)[0] is str:
            entries = list[tuple[int, str, get_args(hint)[1]]]  # type: ignore[misc, valid-type]  # at run time
            yield Field(at, name, msgspec.msgpack.Decoder(entries).decode)
        elif isinstance(hint, type) and issubclass(hint, msgspec.Struct):
            yield from mappings_of(hint, at, f"{name}.")


def _replaced(state: msgspec.Struct, path: tuple[str, ...], value: dict[str, object]) -> msgspec.Struct:
    name, *rest = path
    inner = _replaced(getattr(state, name), tuple(rest), value) if rest else value
    return msgspec.structs.replace(state, **{name: inner})


PIECE_BYTES: Final = 512 * 1024
"""Size of a piece. A compressed body that is larger is written in pieces, and is not in the head."""
LARGE_BYTES: Final = 64 * 1024
"""Size above which an entry counts as that of an abnormally large object."""
_BODY: Final = ""
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""Start of compressed data; a log in msgpack starts with other bytes."""


class Stored(NamedTuple):
    """A log as it was read: its head, and the pieces that the head names."""

    head: bytes
    pieces: Mapping[int, bytes] = {}


class Written(NamedTuple):
    """The records to write: the head follows once its new pieces are acknowledged."""

    head: bytes
    pieces: Mapping[int, bytes]
    size: int
    """Stored size of the whole log in bytes."""


class _Body(msgspec.Struct, array_like=True):
    log: bytes
    emitted: dict[str, tuple[int, int]]


class Layout:
    """Tracks the records of a log's last written state, in one epoch of its writer; a new epoch writes everything."""

    def __init__(self) -> None:
        self.mappings: dict[str, Buckets] = {}
        self.parts: dict[str, tuple[int, ...]] = {}
        """Numbers of each part's pieces."""
        self.sizes: dict[str, int] = {}

    def drop(self, mapping: str) -> None:
        del self.mappings[mapping]
        for part in [each for each in self.parts if each.startswith(f"{mapping}/")]:
            self.drop_part(part)

    def drop_part(self, part: str) -> None:
        self.parts.pop(part, None)
        self.sizes.pop(part, None)


class PartsCodec:
    """Encodes states for one writer. A reducer's state of another version is dropped and not misread."""

    def __init__(self, reducers: Sequence[AnyReducer]) -> None:
        self._states = StateCodec(reducers)
        self._mappings = {each.name: tuple(mappings_of(each.state)) for each in reducers}
        self._encode = msgspec.msgpack.Encoder().encode
        self._head = msgspec.msgpack.Decoder(Head).decode
        self._body = msgspec.msgpack.Decoder(_Body).decode
        self._numbers = count(1)

    def encode(self, folded: Folded, layout: Layout) -> Written:
        """Encode the changes since `layout`, and update `layout` as if these were written."""
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
        """Return the state of a log, or an initial one if nothing is stored."""
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

    def cut(self, folded: Folded, size: int, most: int) -> tuple[Folded, str, int]:
        """Return the state without entries of its largest mapping, the name of that mapping, and how many entries
        were removed. The state has `size` stored bytes, and then about `most`. First entries of over LARGE_BYTES are
        removed, then the oldest. If no mapping has entries, none are removed.
        """
        states = folded.log.states
        found = [
            (len(encoded(each.of(state))), name, each)
            for name, state in states.items()
            for each in self._mappings.get(name, ())
            if each.of(state)
        ]
        if not found:
            return folded, "", 0
        _, name, mapping = max(found, key=itemgetter(0))
        entries = mapping.of(states[name])
        bytes_of = {key: len(encoded(value)) for key, value in entries.items()}
        surplus = (
            (size - most) / size * sum(len(encoded(each)) for each in states.values())
        )  # as if all compressed alike
        left_out = set[str]()
        for key in sorted(entries, key=lambda each: bytes_of[each] <= LARGE_BYTES):
            if surplus <= 0:
                break
            left_out.add(key)
            surplus -= bytes_of[key]
        kept = {key: value for key, value in entries.items() if key not in left_out}
        state = mapping.replaced(states[name], kept)
        log = LogState(folded.log.minute, {**states, name: state}, folded.log.exists)
        return folded._replace(log=log), f"{name}/{mapping.name}", len(left_out)

    def _without_split(
        self, name: str, state: msgspec.Struct, layout: Layout, pieces: dict[int, bytes]
    ) -> msgspec.Struct:
        """Return the state without entries that are in buckets; add the changed buckets to the pieces."""
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
