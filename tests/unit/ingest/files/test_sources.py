"""Several files as one sequence in order of time (ingest.files.sources)."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.files.lines import SourceError
from ingest.files.sniff import folder_files
from ingest.files.sources import WINDOW, WINDOW_BYTES, WINDOW_OBSERVATIONS, identity, merged, read_sources
from ingest.model.observation import Observation, Observed, Position, Unreadable
from paths import NODE_PRESSURE

TS = datetime(2026, 11, 21, 4, 17, 7, tzinfo=UTC)


def seen(seconds: float, name: str, size: int = 0) -> Observed:
    observation = Observation(
        ts=TS + timedelta(seconds=seconds),
        cluster="lab",
        source="list",
        resource="nodes",
        type="ADDED",
        object=msgspec.Raw(b"{}"),
    )
    return Observed(observation, Position("a", name), b"x" * size)


def bad(name: str, ts: datetime | None = None, size: int = 0) -> Unreadable:
    return Unreadable(Position("a", name), "not_json", "", b"x" * size, ts)


def names(entries: Iterable[Observed | Unreadable]) -> list[str]:
    return [entry.position.place for entry in entries]


def line(seconds: float, **fields: Any) -> str:
    ts = (TS + timedelta(seconds=seconds)).isoformat(timespec="microseconds").replace("+00:00", "Z")
    envelope = {"ts": ts, "cluster": "lab", "source": "list", "resource": "nodes", "type": "ADDED", "object": {}}
    return json.dumps({**envelope, **fields}) + "\n"


def raws(*paths: Path) -> list[bytes]:
    return [entry.raw for entry in read_sources(paths)]


def test_small_disorder_within_a_file_is_put_in_order() -> None:
    entries = [seen(0, "a"), seen(3, "d"), seen(1, "b"), seen(2, "c"), seen(9, "e")]
    assert names(merged(identity, [entries])) == list("abcde")


def test_ties_stay_in_file_order() -> None:
    assert names(merged(identity, [[seen(1, "b"), seen(0, "a"), seen(1, "c"), seen(1, "d")]])) == list("abcd")


def test_what_comes_later_than_the_window_goes_out_when_it_comes() -> None:
    entries = [seen(0, "a"), seen(10, "b"), seen(20, "d"), seen(4, "c"), seen(21, "e")]
    assert names(merged(identity, [entries])) == list("abcde")


def test_one_time_far_ahead_does_not_disturb_the_others() -> None:
    assert names(merged(identity, [[seen(0, "a"), seen(10**9, "z"), seen(1, "b"), seen(2, "c")]])) == list("abcz")


def test_files_are_merged_by_time_and_ties_are_in_the_order_of_the_files() -> None:
    first, second = [seen(0, "a"), seen(2, "c"), seen(4, "e")], [seen(1, "b"), seen(2, "d"), seen(5, "f")]
    assert names(merged(identity, [first, second])) == list("abcdef")


def test_window_is_bounded_in_number_and_in_bytes() -> None:
    pulled = 0

    def endless(size: int) -> Iterator[Observed]:
        nonlocal pulled
        while True:
            pulled += 1
            yield seen(0, str(pulled), size)

    next(merged(identity, [endless(0)]))
    assert pulled == WINDOW_OBSERVATIONS + 1
    pulled = 0
    size = 10 * 1024 * 1024
    next(merged(identity, [endless(size)]))
    assert pulled == WINDOW_BYTES // size + 1


def test_unreadable_lines_that_wait_for_a_time_are_bounded_in_number_and_in_bytes() -> None:
    pulled = 0

    def endless(size: int) -> Iterator[Unreadable]:
        nonlocal pulled
        while True:
            pulled += 1
            yield bad(str(pulled), size=size)

    next(merged(identity, [endless(0)]))
    assert pulled == WINDOW_OBSERVATIONS + 1
    pulled = 0
    size = 10 * 1024 * 1024
    next(merged(identity, [endless(size)]))
    assert pulled == WINDOW_BYTES // size + 1


def test_an_unreadable_line_keeps_its_place_for_any_apparent_time() -> None:
    far = TS + timedelta(days=900)
    entries: list[Observed | Unreadable]
    entries = [bad("a", far), seen(0, "b"), bad("c", far), seen(1, "d"), seen(30, "e"), bad("f")]
    assert names(merged(identity, [entries])) == list("abcdef")


def test_more_unreadable_lines_than_the_window_keep_their_order_before_the_first_readable_one() -> None:
    count = WINDOW_OBSERVATIONS + 2
    entries: list[Observed | Unreadable]
    entries = [*(bad(str(number)) for number in range(count)), seen(0, "first"), seen(1, "second")]
    assert names(merged(identity, [entries])) == [*map(str, range(count)), "first", "second"]


def test_ties_of_captures_come_in_the_order_of_their_paths_before_dumps(tmp_path: Path) -> None:
    dump, second, first = tmp_path / "a.json", tmp_path / "b.jsonl", tmp_path / "c.jsonl"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "dumped"}}
    dump.write_text(json.dumps(node))
    for path in (first, second):
        path.write_text(line(0, object={"metadata": {"name": path.stem}}))
    read = [entry.raw for entry in read_sources([dump, first, second], at=TS)]
    assert [next(name for name in (b"dumped", b'"b"', b'"c"') if name in raw) for raw in read] == [
        b'"c"',
        b'"b"',
        b"dumped",
    ]


def test_file_of_nothing_but_unreadable_lines_is_given() -> None:
    assert names(merged(identity, [[bad("a"), bad("b")]])) == ["a", "b"]


@given(
    times=st.lists(st.one_of(st.integers(0, 40), st.none()), max_size=40),
    jitter=st.lists(st.floats(0, WINDOW.total_seconds() / 2), min_size=40, max_size=40),
    cuts=st.sets(st.integers(0, 40)),
)
def test_file_cut_in_pieces_gives_the_sequence_of_the_whole(
    times: list[int | None], jitter: list[float], cuts: set[int]
) -> None:
    ordered = sorted(time for time in times if time is not None)
    entries: list[Observed | Unreadable] = [
        bad(str(number)) if time is None else seen(ordered.pop(0) + jitter[number], str(number))
        for number, time in enumerate(times)
    ]
    edges = [0, *sorted(cut for cut in cuts if cut < len(entries)), len(entries)]
    pieces = [entries[start:end] for start, end in pairwise(edges)]
    whole = [entry for entry in merged(identity, [entries]) if isinstance(entry, Observed)]
    cut_up = [entry for entry in merged(identity, pieces) if isinstance(entry, Observed)]
    assert cut_up == whole == sorted(whole, key=lambda entry: entry.observation.ts)


def test_recording_in_pieces_gives_the_sequence_of_the_whole(tmp_path: Path) -> None:
    whole = raws(NODE_PRESSURE)
    pieces = []
    for number, start in enumerate(range(0, 975, 123)):
        piece = tmp_path / f"{number}.jsonl"
        piece.write_bytes(b"".join(raw + b"\n" for raw in whole[start : start + 123]))
        pieces.append(piece)
    assert raws(*pieces) == whole
    # a folder's captures are taken in order of name
    assert raws(tmp_path) == whole


def test_folder_of_captures_in_any_compression_is_read(tmp_path: Path) -> None:
    (tmp_path / "b.jsonl").write_text(line(2, cluster="b"))
    (tmp_path / "a.jsonl").write_text(line(1, cluster="a") + line(3, cluster="c"))
    (tmp_path / "real.jsonl.gz").write_bytes(NODE_PRESSURE.read_bytes())
    (tmp_path / "notes.txt").write_text("nothing of interest")
    entries = [entry for entry in read_sources([tmp_path]) if isinstance(entry, Observed)]
    assert len(entries) == 978
    assert [entry.observation.cluster for entry in entries if entry.observation.cluster != "lab"] == ["a", "b", "c"]


def test_same_paths_give_the_same_sequence(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    path.write_text("".join([line(5), "x\n", line(1), line(5, cluster="y"), line(0), line(60)]))
    paths = [path, NODE_PRESSURE]
    assert list(read_sources(paths)) == list(read_sources(paths))


def test_progress_ends_at_all_bytes_and_never_goes_back(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_text("".join(line(number) for number in range(5000)))
    calls: list[tuple[int, int, int]] = []
    for _ in read_sources([path, NODE_PRESSURE], progress=lambda *call: calls.append(call)):
        pass
    total = path.stat().st_size + NODE_PRESSURE.stat().st_size
    assert calls[-1] == (total, total, 5975)
    assert calls == sorted(calls)
    assert len(calls) > 10
    assert {call[1] for call in calls} == {total}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.as_posix, "no such file or folder"),
        (Path.mkdir, "this folder has nothing that Leadsman reads"),
        (Path.touch, "the file is empty"),
        (lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100)), "it has no observations"),
    ],
)
def test_path_that_is_no_source_is_refused_by_name(
    tmp_path: Path, make: Callable[[Path], object], message: str
) -> None:
    path = tmp_path / "source"
    make(path)
    with pytest.raises(SourceError) as caught:
        list(read_sources([NODE_PRESSURE, path]))
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)


def test_capture_whose_first_line_is_cut_off_is_still_a_capture(tmp_path: Path) -> None:
    path = tmp_path / "tail.jsonl"
    path.write_text('{"a": 1, "b\n' + line(1))
    assert [type(entry) for entry in read_sources([path])] == [Unreadable, Observed]


def test_capture_may_have_its_fields_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    path.write_text(json.dumps(dict(reversed(json.loads(line(1)).items()))) + "\n")
    assert [type(entry) for entry in read_sources([path])] == [Observed]


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    """The author of a dump must not name files of its reader; links within it, as of a mounted volume, stay."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.jsonl").write_text(line(1))
    dump = tmp_path / "dump"
    (dump / "..data").mkdir(parents=True)
    (dump / "..data" / "own.jsonl").write_text(line(1))
    (dump / "link.jsonl").symlink_to(outside / "private.jsonl")
    (dump / "relative.jsonl").symlink_to("../outside/private.jsonl")
    (dump / "folder").symlink_to(outside)
    (dump / "within.jsonl").symlink_to("..data/own.jsonl")
    assert [path.name for path in folder_files(dump).captures] == ["own.jsonl", "within.jsonl"]
    (tmp_path / "linked").symlink_to(dump)
    assert len(folder_files(tmp_path / "linked").captures) == 2


def test_folders_may_be_nested_deeper_than_python_calls(tmp_path: Path) -> None:
    folders = [tmp_path]
    for _ in range(1200):
        folders.append(folders[-1] / "d")
        folders[-1].mkdir()
    (folders[-1] / "node.json").write_text('{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}')
    try:
        assert len(list(read_sources([tmp_path]))) == 1
    finally:
        (folders[-1] / "node.json").unlink()
        for each in reversed(folders[1:]):
            each.rmdir()


def test_files_of_foreign_kinds_are_counted_without_a_copy_for_each(tmp_path: Path) -> None:
    class Counted(Counter[str]):
        def copy(self) -> "Counted":
            raise AssertionError("a file costs as much as all kinds before it")

    for number in range(3):
        kind = {"kind": f"Kind{number}", "apiVersion": "v1", "metadata": {"name": "a"}}
        (tmp_path / f"{number}.json").write_text(json.dumps(kind))
    skipped = Counted()
    with pytest.raises(SourceError, match="holds nothing that Leadsman reads, only Kind0"):
        list(read_sources([tmp_path], skipped=skipped))
    assert skipped == {"Kind0": 1, "Kind1": 1, "Kind2": 1}
