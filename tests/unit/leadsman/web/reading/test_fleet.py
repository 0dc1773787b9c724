"""The map of a fleet: how much room a cell shows, what it never calls well, and how cells are grouped."""

from datetime import timedelta

import pydantic
import pytest

from components.node_lines import node_line
from components.rows import T0
from leadsman.web.reading.fleet import Choice, Level, fleet, level_of, room_of, soonest
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import Fit, NodeLine
from leadsman.web.reading.scope import BadScope, Scope
from leadsman.web.reading.settings import PageSettings

SCOPE = Scope("c", T0 - timedelta(hours=1), T0)


def margin(signal: str, available: int, hard: int | None = 0, seconds: float | None = None) -> Margin:
    """Return a margin of a capacity of 100."""
    return Margin(
        signal, available, 100, hard, None, hard is not None and available < hard, False, seconds, None, False, False
    )


def node(name: str, *margins: Margin, **more: object) -> NodeLine:
    return node_line(name, margins=margins, **more)


MEMORY, DISK = "memory.available", "nodefs.available"


@pytest.mark.parametrize(
    ("available", "level"),
    [
        (-1, Level.BELOW),
        (0, Level.SCARCE),
        (4, Level.SCARCE),
        (5, Level.LOW),
        (15, Level.SOME),
        (29, Level.SOME),
        (30, Level.PLENTY),
    ],
)
def test_the_level_is_what_is_left_above_the_threshold(available: int, level: Level) -> None:
    assert level_of(node("n", margin(MEMORY, available))) is level


def test_room_is_the_least_of_all_signals_or_of_one_resource() -> None:
    line = node("n", margin(DISK, 10), margin(MEMORY, 60), fit={"cpu": Fit(4000, 4000, 1000, None, 1)})
    assert [room_of(line, room) for room in ("", "disk", "memory", "cpu", "pids")] == [0.1, 0.1, 0.6, 0.75, None]


def test_a_signal_without_a_threshold_has_no_room_to_show() -> None:
    assert room_of(node("n", margin(MEMORY, 60, hard=None)), "") is None
    assert level_of(node("n", margin(MEMORY, 60, hard=None))) is Level.UNKNOWN


@pytest.mark.parametrize("trouble", [{"stale": True}, {"ready": False}, {"ready": None}])
def test_nothing_is_well_without_evidence(trouble: dict[str, object]) -> None:
    assert level_of(node("n", margin(MEMORY, 90), **trouble)) is Level.UNKNOWN


def test_the_worst_come_first_and_not_ready_before_all() -> None:
    nodes = [
        node("plenty", margin(MEMORY, 90)),
        node("below", margin(MEMORY, -5)),
        node("silent", margin(MEMORY, 90), stale=True, sample_age="31 h ago"),
        node("refused", margin(MEMORY, 90), ready=False),
    ]
    (group,) = fleet(nodes).groups
    assert [cell.node for cell in group.cells] == ["refused", "silent", "below", "plenty"]
    assert [cell.words for cell in group.cells][:3] == [
        "not Ready",
        "last sample 31 h ago, memory: 90 % left then",
        "memory: below the threshold",
    ]
    by_name = fleet(nodes, Choice(order="name")).groups[0].cells
    assert [cell.node for cell in by_name] == ["below", "plenty", "refused", "silent"]


def test_a_node_that_was_cut_before_its_condition_ready_is_not_known_and_not_called_not_ready() -> None:
    (group,) = fleet([node("cut", margin(MEMORY, 90), ready=None, ready_reported=False), node("other")]).groups
    (cell,) = [cell for cell in group.cells if cell.node == "cut"]
    assert (cell.level, cell.ready, cell.words) == (Level.UNKNOWN, True, "Ready not reported")


def test_the_legend_counts_every_node_once_and_a_filter_dims_the_others() -> None:
    nodes = [node("a", margin(MEMORY, 90)), node("b", margin(MEMORY, 90)), node("c", margin(MEMORY, 2))]
    found = fleet(nodes, Choice(level="2"))
    assert {level: count for level, _, count in found.legend if count} == {Level.SCARCE: 1, Level.PLENTY: 2}
    assert {cell.node for cell in found.groups[0].cells if not cell.dim} == {"c"}


