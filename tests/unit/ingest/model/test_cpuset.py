"""The CPU-list grammar (rules: cpu-lists)."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.cpuset import InvalidCpuSet, format_cpuset, parse_cpuset


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("", set()),
        ("\n", set()),
        ("0", {0}),
        ("0-3", {0, 1, 2, 3}),
        ("5-5", {5}),
        ("8,0-1,10-11", {0, 1, 8, 10, 11}),
        ("0,2,4,6\n", {0, 2, 4, 6}),
        ("1,1,0-2", {0, 1, 2}),
    ],
)
def test_lists_are_read_in_any_order(text: str, cpus: set[int]) -> None:
    assert parse_cpuset(text) == cpus


@pytest.mark.parametrize(
    "text",
    [
        "3-1",
        "a",
        "0-",
        "-1",
        "1--2",
        "0,",
        ",0",
        "0,,1",
        "0 ,1",
        " 0",
        "0-1-2",
        "+1",
        "0\n\n",
        "0:2",
        "0x1",
        "٣",
        "1²",
    ],
)
def test_a_text_outside_the_grammar_is_refused(text: str) -> None:
    with pytest.raises(InvalidCpuSet):
        parse_cpuset(text)


@pytest.mark.parametrize("text", ["0-65536", "0-999999", "9999999", "0-99999999999999", ",".join(["0-60000"] * 9)])
def test_a_list_of_more_cpus_than_any_machine_has_is_refused(text: str) -> None:
    with pytest.raises(InvalidCpuSet):
        parse_cpuset(text)


def test_the_largest_list_is_read() -> None:
    assert len(parse_cpuset("0-65535")) == 65536


def test_the_error_names_the_part_shortened() -> None:
    with pytest.raises(InvalidCpuSet, match="'7-3'"):
        parse_cpuset("0-1,7-3")
    with pytest.raises(InvalidCpuSet) as caught:
        parse_cpuset("x" * 1_000_000)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("cpus", "text"),
    [([], ""), ([0, 1], "0-1"), ([3, 1, 2], "1-3"), ([0, 2, 4], "0,2,4"), ([10, 8, 0, 1, 11], "0-1,8,10-11")],
)
def test_the_canonical_list_is_sorted_and_merged(cpus: list[int], text: str) -> None:
    assert format_cpuset(cpus) == text


cpu_sets = st.frozensets(st.integers(0, 200), max_size=60)


@given(cpu_sets)
def test_a_set_survives_being_written_and_read(cpus: frozenset[int]) -> None:
    assert parse_cpuset(format_cpuset(cpus)) == cpus


@given(cpu_sets)
def test_no_two_ranges_of_a_canonical_list_touch(cpus: frozenset[int]) -> None:
    bounds = [int(number) for number in re.split("[-,]", format_cpuset(cpus)) if number]
    ends_and_starts = [part.split("-") for part in format_cpuset(cpus).split(",") if part]
    assert bounds == sorted(bounds)
    assert all(int(after[0]) - int(before[-1]) > 1 for before, after in pairwise(ends_and_starts))


@given(st.lists(st.tuples(st.integers(0, 99), st.integers(0, 99)).map(sorted), max_size=8))
def test_a_list_is_the_union_of_its_ranges(ranges: list[list[int]]) -> None:
    text = ",".join(f"{first}-{last}" for first, last in ranges)
    expected = {cpu for cpu in range(100) if any(first <= cpu <= last for first, last in ranges)}
    assert parse_cpuset(text) == expected
