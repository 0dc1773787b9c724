"""Capture files read and written (capture-format.md)."""

import gzip
import json
import random
import tracemalloc
import zlib
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.files.capture import ERROR_TYPES, CaptureWriter, SourceError, read_capture
from ingest.files.envelope import encode_line
from ingest.files.lines import KEPT_BYTES, LINE_LIMIT_BYTES, Compression, SourceFile, zstd
from ingest.model.observation import Observation, Observed, Unreadable
from ingest.resources.table import BY_NAME
from paths import NODE_PRESSURE
from profiles import EXAMPLES

TS = datetime(2026, 11, 21, 4, 17, 7, 289239, tzinfo=UTC)
GOOD = (
    b'{"ts":"2026-11-21T04:17:07.289239Z","cluster":"lab",'
    b'"source":"list","resource":"nodes","type":"ADDED","object":{}}'
)


def read(path: Path) -> list[Observed | Unreadable]:
    with SourceFile(path) as file:
        return list(read_capture(file))


def read_bytes(folder: Path, data: bytes) -> list[Observed | Unreadable]:
    path = folder / "capture.jsonl"
    path.write_bytes(data)
    return read(path)


def lines(*data: bytes) -> bytes:
    return b"".join(line + b"\n" for line in data)


def the_bad_one(entries: Sequence[Observed | Unreadable]) -> Unreadable:
    bad = [entry for entry in entries if isinstance(entry, Unreadable)]
    assert len(bad) == 1
    return bad[0]


def good_lines(entries: Sequence[Observed | Unreadable]) -> list[str]:
    return [entry.position.place for entry in entries if isinstance(entry, Observed)]


def with_field(name: str, value: Any) -> bytes:
    return msgspec.json.encode({**json.loads(GOOD), name: value})


