"""Amounts in words keep their magnitude."""

import pytest

from common.amounts import count, size


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10.0 k"),
        (32_412, "32.4 k"),
        (838_860, "839 k"),
        (16_171_357, "16.2 M"),
        (-12_000, "-12.0 k"),
    ],
)
def test_a_count(value: int, shown: str) -> None:
    assert count(value) == shown


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0 B"), (1023, "1,023 B"), (1536, "1.50 KiB"), (15 << 30, "15.0 GiB")]
)
def test_a_size(value: int, shown: str) -> None:
    assert size(value) == shown
