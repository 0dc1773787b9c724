"""Lines of a watch's body, compared with a naive split of the whole."""

import asyncio
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from ingest.apiserver.splitter import HEAD_BYTES, Oversized, split_lines


async def _chunks(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def _split(pieces: list[bytes], limit_bytes: int) -> list[bytes | Oversized]:
    async def collect() -> list[bytes | Oversized]:
        return [line async for line in split_lines(_chunks(pieces), limit_bytes)]

    return asyncio.run(collect())


@given(st.lists(st.text("ab\n", max_size=12).map(str.encode), max_size=12), st.integers(0, 8))
def test_lines_do_not_depend_on_where_the_chunks_end(pieces: list[bytes], limit_bytes: int) -> None:
    whole = b"".join(pieces)
    expected = [
        line if len(line) <= limit_bytes else Oversized(len(line), line) for line in whole.split(b"\n")[:-1] if line
    ]
    assert _split(pieces, limit_bytes) == expected


def test_of_an_oversized_line_only_its_head_is_kept() -> None:
    (line,) = _split([b"x" * 100_000, b"y" * 100_000, b"\n"], 1000)
    assert isinstance(line, Oversized)
    assert line.size_bytes == 200_000
    assert len(line.head) == HEAD_BYTES


def test_a_cut_off_last_line_is_dropped() -> None:
    assert _split([b"a\nb"], 10) == [b"a"]
