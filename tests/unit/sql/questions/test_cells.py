"""Values in a table are as people read them; a unit is in the column's name, or follows from the row."""

from datetime import UTC, datetime
from typing import Any

import pytest

from sql.database.open import Result
from sql.questions.cells import Column, as_columns
from zones import reader_in


def column(name: str, value: Any, kind: str = "Int64", **others: str) -> Column:
    """The column of one value, in a row that has these texts too."""
    names = (name, *others)
    return as_columns(Result(names, (kind, *("String" for _ in others)), [(value, *others.values())]))[0]


@pytest.mark.parametrize(
    ("name", "value", "heading", "shown"),
    [
        ("freed_bytes", 15 << 30, "freed", "15.0 GiB"),
        ("cpu_request_millicores", 500, "cpu_request", "0.5 CPUs"),
        ("cpu_request_millicores", 1000, "cpu_request", "1 CPU"),
        ("lasted_seconds", 333.0, "lasted", "5 min 33 s"),
        ("p90_error_seconds", 0.34, "p90_error", "0.3 s"),
        ("seconds_to_hard", 7200.0, "to_hard", "2 h"),
        ("seconds_to_hard", -90.0, "to_hard", "-1 min 30 s"),
        ("cpu_quota_microseconds", 400_000, "cpu_quota", "400 ms"),
        ("used_ratio", 1.088, "used", "109 %"),
        ("used_ratio", 0.614, "used", "61 %"),
        ("used_ratio", 0.0348, "used", "3.5 %"),
        ("used_ratio", 0.0, "used", "0 %"),
        ("usage_percent", 74, "usage", "74 %"),
        ("exit_code", 137, "exit_code", "137"),
        ("freed_bytes", None, "freed", "-"),
    ],
)
def test_the_unit_of_a_name_moves_from_the_heading_to_the_value(
    name: str, value: float | None, heading: str, shown: str
) -> None:
    found = column(name, value, "Nullable(Float64)")
    assert (found.heading, found.cells, found.right) == (heading, [shown], True)


def test_no_two_columns_of_an_answer_have_one_heading() -> None:
    answer = Result(("used", "used_ratio", "limits_percent"), ("Int64", "Float64", "Float64"), [(3, 0.5, 20.0)])
    assert [each.heading for each in as_columns(answer)] == ["used", "used_%", "limits"]


@pytest.mark.parametrize(
    ("of", "shown"),
    [
        ({"signal": "memory.available"}, "20.0 KiB"),
        ({"signal": "nodefs.inodesFree"}, "20.5 k"),
        ({"signal": "pid.available"}, "20.5 k"),
        ({"signal": "", "resource": "ephemeral-storage"}, "20.0 KiB"),
        ({"resource": "cpu"}, "20.48 CPUs"),
        ({"resource": "nvidia.com/gpu"}, "20480"),
        ({}, "20480"),
    ],
)
def test_an_amount_is_in_the_unit_of_its_row_s_signal_or_resource(of: dict[str, str], shown: str) -> None:
    assert column("available", 20_480, **of).cells == [shown]


@pytest.mark.parametrize(
    ("name", "kind", "value", "shown"),
    [
        ("ready", "Nullable(UInt8)", 1, "yes"),
        ("ready", "Nullable(UInt8)", 0, "no"),
        ("ready", "Nullable(UInt8)", None, "-"),
        ("spans", "Bool", True, "yes"),
        ("high_percent", "UInt8", 1, "1 %"),
        ("1", "UInt8", 1, "1"),
        ("numa_node", "UInt8", 1, "1"),
        ("plus", "Nullable(UInt8)", 0, "0"),
        ("own", "Nullable(Bool)", False, "no"),
        ("ready", "UInt16", 1, "1"),
        ("plus(1, 1)", "UInt16", 2, "2"),
    ],
)
def test_a_flag_is_yes_or_no_and_a_number_is_none(name: str, kind: str, value: int | None, shown: str) -> None:
    assert column(name, value, kind).cells == [shown]


def test_lists_and_maps_are_words_and_each_resource_has_its_unit() -> None:
    assert column("taints", ["a", "b"], "Array(String)").cells == ["a, b"]
    assert column("taints", [], "Array(String)").cells == ["-"]
    capacity = {"cpu": 1500, "memory": 1 << 30, "pods": 110}
    assert column("capacity", capacity, "Map(String, Int64)").cells == ["cpu=1.5 CPUs, memory=1.00 GiB, pods=110"]
    grace = {"memory.available": 90.0}
    assert column("grace_seconds", grace, "Map(String, Float64)").cells == ["memory.available=1 min 30 s"]


def test_a_time_is_in_the_reader_s_zone_and_can_be_given_back() -> None:
    at = datetime(2026, 11, 21, 4, 19, 29, 400_000, tzinfo=UTC)
    for zone, shown in (("UTC", "2026-11-21 04:19:29Z"), ("Asia/Kolkata", "2026-11-21 09:49:29+05:30")):
        with reader_in(zone):
            assert column("ts", at, "DateTime64(6, 'UTC')").cells == [shown]
        assert datetime.fromisoformat(shown) == at.replace(microsecond=0)


@pytest.mark.parametrize("name", ["free_bytes", "waited_seconds", "waited_microseconds", "used_ratio", "used"])
def test_a_number_that_is_none_is_shown(name: str) -> None:
    """Regression: ClickHouse's avg of no rows ended the command of who asked."""
    (column,) = as_columns(Result((name,), ("Float64",), [(float("nan"),)]))
    assert column.cells == ["nan"]
