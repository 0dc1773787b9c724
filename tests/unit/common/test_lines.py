"""Lines of a stream, compared with a naive split of the whole."""

from hypothesis import given
from hypothesis import strategies as st

from common.lines import Line, Splitter

KEPT_BYTES = 4


def _split(pieces: list[bytes], limit_bytes: int) -> list[Line]:
    splitter = Splitter(limit_bytes, KEPT_BYTES)
    return [*(line for piece in pieces for line in splitter.add(piece)), splitter.rest()]


@given(st.lists(st.text("ab \n", max_size=12).map(str.encode), max_size=12), st.integers(0, 8))
def test_lines_do_not_depend_on_where_the_chunks_end(pieces: list[bytes], limit_bytes: int) -> None:
    *ended, rest = b"".join(pieces).split(b"\n")
    expected = [
        (number, line if len(line) <= limit_bytes else line[:KEPT_BYTES], len(line), len(line) > limit_bytes)
        for number, line in enumerate(ended, start=1)
        if line.strip() or len(line) > limit_bytes
    ]
    *found, last = _split(pieces, limit_bytes)
    assert [(each.number, each.data, each.size_bytes, each.too_long) for each in found] == expected
    assert (last.number, last.size_bytes, last.ended) == (len(ended) + 1, len(rest), False)


def test_of_a_line_that_is_too_long_only_its_beginning_is_kept() -> None:
    line, _ = _split([b"x" * 100_000, b"y" * 100_000, b"\n"], 1000)
    assert line == Line(1, b"xxxx", 200_000, ended=True, too_long=True)


def test_what_stands_behind_the_last_line_break_is_not_ended() -> None:
    assert _split([b"a\nb"], 10) == [Line(1, b"a", 1, True, False), Line(2, b"b", 1, False, False)]
