"""The table of nodes: names without their common suffix, and pages of a large fleet."""

import pytest

from components.node_lines import node_line
from leadsman.web.attention.badges import Badge, Severity
from leadsman.web.reading.fleet import Choice
from leadsman.web.reading.scope import BadScope
from leadsman.web.rendering.node_table import EVERY, PAGE, WHOLE, Line, Narrowing, common_suffix, node_table

CLOUD = ".eu-central-1.compute.internal"


def line(name: str, *, urgent: bool = False, **more: object) -> Line:
    badge = Badge(Severity.CRITICAL if urgent else Severity.NOTE, "cordoned")
    return Line(node_line(name, **more), [badge], urgent)


@pytest.mark.parametrize(
    ("names", "suffix"),
    [
        ([f"ip-10-0-1-{n}{CLOUD}" for n in range(9)], CLOUD),
        ([f"ip-10-0-1-{n}{CLOUD}" for n in range(9)] + ["fargate"], CLOUD),
        (["node-1", "node-2"], ""),
        ([f"a{CLOUD}"], ""),
        (["a.x", "b.y", "c.z"], ""),
        (["a.x", "b.x", "a"], ""),
        ([], ""),
    ],
)
def test_the_suffix_is_the_domain_of_most_and_never_makes_two_names_one(names: list[str], suffix: str) -> None:
    assert common_suffix(names) == suffix


def test_a_small_fleet_is_whole_and_what_does_not_fit_is_hidden() -> None:
    table = node_table([line("a"), line("b", urgent=True)], Narrowing(show="attention"))
    assert (table.whole, table.pages, table.matching, table.total) == (True, 1, 1, 2)
    assert [(row.name, row.hidden) for row in table.rows] == [("a", True), ("b", False)]


def test_a_large_fleet_comes_in_pages() -> None:
    lines = [line(f"n{number:04d}{CLOUD}") for number in range(WHOLE + 50)]
    first, last = node_table(lines, Narrowing(show=EVERY)), node_table(lines, Narrowing(page="3"))
    assert (first.whole, first.pages, len(first.rows), first.rows[0].name) == (False, 3, PAGE, "n0000")
    assert (last.page, len(last.rows), last.rows[-1].name) == (3, 50, f"n{WHOLE + 49:04d}")
    assert node_table(lines, Narrowing(page="99")).page == 3


def test_of_a_large_fleet_that_nobody_narrowed_the_most_urgent_come() -> None:
    lines = [line(f"n{number:04d}") for number in range(WHOLE + 50)]
    table = node_table(lines)
    assert [row.name for row in table.rows] == [f"n{number:04d}" for number in range(12)]
    assert (table.pages, table.total, table.matching) == (1, WHOLE + 50, WHOLE + 50)
    assert len(node_table(lines, choice=Choice(level="0")).rows) == PAGE  # none was sampled


def test_a_large_fleet_is_narrowed_and_sorted_before_it_is_cut() -> None:
    lines = [line(f"n{number:04d}", pool="gpu" if number == 240 else "general") for number in range(WHOLE + 50)]
    table = node_table(lines, Narrowing(q="GPU v1.36"))
    assert ([row.name for row in table.rows], table.matching, table.pages) == (["n0240"], 1, 1)
    backwards = list(reversed(lines))
    assert node_table(backwards, Narrowing(sort="name")).rows[0].name == "n0000"


@pytest.mark.parametrize(("name", "value"), [("sort", "<b>"), ("page", "-1"), ("page", "1" * 9), ("page", "x")])
def test_meaningless_values_are_refused(name: str, value: str) -> None:
    given = dict.fromkeys(Narrowing._fields, "") | {name: value}
    with pytest.raises(BadScope, match=f"{name} cannot be"):
        Narrowing.of(given)
