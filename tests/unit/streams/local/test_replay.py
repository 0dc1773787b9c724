"""The runtime without Kafka: the same rows whatever the pieces, and whatever was killed when."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import pairwise

import msgspec
import pytest

from common.errors import BadValue
from components.captures import Json, configz, event, node, observed, pod, pod_stats, summary
from faults.churn import observations
from ingest.files.sources import read_sources
from ingest.model.observation import Observed, Position, Unreadable
from ingest.model.records import PodPlacement, PodRecord, Record, SampleRecord
from ingest.model.topics import encode_record
from ingest.normalize.decode import decode
from ingest.normalize.normalize import normalize
from paths import NODE_PRESSURE
from streams.analytics.registry import REDUCERS
from streams.fold.findings import DeadLetter, NodeEvent, NodeRow
from streams.fold.reducer import Output, Reducer
from streams.local import replay as embedded
from streams.local.replay import Replay
from unit.streams.local.memory import Killed, MemoryDatabase


def replayed(*pieces: Iterable[Observed | Unreadable]) -> MemoryDatabase:
    database = MemoryDatabase()
    for piece in pieces:
        database.replay(piece)
    return database


@pytest.fixture(scope="module")
def example() -> list[Observed | Unreadable]:
    return list(read_sources([NODE_PRESSURE]))


@pytest.fixture(scope="module")
def whole(example: list[Observed | Unreadable]) -> MemoryDatabase:
    return replayed(example)


def repeated(*versions: tuple[str, int], on: str = "n") -> list[Json]:
    """Versions of one Event: when it was observed and last occurred, and its count."""
    return [
        event(f"{clock}.5", "e.1", "Happened", "it happened", node=on, count=count, first="12:00:00", last=clock)
        | {"type": "ADDED" if count == 1 else "MODIFIED"}
        for clock, count in versions
    ]


def occurrences(database: MemoryDatabase) -> list[tuple[str, int, bool]]:
    rows = database.of(NodeEvent)
    return sorted((f"{row.ts:%H:%M:%S}", row.occurrences, row.occurrences_lower_bound) for row in rows)


def test_a_repeated_replay_adds_nothing(example: list[Observed | Unreadable]) -> None:
    database = replayed(example)
    rows, writes = set(database.rows), database.writes
    report = database.replay(example)
    assert (report.read, report.known) == (len(example), len(example))
    assert (set(database.rows), database.writes) == (rows, writes)


@pytest.mark.parametrize("cuts", [[1], [400], [974], [100, 101, 600], list(range(50, 975, 50))])
def test_pieces_in_their_order_give_the_rows_of_the_whole(
    example: list[Observed | Unreadable], whole: MemoryDatabase, cuts: list[int]
) -> None:
    bounds = [0, *cuts, len(example)]
    pieces = [example[a:b] for a, b in pairwise(bounds)]
    assert set(replayed(*pieces).rows) == set(whole.rows)


def test_pieces_that_overlap_give_the_rows_of_the_whole(
    example: list[Observed | Unreadable], whole: MemoryDatabase
) -> None:
    database = replayed(example[:500], example[300:])
    assert set(database.rows) == set(whole.rows)


@pytest.mark.parametrize(("batch_rows", "checkpoint_every"), [(1, 1), (10, 7), (1000, 100)])
def test_when_batches_end_and_checkpoints_are_made_changes_no_row(
    example: list[Observed | Unreadable],
    whole: MemoryDatabase,
    monkeypatch: pytest.MonkeyPatch,
    batch_rows: int,
    checkpoint_every: int,
) -> None:
    monkeypatch.setattr(embedded, "BATCH_ROWS", batch_rows)
    monkeypatch.setattr(embedded, "CHECKPOINT_EVERY", checkpoint_every)
    assert set(replayed(example[:300]).rows) <= set(whole.rows)
    assert set(replayed(example).rows) == set(whole.rows)


def test_a_replay_that_none_follows_saves_no_states_and_knows_what_it_has_read(
    example: list[Observed | Unreadable], whole: MemoryDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "CHECKPOINT_EVERY", 200)
    monkeypatch.setattr(embedded, "packed", lambda _: pytest.fail("a state was packed"))
    database = MemoryDatabase()
    report = Replay(REDUCERS, database, None).run(map(decode, [*example, *example[:300]]))
    assert (report.read, report.known) == (len(example) + 300, 300)
    assert set(database.rows) == set(whole.rows)


def test_killed_after_the_rows_and_before_the_checkpoint_the_rerun_gives_the_same(
    example: list[Observed | Unreadable], whole: MemoryDatabase
) -> None:
    database = replayed(example[:200])
    database.checkpoints.dies = True
    with pytest.raises(Killed):
        database.replay(example[:700])
    database.checkpoints.dies = False
    report = database.replay(example)
    assert report.known == 200
    assert set(database.rows) == set(whole.rows)


@pytest.mark.parametrize("write", [1, 2, 5])
def test_killed_in_the_middle_of_inserting_the_rerun_gives_the_same(
    example: list[Observed | Unreadable], whole: MemoryDatabase, monkeypatch: pytest.MonkeyPatch, write: int
) -> None:
    monkeypatch.setattr(embedded, "BATCH_ROWS", 300)
    monkeypatch.setattr(embedded, "CHECKPOINT_EVERY", 150)
    database = MemoryDatabase()
    database.dies_at_write = write
    with pytest.raises(Killed):
        database.replay(example)
    database.dies_at_write = 0
    database.replay(example)
    assert set(database.rows) == set(whole.rows)


def test_a_piece_that_begins_a_little_before_the_end_of_the_last_goes_on_with_its_states() -> None:
    """Sources of one recorder race by less than the seam of ten seconds."""
    first = observed(repeated(("12:00:00", 1), ("12:01:00", 5)))
    second = observed([node("12:00:55", "late", type_="ADDED"), *repeated(("12:02:00", 6))])
    database = replayed(first, second)
    assert occurrences(database) == [("12:00:00", 1, False), ("12:01:00", 4, False), ("12:02:00", 1, False)]


def test_the_end_of_what_is_stored_never_goes_back() -> None:
    """Else many small pieces with late observations would move the seam."""
    database = replayed(observed(repeated(("12:01:00", 5))))
    assert database.replay(observed([node("12:00:52", "late", type_="ADDED")])).separate == set()
    assert database.replay(observed([node("12:00:46", "later", type_="ADDED")])).separate == {"c"}


def test_input_older_than_stored_data_is_folded_separately() -> None:
    early = observed(repeated(("12:00:00", 1), ("12:01:00", 5)))
    late = observed(repeated(("13:00:00", 30)))
    database = replayed(late)
    report = database.replay(early)
    assert report.separate == {"c"}
    assert occurrences(database) == [("12:00:00", 1, False), ("12:01:00", 4, False), ("13:00:00", 1, True)]
    database.replay(observed(repeated(("13:01:00", 31))))
    assert occurrences(database)[-1] == ("13:01:00", 1, False)


def test_a_replay_that_spans_the_stored_data_continues_with_the_stored_states() -> None:
    everything = observed(repeated(("12:00:00", 1), ("12:01:00", 5), ("13:00:00", 30), ("13:05:00", 33)))
    database = replayed(everything[2:3])
    report = database.replay(everything)
    assert (report.known, report.separate) == (1, {"c"})
    assert occurrences(database) == [
        ("12:00:00", 1, False),
        ("12:01:00", 4, False),
        ("13:00:00", 1, True),
        ("13:05:00", 3, False),
    ]
    database.replay(observed(repeated(("13:06:00", 34))))
    assert occurrences(database)[-1] == ("13:06:00", 1, False)


def test_observations_after_a_clock_was_set_back_use_the_stored_states() -> None:
    """A stream that resumes lists nothing again: a fold that begins from nothing does not know what exists."""
    database = replayed(observed([node("13:00:00", "n", type_="ADDED")]))
    for clock in ("12:00:00", "12:01:00"):
        replay = Replay(REDUCERS, database, database.checkpoints, resumes=True)
        same = observed([node(clock, "n", type_="MODIFIED")])
        assert replay.run(map(decode, same)).separate == set()
    assert [f"{row.ts:%H:%M}" for row in database.of(NodeRow)] == ["13:00"]  # all that comes later is no news


def test_clusters_do_not_affect_each_other() -> None:
    def of(cluster: str) -> list[Json]:
        return [each | {"cluster": cluster} for each in repeated(("12:00:00", 1), ("12:01:00", 3))]

    one, two = of("one"), of("two")
    mixed = replayed(observed([each for pair in zip(one, two, strict=True) for each in pair]))
    assert set(mixed.rows) == set(replayed(observed(one)).rows) | set(replayed(observed(two)).rows)


def test_a_new_cluster_is_not_folded_separately_because_another_is_newer() -> None:
    database = replayed(observed(repeated(("13:00:00", 1))))
    older = [each | {"cluster": "other"} for each in repeated(("12:00:00", 1))]
    assert database.replay(observed(older)).separate == set()


def test_what_is_outside_of_the_limits_is_not_remembered() -> None:
    everything = observed(repeated(("12:00:00", 1), ("12:01:00", 2), ("12:02:00", 3)))
    database = MemoryDatabase()
    since, until = (everything[i].observation.ts for i in (1, 2))
    report = database.replay(everything, since=since, until=until)
    assert (report.read, report.outside) == (3, 2)
    assert [clock for clock, _, _ in occurrences(database)] == ["12:01:00"]
    assert database.replay(everything).known == 1


def test_a_record_that_makes_no_sense_is_a_dead_letter_with_its_place_and_the_rest_goes_on() -> None:
    items = observed(
        [
            configz("12:00:00", "n", evictionSoft={"memory.available": "1Gi"}),
            summary("12:00:10", "n"),
            pod("12:00:20", "p", "n", requests={"cpu": "lots"}),
        ]
    )
    database = replayed(items)
    letters = {(row.position, row.error_type) for row in database.of(DeadLetter)}
    assert letters == {("capture.jsonl:1", "wrong_value"), ("capture.jsonl:3", "wrong_value")}
    assert all("1Gi" in row.payload or "lots" in row.payload for row in database.of(DeadLetter))


def test_an_unreadable_line_is_buried_once() -> None:
    line = Unreadable(Position("capture.jsonl", "7"), "not_json", "no JSON", b"no JSON")
    database = MemoryDatabase()
    first, second = database.replay([line]), database.replay([line])
    assert (first.dead_letters["not_json"], second.dead_letters["not_json"], second.known) == (1, 0, 1)
    assert [(row.ts, row.position, row.payload) for row in database.of(DeadLetter)] == [
        (datetime(1970, 1, 1, tzinfo=UTC), "capture.jsonl:7", "no JSON")
    ]


class Seen(msgspec.Struct, frozen=True):
    pods: int = 0


def test_a_record_that_a_reducer_gives_is_folded_on_the_log_of_the_cluster() -> None:
    reported: list[Record] = []

    def tell(state: Seen, record: PodRecord) -> tuple[Seen, Sequence[Output]]:
        given = PodPlacement(
            ts=record.ts, cluster=record.cluster, change="ADDED", target="x", namespace="", pod="", uid="", phase=""
        )
        return Seen(state.pods + 1), (given,)

    def hear(state: Seen, record: PodPlacement) -> tuple[Seen, Sequence[Output]]:
        reported.append(record)
        return Seen(state.pods + 1), ()

    reducers = (
        Reducer("tell", 1, "node", (PodRecord,), Seen, tell),
        Reducer("hear", 1, "cluster", (PodPlacement,), Seen, hear),
    )
    database = MemoryDatabase()
    Replay(reducers, database, database.checkpoints).run(
        map(decode, observed([pod("12:00:00", "p", "n", type_="ADDED")]))
    )
    assert [record.target for record in reported if isinstance(record, PodPlacement)] == ["x", "n"]


def test_a_sample_that_a_reducer_refuses_is_a_dead_letter_with_all_that_it_reported() -> None:
    def refuse(_: Seen, record: SampleRecord) -> tuple[Seen, Sequence[Output]]:
        raise BadValue(f"{record.node} makes no sense")

    database = MemoryDatabase()
    (reported,) = observed([summary("12:00:00", "n", pods=[pod_stats("p", memory=7), pod_stats("q")])])
    reducers = (Reducer("refuse", 1, "node", (SampleRecord,), Seen, refuse),)
    Replay(reducers, database, database.checkpoints).run([decode(reported)])
    (letter,) = database.of(DeadLetter)
    (record,) = normalize(reported.observation)
    assert (letter.reason, letter.payload) == ("n makes no sense", encode_record(record).decode())


def test_forgotten_nodes_leave_nothing_in_memory() -> None:
    database = MemoryDatabase()
    replay = Replay(REDUCERS, database, database.checkpoints)
    for number, each in enumerate(observations(12, 4, empty_hours=8)):
        replay.take(decode(Observed(each, Position("churn", f"{number}"), b"")))
    replay.checkpoint()
    assert {key.node for key in replay._logs._logs} == {""}
    assert replay._answered == set()
