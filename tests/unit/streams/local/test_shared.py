"""A replay whose nodes' logs are shared gives what one process gives, for every capture and any number of shares."""

from collections import deque
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from components.captures import node, observed
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Unreadable
from ingest.model.records import HeardRecord, NodeRecord, Record
from ingest.normalize.decoded import decode
from paths import CAPTURES, LATE_JOINERS, NODE_PRESSURE
from streams.analytics.registry import REDUCERS
from streams.fold.reducer import AnyReducer, Output, Reducer
from streams.local import shared
from streams.local.replay import Replay, ReplayReport
from streams.local.share import Chunk, Outcome, Share
from streams.local.shared import SharedReplay, SharesDiffer
from unit.streams.local.memory import MemoryDatabase


class SharesHere:
    """Shares in this process; what they exchange is encoded, as between processes."""

    def __init__(self, reducers: Sequence[AnyReducer], count: int, database: MemoryDatabase) -> None:
        self.count = count
        self._shares = [Share(reducers, number, count, database.write) for number in range(count)]
        self._outcomes: list[deque[bytes]] = [deque() for _ in range(count)]

    def send(self, share: int, chunk: Chunk) -> None:
        given = msgspec.msgpack.decode(msgspec.msgpack.encode(chunk), type=Chunk)
        self._outcomes[share].append(msgspec.msgpack.encode(self._shares[share].fold(given)))

    def receive(self, share: int) -> Outcome:
        return msgspec.msgpack.decode(self._outcomes[share].popleft(), type=Outcome)


Items = Sequence[Observed | Unreadable]


def replayed(
    items: Items, database: MemoryDatabase, shares: int, reducers: Sequence[AnyReducer] = REDUCERS
) -> ReplayReport:
    """With no shares, by one process."""
    if not shares:
        return Replay(reducers, database, database.checkpoints).run(map(decode, items))
    here = SharesHere(reducers, shares, database)
    return SharedReplay(reducers, database, database.checkpoints, here).run(map(decode, items))


def read(*paths: Path) -> Items:
    return list(read_sources(paths))


@pytest.mark.parametrize("shares", [1, 2, 3])
@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name + "/" + path.name)
def test_the_rows_the_report_and_the_checkpoint_are_those_of_one_process(
    path: Path, shares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared, "CHUNK", 10)
    items = read(path)
    alone, together = MemoryDatabase(), MemoryDatabase()
    assert replayed(items, together, shares) == replayed(items, alone, 0)
    assert together.rows.keys() == alone.rows.keys()
    assert together.checkpoints.entries == alone.checkpoints.entries


@pytest.mark.parametrize("chunk", [1, 100_000])
def test_all_captures_at_once_are_as_in_one_process_however_they_are_cut(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = read(*CAPTURES)
    alone, together = MemoryDatabase(), MemoryDatabase()
    monkeypatch.setattr(shared, "CHUNK", chunk)
    assert replayed(items, together, 3) == replayed(items, alone, 0)
    assert together.rows.keys() == alone.rows.keys()
    assert together.checkpoints.entries == alone.checkpoints.entries


@pytest.mark.parametrize("path", [NODE_PRESSURE, LATE_JOINERS], ids=lambda path: path.name)
def test_it_goes_on_after_one_process_and_one_process_after_it(path: Path) -> None:
    items = read(path)
    third = len(items) // 3
    alone, together = MemoryDatabase(), MemoryDatabase()
    for number, begin in enumerate((0, third, 2 * third)):
        piece = items[begin : begin + third]
        assert replayed(piece, together, 2 * (number % 2)) == replayed(piece, alone, 0)
    assert together.rows.keys() == alone.rows.keys()
    assert together.checkpoints.entries == alone.checkpoints.entries


def test_what_begins_before_the_stored_and_ends_behind_it_resumes_where_one_process_does() -> None:
    items = read(NODE_PRESSURE)
    alone, together = MemoryDatabase(), MemoryDatabase()
    for database in (alone, together):
        replayed(items[300:600], database, 0)
    report = replayed(items, together, 2)
    assert report == replayed(items, alone, 0)
    assert report.apart
    assert together.rows.keys() == alone.rows.keys()
    assert together.checkpoints.entries == alone.checkpoints.entries


class Count(msgspec.Struct, frozen=True):
    seen: int = 0


def test_a_reducer_that_informs_nodes_and_does_not_say_so_is_found() -> None:
    def tell(state: Count, record: NodeRecord) -> tuple[Count, Sequence[Output]]:
        return Count(state.seen + 1), [HeardRecord(ts=record.ts, cluster=record.cluster, node="n", resource="nodes")]

    def hear(state: Count, _: Record) -> tuple[Count, Sequence[Output]]:
        return Count(state.seen + 1), ()

    reducers = (
        Reducer("tell", 1, "cluster", (NodeRecord,), Count, tell),
        Reducer("hear", 1, "node", (HeardRecord,), Count, hear),
    )
    with pytest.raises(SharesDiffer, match="folded 1 records of 2"):
        replayed(observed([node("12:00:00", "n", type_="ADDED")]), MemoryDatabase(), 1, reducers)
