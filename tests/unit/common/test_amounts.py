"""Amounts in words keep their magnitude."""

import pytest

from common.amounts import count, counted, cpus, how_often, size, two_sizes


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
    ("value", "shown"),
    [
        (0, "0 B"),
        (-0.2, "0 B"),
        (1023, "1,023 B"),
        (1536, "1.50 KiB"),
        (15 << 30, "15.0 GiB"),
        (float("nan"), "nan B"),  # as ClickHouse's avg of no rows
    ],
)
def test_a_size(value: float, shown: str) -> None:
    assert size(value) == shown


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        (16 << 30, 15 << 30, ("16.0 GiB", "15.0 GiB")),
        (254 << 30, (253 << 30) + (512 << 20), ("254.0 GiB", "253.5 GiB")),
        (254 << 30, (254 << 30) + (2 << 20), ("254.000 GiB", "254.002 GiB")),
        (254 << 30, (254 << 30) + 1, ("272,730,423,296 B", "272,730,423,297 B")),
        (5, 5, ("5 B", "5 B")),
    ],
)
def test_two_sizes_have_enough_digits_to_differ(one: int, other: int, shown: tuple[str, str]) -> None:
    assert two_sizes(one, other) == shown


def test_a_number_agrees_with_its_word() -> None:
    assert [counted(each, "pod") for each in (0, 1, 1_000)] == ["0 pods", "1 pod", "1,000 pods"]
    assert [counted(each, "entry", "entries") for each in (1, 2)] == ["1 entry", "2 entries"]
    assert [how_often(each) for each in (1, 2)] == ["once", "2 times"]
    assert [cpus(each) for each in (1_000, 1_500, 500)] == ["1 CPU", "1.5 CPUs", "0.5 CPUs"]