def test_recording_has_975_observations_and_nothing_else() -> None:
    entries = read(NODE_PRESSURE)
    with gzip.open(NODE_PRESSURE) as file:
        expected = [json.loads(line) for line in file]
    assert len(expected) == 975
    assert [json.loads(entry.raw) for entry in entries] == expected
    first = entries[0]
    assert isinstance(first, Observed)
    assert first.observation.ts == TS
    assert first.position == (str(NODE_PRESSURE), "1")
    assert json.loads(bytes(first.observation.object)) == expected[0]["object"]


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstd.compress], ids=["plain", "gzip", "zstd"])
def test_compression_is_recognised_by_content_not_by_name(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    path = tmp_path / "misleading.gz"
    path.write_bytes(compress(lines(GOOD, GOOD)))
    assert good_lines(read(path)) == ["1", "2"]


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
def test_members_that_follow_each_other_are_one_file(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    # a line may begin in one member and end in the next
    data = compress(GOOD + b"\n" + GOOD[:40]) + compress(GOOD[40:] + b"\n") + b"\0" * 9000
    assert good_lines(read_bytes(tmp_path, data)) == ["1", "2"]


def test_zstd_file_may_begin_with_a_skippable_frame(tmp_path: Path) -> None:
    data = b"\x50\x2a\x4d\x18\x04\x00\x00\x00abcd" + zstd.compress(lines(GOOD))
    assert good_lines(read_bytes(tmp_path, data)) == ["1"]


def test_blank_lines_are_skipped_and_counted(tmp_path: Path) -> None:
    assert good_lines(read_bytes(tmp_path, b"\n \t\r\n" + lines(GOOD, b"", GOOD))) == ["3", "5"]


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + GOOD + b"\r\n" + GOOD + b"\r\n"
    assert good_lines(read_bytes(tmp_path, data)) == ["1", "2"]


def test_complete_last_line_needs_no_line_break(tmp_path: Path) -> None:
    assert good_lines(read_bytes(tmp_path, lines(GOOD) + GOOD)) == ["1", "2"]


@pytest.mark.parametrize("cut", [1, 20, 60, len(GOOD) - 1])
def test_cut_off_last_line_is_reported_and_the_others_are_kept(tmp_path: Path, cut: int) -> None:
    entries = read_bytes(tmp_path, lines(GOOD, GOOD) + GOOD[:cut])
    bad = the_bad_one(entries)
    assert good_lines(entries) == ["1", "2"]
    assert (bad.error_type, bad.position.place, bad.raw) == ("cut_off", "3", GOOD[:cut])


def test_line_cut_off_within_a_character_is_cut_off(tmp_path: Path) -> None:
    line = GOOD.replace(b"lab", "größe".encode())
    bad = the_bad_one(read_bytes(tmp_path, lines(GOOD) + line[: line.index(b"\xc3") + 1]))
    assert bad.error_type == "cut_off"


NOT_OBSERVATIONS = [
    ("not_json", b"hello"),
    ("not_json", b"12:30 INFO started"),
    ("not_json", b'"text" and more'),
    ("not_json", GOOD + b"x"),
    ("not_json", GOOD.replace(b"{}}", b"{a:1}}")),
    ("not_json", GOOD.replace(b'"lab"', b"5") + b"}"),
    ("cut_off", GOOD[:-1]),
    ("not_utf8", GOOD.replace(b"lab", b"\xff\xfe")),
    ("not_utf8", GOOD.replace(b"{}}", b'{"name":"\xff"}}')),
    ("too_deep", GOOD.replace(b"{}}", b"[" * 10_000 + b"]" * 10_000 + b"}")),
    ("too_deep", GOOD.replace(b"{}}", b'{"a":' * 10_000 + b"1" + b"}" * 10_001)),
    ("wrong_type", b"[]"),
    ("wrong_type", b"null"),
    ("wrong_type", with_field("cluster", 5)),
    ("wrong_type", with_field("node", None)),
    ("wrong_type", with_field("ts", 1_700_000_000)),
    ("wrong_value", with_field("ts", "yesterday")),
    ("wrong_value", with_field("ts", "2026-11-21T04:17:07.289239")),
    ("wrong_value", with_field("ts", "0001-01-01T00:00:00Z")),
    ("wrong_value", with_field("ts", "0001-01-01T00:00:00+23:00")),
    ("wrong_value", with_field("ts", "9999-12-31T23:59:59Z")),
    ("wrong_value", with_field("type", "RENAMED")),
    ("wrong_value", with_field("source", "rumour")),
    ("missing_field", b"{}"),
    ("missing_field", GOOD.replace(b'"cluster":"lab",', b"")),
    ("unknown_resource", with_field("resource", "secrets")),
]


@pytest.mark.parametrize(("error_type", "line"), NOT_OBSERVATIONS)
def test_line_that_is_no_observation_is_reported_and_its_neighbours_are_kept(
    tmp_path: Path, error_type: str, line: bytes
) -> None:
    entries = read_bytes(tmp_path, lines(GOOD, line, GOOD))
    bad = the_bad_one(entries)
    assert bad.error_type == error_type
    assert bad.error_type in ERROR_TYPES
    assert bad.position == (str(tmp_path / "capture.jsonl"), "2")
    assert bad.raw == line[:KEPT_BYTES]
    assert bad.reason
    assert good_lines(entries) == ["1", "3"]


@pytest.mark.parametrize("name", ["ts", "cluster", "source", "resource", "type", "node"])
def test_reason_of_a_wrong_type_names_the_field(tmp_path: Path, name: str) -> None:
    bad = the_bad_one(read_bytes(tmp_path, lines(GOOD, with_field(name, ["x"]))))
    assert bad.error_type == "wrong_type"
    assert f"$.{name}" in bad.reason


def test_reason_shows_a_hostile_resource_as_plain_text(tmp_path: Path) -> None:
    bad = the_bad_one(read_bytes(tmp_path, lines(GOOD, with_field("resource", "\x1b[2J\n[red]"))))
    assert bad.reason == r'the resource "\x1b[2J\n[red]" is unknown'


def test_time_and_cluster_are_reported_where_they_can_still_be_read(tmp_path: Path) -> None:
    entries = read_bytes(tmp_path, lines(GOOD, GOOD[:80], b"{", with_field("cluster", 'a"b')[:70]))
    bad = [(entry.ts, entry.cluster) for entry in entries if isinstance(entry, Unreadable)]
    assert bad == [(TS, "lab"), (None, ""), (TS, 'a"b')]


@pytest.mark.parametrize("ts", ["2026-11-21T04:17:07", "2026-13-21T04:17:07Z", "0001-01-01T00:00:00+23:00"])
def test_time_that_is_none_is_not_reported(tmp_path: Path, ts: str) -> None:
    assert the_bad_one(read_bytes(tmp_path, lines(GOOD, with_field("ts", ts)))).ts is None


def test_time_in_another_zone_becomes_utc(tmp_path: Path) -> None:
    entry = read_bytes(tmp_path, lines(with_field("ts", "2026-11-21T06:17:07.289239+02:00")))[0]
    assert isinstance(entry, Observed)
    assert (entry.observation.ts, entry.observation.ts.tzinfo) == (TS, UTC)


def test_object_of_5_megabytes_is_kept(tmp_path: Path) -> None:
    big = with_field("object", {"name": "x" * 5_000_000})
    entries = read_bytes(tmp_path, lines(GOOD, big, GOOD))
    assert good_lines(entries) == ["1", "2", "3"]
    assert entries[1].raw == big


@pytest.mark.parametrize(("longer", "readable"), [(0, ["1", "2", "3"]), (1, ["1", "3"])])
def test_line_limit_is_16_mebibytes(tmp_path: Path, longer: int, readable: list[str]) -> None:
    frame = len(with_field("object", {"name": ""}))
    long = with_field("object", {"name": "x" * (LINE_LIMIT_BYTES - frame + longer)})
    entries = read_bytes(tmp_path, lines(GOOD, long, GOOD))
    assert good_lines(entries) == readable
    if longer:
        bad = the_bad_one(entries)
        assert (bad.error_type, bad.position.place, bad.raw) == ("too_long", "2", long[:KEPT_BYTES])
        assert bad.ts == TS


@pytest.mark.parametrize("compress", [gzip.compress, zstd.compress], ids=["gzip", "zstd"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.999])
def test_of_a_truncated_compressed_file_every_complete_line_is_kept(
    tmp_path: Path, compress: Callable[[bytes], bytes], part: float
) -> None:
    generator = random.Random(7)  # noqa: S311 - a seed for a repeatable test
    whole = [with_field("node", f"{generator.getrandbits(400):x}") for _ in range(3000)]
    packed = compress(lines(*whole))
    entries = read_bytes(tmp_path, packed[: int(len(packed) * part)])
    bad = the_bad_one(entries)
    kept = [entry.raw for entry in entries if isinstance(entry, Observed)]
    assert bad is entries[-1]
    assert (bad.error_type, bad.position.place) == ("cut_off", str(len(kept) + 1))
    assert kept == whole[: len(kept)]
    # a zstd block holds at most 128 KiB, and what is in it shows only when it is complete
    assert sum(map(len, kept)) > part * sum(map(len, whole)) - 128 * 1024 - 1000


def test_truncated_file_whose_last_line_is_complete_loses_nothing(tmp_path: Path) -> None:
    packer = zlib.compressobj(wbits=31)
    packed = packer.compress(lines(GOOD, GOOD)) + packer.flush(zlib.Z_SYNC_FLUSH)
    entries = read_bytes(tmp_path, packed)
    assert good_lines(entries) == ["1", "2"]
    assert the_bad_one(entries).error_type == "cut_off"


def test_after_damage_in_compressed_data_the_lines_before_it_are_kept(tmp_path: Path) -> None:
    generator = random.Random(7)  # noqa: S311 - a seed for a repeatable test
    packed = bytearray(
        gzip.compress(lines(*(with_field("node", f"{generator.getrandbits(400):x}") for _ in range(3000))))
    )
    packed[len(packed) // 2] ^= 0xFF
    entries = read_bytes(tmp_path, bytes(packed))
    assert entries[-1].position.place == str(len(entries))
    assert isinstance(entries[-1], Unreadable)
    assert entries[-1].error_type == "damaged"
    assert len(good_lines(entries)) > 1000


def test_bytes_behind_the_compressed_data_are_reported(tmp_path: Path) -> None:
    entries = read_bytes(tmp_path, gzip.compress(lines(GOOD)) + b"garbage")
    assert good_lines(entries) == ["1"]
    assert the_bad_one(entries).error_type == "damaged"


def peak_mebibytes(work: Callable[[], object]) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 1024 / 1024
    finally:
        tracemalloc.stop()


def bomb(compression: Compression, piece: bytes, mebibytes: int) -> bytes:
    """A line, and behind it many times `piece`."""
    block = piece * (1024 * 1024 // len(piece))
    if compression == "gzip":
        gzipped = zlib.compressobj(wbits=31)
        return (
            gzipped.compress(lines(GOOD))
            + b"".join(gzipped.compress(block) for _ in range(mebibytes))
            + gzipped.flush()
        )
    packed = zstd.ZstdCompressor()
    return packed.compress(lines(GOOD)) + b"".join(packed.compress(block) for _ in range(mebibytes)) + packed.flush()


@pytest.mark.costly
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("piece", [b"\0", b"\n"], ids=["one line", "empty lines"])
def test_bomb_fills_no_memory_and_is_reported(tmp_path: Path, compression: Compression, piece: bytes) -> None:
    packed = bomb(compression, piece, mebibytes=80)
    assert len(packed) < 256 * 1024
    entries: list[Observed | Unreadable] = []
    peak = peak_mebibytes(lambda: entries.extend(read_bytes(tmp_path, packed)))
    assert peak < 60
    assert good_lines(entries) == ["1"]
    assert entries[-1].raw == piece.replace(b"\n", b"") * KEPT_BYTES
    assert the_bad_one(entries).error_type == "bomb"


@pytest.mark.costly
def test_bomb_without_any_observation_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="bomb"):
        read_bytes(tmp_path, zstd.compress(b"\0" * (70 << 20)))


@pytest.mark.costly
@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_observations_that_repeat_for_ever_end_at_a_limit_of_work(tmp_path: Path, compression: Compression) -> None:
    """Each line can be read, and there is no end of them: 100 KB would be half a million lines."""
    line = with_field("object", {"name": "x" * 100_000}) + b"\n"
    entries: list[Observed | Unreadable] = []
    path = tmp_path / "repeating"
    path.write_bytes(bomb(compression, line, mebibytes=300))
    with SourceFile(path) as file:
        read = 0
        for entry in read_capture(file):
            read += len(line)
            entries[:] = [entry]
    assert read < 258 << 20
    assert isinstance(entries[0], Unreadable)
    assert entries[0].error_type == "bomb"
    assert "repeated lines" in entries[0].reason


@pytest.mark.costly
def test_file_that_compresses_well_is_no_bomb(tmp_path: Path) -> None:
    big = with_field("object", {"name": "x" * 15_000_000})
    assert len(good_lines(read_bytes(tmp_path, zstd.compress(lines(*[big] * 6))))) == 6


@pytest.mark.costly
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    line = with_field("object", {"name": "x" * 80_000}) + b"\n"
    path.write_bytes(line * 1000)

    def count() -> None:
        with SourceFile(path) as file:
            assert sum(1 for _ in read_capture(file)) == 1000

    assert peak_mebibytes(count) < 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"\n\n \n", "the file is empty"),
        (gzip.compress(b"", mtime=0), "the file is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(range(256)) * 40, "it has no observations"),
        (b"hello\nworld\n", "no Kubernetes objects: other text"),
        (b'{"level":"info"}\n' * 5, "it has no observations"),
        (GOOD[:50], "it has no observations"),
        (
            b"etc/\0".ljust(257, b"\0") + b"ustar\x0000" + b"\0" * 700,
            "a tar archive without anything that Leadsman reads",
        ),
        (
            gzip.compress(b"etc/\0".ljust(257, b"\0") + b"ustar\x0000" + b"\0" * 700, mtime=0),
            "a tar archive without anything that Leadsman reads",
        ),
    ],
)
def test_wrong_file_is_refused_with_what_is_wrong(tmp_path: Path, data: bytes, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        read_bytes(tmp_path, data)
    assert message in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path / "capture.jsonl") + ": ")


