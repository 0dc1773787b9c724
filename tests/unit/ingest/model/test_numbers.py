"""Integers as wide as Kubernetes' own, and what is computed from them."""

from typing import NamedTuple

import msgspec
import pytest

from ingest.kafka.publish import PublisherNumber
from ingest.model.numbers import INT64_MAX, int64_of, storable
from streams.fold.checkpoints import encoded
from streams.kafka.codec import Emission


class Row(NamedTuple):
    name: str
    number: int


class State(msgspec.Struct, frozen=True):
    counts: dict[str, tuple[int, ...]]
    row: Row
    is_there: bool = True


WIDE = State({"a": (2**70, -(2**70), 1)}, Row("\ud800", 2**64))
STORED = State({"a": (INT64_MAX, -INT64_MAX - 1, 1)}, Row("?", INT64_MAX))


def test_what_is_stored_is_the_nearest_that_fits() -> None:
    assert storable(WIDE) == STORED
    assert storable(STORED) == STORED


def test_a_state_is_encoded_whatever_was_computed() -> None:
    assert msgspec.msgpack.decode(encoded(WIDE), type=State) == STORED


@pytest.mark.parametrize("text", [str(2**63), str(-(2**63) - 1), "9" * 5000, "x", ""])
def test_a_header_with_a_number_that_no_state_can_hold_was_not_written_by_us(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        int64_of(text)
    with pytest.raises(ValueError, match=r"."):
        PublisherNumber.parse(f"{text} publisher".encode())
    with pytest.raises(ValueError, match=r"."):
        Emission.parse(f"1 {text} c/n".encode())
