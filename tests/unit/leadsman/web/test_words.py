"""Amounts and times in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadsman.web.words import amount, duration, percent, resource, sentence, size, some


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (15 * 1024**3, "15.0 GiB"),
        (-(1 << 20), "-1.00 MiB"),
        (None, "unknown"),
    ],
)
def test_bytes_are_told_in_binary_units(value: int | None, text: str) -> None:
    assert size(value) == text


def test_an_amount_is_told_in_the_unit_of_its_signal() -> None:
    assert amount(1 << 30, "memory.available") == "1.00 GiB"
    assert amount(12_600_000, "nodefs.inodesFree") == "12.6 M inodes"
    assert amount(4096, "pid.available") == "4,096 processes"


def test_cpu_is_told_in_cpus_and_memory_in_bytes() -> None:
    assert resource(1500, "cpu") == "1.5 CPU"
    assert resource(1 << 30, "memory") == "1.00 GiB"
    assert resource(110, "pods") == "110"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (7200, "2 h"),
        (90_000, "1 d 1 h"),
        (None, "unknown"),
    ],
)
def test_a_duration_is_told_in_its_two_largest_parts(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


@given(st.integers(0, 10**7))
def test_a_duration_is_off_by_less_than_its_smallest_part(seconds: int) -> None:
    lengths = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
    parts = duration(seconds).split()
    named = list(zip(map(int, parts[::2]), parts[1::2], strict=True))
    told = sum(number * lengths[unit] for number, unit in named)
    below = {"d": 3600, "h": 60, "min": 1, "s": 1}[named[0][1]]
    assert 0 <= seconds - told < below


def test_one_is_singular() -> None:
    assert (some(1, "pod"), some(2, "pod"), some(1500, "was", "were")) == ("1 pod", "2 pods", "1,500 were")


def test_a_sentence_begins_large_and_ends_with_a_stop() -> None:
    assert sentence("nodes are even") == "Nodes are even."
    assert sentence("Done.") == "Done."
    assert sentence("") == ""


def test_a_ratio_is_told_as_percent() -> None:
    assert percent(0.333) == "33 %"