def test_large_file_of_another_kind_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"a line of a log\n" * 1_000_000)
    with SourceFile(path) as file:
        with pytest.raises(SourceError):
            list(read_capture(file))
        assert file.read_bytes < 1_000_000


def test_bad_lines_before_the_first_observation_are_reported_in_their_place(tmp_path: Path) -> None:
    entries = read_bytes(tmp_path, lines(b"tail of a line}", b"x", GOOD))
    assert [entry.position.place for entry in entries] == ["1", "2", "3"]
    assert good_lines(entries) == ["3"]


def test_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such file or folder"):
        SourceFile(tmp_path / "no\x1bsuch")


def test_folder_is_no_capture(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        SourceFile(tmp_path)


@settings(max_examples=EXAMPLES * 3 // 2)
@given(
    parts=st.lists(
        st.one_of(
            st.binary(max_size=200).map(lambda data: data.replace(b"\n", b"")),
            st.just(GOOD),
            st.integers(0, len(GOOD)).map(lambda cut: GOOD[:cut]),
            st.tuples(st.integers(0, len(GOOD) - 1), st.integers(1, 255)).map(
                lambda flip: (
                    GOOD[: flip[0]] + bytes([GOOD[flip[0]] ^ flip[1]]).replace(b"\n", b"") + GOOD[flip[0] + 1 :]
                )
            ),
        ),
        max_size=20,
    ),
    compress=st.sampled_from([bytes, gzip.compress, zstd.compress]),
)
def test_whatever_stands_between_them_every_good_line_is_kept_and_nothing_else_is_lost(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], compress: Callable[[bytes], bytes]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    data = [GOOD, *parts, GOOD]
    entries = read_bytes(folder, compress(lines(*data)))
    reported = {int(entry.position.place): entry for entry in entries}
    assert list(reported) == [number for number, line in enumerate(data, start=1) if line.strip(b" \t\r\f\v")]
    for number, entry in reported.items():
        line = data[number - 1]
        assert entry.raw == line
        assert isinstance(entry, Observed) or line != GOOD


@settings(max_examples=EXAMPLES * 3 // 2)
@given(
    data=st.binary(max_size=3000),
    start=st.sampled_from([b"", b"\x1f\x8b\x08\x00", b"\x28\xb5\x2f\xfd", gzip.compress(GOOD)]),
)
def test_arbitrary_bytes_raise_nothing_but_a_source_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, start: bytes
) -> None:
    try:
        entries = read_bytes(tmp_path_factory.mktemp("any"), start + data)
    except SourceError:
        return
    assert all(isinstance(entry, Observed) or entry.error_type in ERROR_TYPES for entry in entries)


# --- the writer


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
OBSERVATIONS = st.builds(
    Observation,
    ts=st.datetimes(datetime(1970, 1, 1), datetime(2199, 12, 31), timezones=st.just(UTC)),  # noqa: DTZ001 - bounds are naive there
    cluster=st.text(max_size=20),
    source=st.sampled_from(["list", "watch", "kubelet", "agent"]),
    resource=st.sampled_from(sorted(BY_NAME)),
    type=st.sampled_from(["ADDED", "MODIFIED", "DELETED", "SNAPSHOT", "ERROR"]),
    node=st.text(max_size=20),
    object=JSON.map(lambda value: msgspec.Raw(json.dumps(value, indent=1).encode())),
)


def decoded(observation: Observation) -> dict[str, Any]:
    return {**msgspec.structs.asdict(observation), "object": json.loads(bytes(observation.object))}


@settings(max_examples=EXAMPLES * 3 // 5)
@given(
    observations=st.lists(OBSERVATIONS, min_size=1, max_size=8), compression=st.sampled_from(["none", "gzip", "zstd"])
)
def test_what_was_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory, observations: list[Observation], compression: Compression
) -> None:
    path = tmp_path_factory.mktemp("written") / "capture"
    half = len(observations) // 2
    for part in (observations[:half], observations[half:]):
        with closing(CaptureWriter(path, compression)) as writer:
            for observation in part:
                writer.write(observation)
    entries = read(path)
    assert [decoded(entry.observation) for entry in entries if isinstance(entry, Observed)] == [
        decoded(observation) for observation in observations
    ]
    assert len(entries) == len(observations)


def observation(number: int = 0, raw: bytes = b"{}") -> Observation:
    return Observation(
        ts=TS + timedelta(seconds=number),
        cluster="lab",
        source="kubelet",
        resource="configz",
        type="SNAPSHOT",
        node="n1",
        object=msgspec.Raw(raw),
    )


def test_line_has_the_fields_of_contract_1_with_microseconds() -> None:
    whole_second = msgspec.structs.replace(observation(), ts=TS.replace(microsecond=0), node="")
    assert encode_line(observation()) == (
        b'{"ts":"2026-11-21T04:17:07.289239Z","cluster":"lab","source":"kubelet","resource":"configz",'
        b'"type":"SNAPSHOT","node":"n1","object":{}}\n'
    )
    assert json.loads(encode_line(whole_second)) == {
        "ts": "2026-11-21T04:17:07.000000Z",
        "cluster": "lab",
        "source": "kubelet",
        "resource": "configz",
        "type": "SNAPSHOT",
        "object": {},
    }


def test_managed_fields_of_the_object_are_left_out_and_nothing_else() -> None:
    raw = (
        b'{"metadata":{"name":"a","managedFields":[{"time":"x"}],"uid":"u"},'
        b'"spec":{"managedFields":1,"big":12345678901234567890}}'
    )
    written = encode_line(observation(raw=raw))
    assert written.endswith(
        b'"object":{"metadata":{"name":"a","uid":"u"},"spec":{"managedFields":1,"big":12345678901234567890}}}\n'
    )


@pytest.mark.parametrize("raw", [b'["managedFields"]', b'{"metadata":"managedFields"}', b'{"managedFields":1}'])
def test_object_of_another_shape_is_written_as_it_is(raw: bytes) -> None:
    assert encode_line(observation(raw=raw)).endswith(b'"object":' + raw + b"}\n")


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
def test_process_that_is_killed_loses_nothing_that_was_written(tmp_path: Path, compression: Compression) -> None:
    path = tmp_path / "capture"
    writer = CaptureWriter(path, compression)
    for number in range(50):
        writer.write(observation(number))
        # what a kill would leave on disk
        copy = tmp_path / "left"
        copy.write_bytes(path.read_bytes())
        assert len(good_lines(read(copy))) == number + 1
    writer.close()


@pytest.mark.parametrize("compression", ["none", "gzip", "zstd"])
@pytest.mark.parametrize("lost_bytes", [0, 1, 5])
def test_file_that_a_killed_process_left_is_appended_to(
    tmp_path: Path, compression: Compression, lost_bytes: int
) -> None:
    path, left = tmp_path / "capture", tmp_path / "left"
    writer = CaptureWriter(path, compression)
    for number in range(10):
        writer.write(observation(number))
    data = path.read_bytes()
    left.write_bytes(data[: len(data) - lost_bytes])
    writer.close()
    before = [entry.raw for entry in read(left) if isinstance(entry, Observed)]
    with closing(CaptureWriter(left, compression)) as again:
        again.write(observation(77))
    entries = read(left)
    after = [entry for entry in entries if isinstance(entry, Observed)]
    assert len(before) >= 9
    assert [entry.raw for entry in after[:-1]] == before
    assert after[-1].observation.ts == TS + timedelta(seconds=77)
    assert [path.name for path in tmp_path.glob("*.mended")] == []


def test_file_of_another_compression_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / "capture"
    with closing(CaptureWriter(path, "gzip")) as writer:
        writer.write(observation())
    with pytest.raises(SourceError, match="exists already, with compression gzip"):
        CaptureWriter(path, "none")


def test_folder_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be written"):
        CaptureWriter(tmp_path / "none" / "capture")
