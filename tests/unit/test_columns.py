"""Columns of numbers, eight bytes each."""

from hypothesis import given
from hypothesis import strategies as st

from ingest.columns import TYPE_CODES, Numbers, pack, unpack
from ingest.records import PodColumns

INT64 = (-(1 << 63), (1 << 63) - 1)
ints = st.lists(st.lists(st.none() | st.integers()))
floats = st.lists(st.lists(st.none() | st.floats(allow_nan=False)))


def naive(pieces: list[list[int | None]] | list[list[float | None]]) -> list[float | None]:
    """What was put in, an integer brought within 64 bits."""
    return [
        min(max(value, INT64[0]), INT64[1]) if isinstance(value, int) else value
        for piece in pieces
        for value in piece
    ]


def read_back(column: Numbers) -> list[float | None]:
    absent = set(column.absent)
    return [None if place in absent else value for place, value in enumerate(column.values)]


@given(ints)
def test_integers_are_kept_in_their_order_and_within_64_bits(pieces: list[list[int | None]]) -> None:
    column = Numbers("q")
    for piece in pieces:
        column.extend(piece)
    assert read_back(column) == naive(pieces)
    assert len(column) == len(column.values)


@given(floats)
def test_fractions_are_kept_in_their_order(pieces: list[list[float | None]]) -> None:
    column = Numbers("d")
    for piece in pieces:
        column.extend(piece)
    assert read_back(column) == naive(pieces)


@given(st.lists(st.lists(st.none() | st.integers(), min_size=2, max_size=2)))
def test_what_was_packed_elsewhere_is_the_same(pieces: list[list[int | None]]) -> None:
    there, here = Numbers("q"), Numbers("q")
    for piece in pieces:
        columns = {name: piece if code == "q" else [0.5, None] for name, code in TYPE_CODES.items()}
        pods = PodColumns(namespace=["n"] * 2, pod=["a", "b"], uid=["a", "b"], **columns)  # type: ignore[arg-type]
        there.add(dict(zip(TYPE_CODES, pack(pods), strict=True))["processes"])
        here.extend(piece)
        assert unpack(pack(pods))["processes"] == naive([piece])
    assert read_back(there) == read_back(here)