def test_nodes_are_grouped_by_zone_where_there_are_several_else_by_pool() -> None:
    one = [node("a", zone="z1", pool="p1"), node("b", zone="z1", pool="p2")]
    assert [group.name for group in fleet(one).groups] == ["p1", "p2"]
    two = [*one, node("c", zone="z2")]
    assert [group.name for group in fleet(two).groups] == ["z1", "z2"]
    assert [group.name for group in fleet(two, Choice(by="both")).groups] == ["z1, p1", "z1, p2", "z2, no pool"]
    assert [group.name for group in fleet(two, Choice(by="none")).groups] == [""]


def test_the_smallest_of_very_many_groups_share_one() -> None:
    found = fleet([node(f"n{number}", pool=f"p{number}") for number in range(100)], Choice(by="pool"))
    assert (len(found.groups), sum(len(group.cells) for group in found.groups)) == (49, 100)
    assert [len(group.cells) for group in found.groups if group.name == "others"] == [52]


def test_cells_shrink_so_that_5000_fit_a_screen() -> None:
    sizes = [fleet([node(f"n{number}") for number in range(nodes)]).size for nodes in (2, 1200, 5000)]
    assert sizes == ["s22", "s16", "s8"]


def test_what_is_next_is_soonest_first_and_leaves_out_what_is_met_or_old() -> None:
    nodes = [
        node("later", margin(MEMORY, 50, seconds=7200.0)),
        node("soon", margin(DISK, 50, seconds=60.0), margin("nodefs.inodesFree", 50, seconds=61.0)),
        node("met", margin(MEMORY, -1, seconds=1.0)),
        node("old", margin(MEMORY, 50, seconds=5.0), stale=True),
        node("days", margin(MEMORY, 50, seconds=90_000.0)),
    ]
    assert [(each.node, each.at - T0, each.which) for each in soonest(nodes, SCOPE, "")] == [
        ("soon", timedelta(minutes=1), "hard"),
        ("later", timedelta(hours=2), "hard"),
    ]
    live = SCOPE._replace(now=T0 + timedelta(minutes=2))
    assert [each.seconds for each in soonest(nodes, live, "")] == [0.0, 7080.0]


@pytest.mark.parametrize("name", ["room", "by", "order", "level"])
def test_a_choice_without_meaning_is_refused(name: str) -> None:
    with pytest.raises(BadScope, match=f"{name} cannot be '<b>'"):
        Choice.of({"room": "", "by": "", "order": "", "level": "", name: "<b>"})


def test_the_steps_of_the_scale_are_a_setting() -> None:
    choice = Choice(steps=PageSettings(room_steps_percent=(10, 20, 50)).steps)
    found = fleet([node("n", margin(MEMORY, 22))], choice)
    assert [(level, text) for level, text, count in found.legend if count] == [(Level.SOME, "20 to 50 %")]
    assert [text for _, text, _ in found.legend] == [
        "unknown", "below threshold", "under 10 %", "10 to 20 %", "20 to 50 %", "over 50 %",
    ]  # fmt: skip


def test_the_map_of_cpu_has_nodes_with_thresholds_and_names_the_worst_apart_from_room_that_is_left() -> None:
    """Regression: with a threshold of anything on a node, the page was an error."""
    nodes = [
        node(name, margin(MEMORY, 60), fit={"cpu": Fit(4000, 4000, used, None, 1)})
        for name, used in (("over", 5000), ("plenty", 1000))
    ]
    found = fleet(nodes, Choice(room="cpu"))
    assert [text for _, text, count in found.legend if count] == ["overcommitted", "over 30 %"]
    words = {cell.node: cell.words for group in found.groups for cell in group.cells}
    assert words["plenty"] == "75 % of CPU not requested"


@pytest.mark.parametrize("steps", [(5, 5, 30), (30, 15, 5), (0, 15, 30), (5, 15, 100)])
def test_steps_that_do_not_rise_within_the_room_are_refused(steps: tuple[float, float, float]) -> None:
    with pytest.raises(pydantic.ValidationError):
        PageSettings(room_steps_percent=steps)
