"""A chart places its parts, and each happening on the chart that it concerns."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0, row, store, store_samples, summary
from leadsman.web.attention.episodes import fold
from leadsman.web.reading.charts import Chart, Forecast, Line, Threshold, with_evictions
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.timeline import Happening
from leadsman.web.rendering.frame import HEIGHT, TOP
from leadsman.web.rendering.lanes import PlotLane, lanes_of, pressure_of
from leadsman.web.rendering.names import DEEP, HIGH, LABEL, WIDE, NameBox
from leadsman.web.rendering.plot import Plot, axis_of, plot_of, spark
from leadsman.web.rendering.render import environment
from leadsman.web.site.pages import Request, node_of
from sql.database.open import Database
from streams.fold.findings import EvictionSignal

SCOPE = Scope("c", T0, T0 + timedelta(hours=1))
START = int(T0.timestamp())
GIB = 1 << 30
MARGIN = Margin("memory.available", 20 * GIB, 24 * GIB, 0, None, False, False, None, None, False, False)


def chart(
    values: list[float], *limits: tuple[str, float], forecast: Forecast | None = None, images: bool = False
) -> Chart:
    line = Line(
        "available", tuple(START + 60 * nth for nth in range(len(values))), tuple(int(v * GIB) for v in values)
    )
    bounds = tuple(Threshold(kind, kind, ((START, int(value * GIB)),)) for kind, value in limits)
    return Chart("m", "Memory", "memory", "MemoryPressure", MARGIN, (line,), bounds, forecast, images)


def plot(made: Chart) -> Plot:
    return plot_of(made, 0, axis_of([made], SCOPE), (), ())


def test_the_axis_lies_around_the_line_and_the_threshold_that_it_crosses() -> None:
    made = plot(chart([20, 18, 19], ("hard", 18.5), ("soft", 19.5)))
    assert 17.5 * GIB < made.low < 18 * GIB < 20 * GIB < made.high < 20.5 * GIB
    assert made.outside == ()


def test_the_nearest_threshold_is_always_within_and_a_far_one_is_named() -> None:
    made = plot(chart([20, 19, 20], ("hard", 0.1), ("soft", 15)))
    assert made.low < 15 * GIB
    assert [kind for kind, _ in made.limits] == ["soft"]
    assert made.outside == ("hard 102 MiB",)
    soft, hard = made.labels
    assert (soft.text, hard.text, hard.note) == ("soft", "hard ↓", "102 MiB")
    assert hard.y - soft.y >= LABEL


def eviction(minutes: float, available: float | None, **values: object) -> dict[str, object]:
    left = None if available is None else int(available * GIB)
    given = {"ts": T0 + timedelta(minutes=minutes), "signal": "memory.available", "time_known": 1, "available": left}
    return {**given, **values}


def test_what_the_kubelet_measured_when_it_evicted_is_on_the_line() -> None:
    """The samples' low is 15.45 GiB; between two of them the kubelet saw 14.44, below the threshold of 15."""
    sampled = chart([20.5, 15.45, 20], ("hard", 15))._replace(signals=("memory.available",))
    others = eviction(1, 3, signal="nodefs.available"), eviction(1, 4, time_known=0), eviction(1, None)
    evicted = with_evictions(sampled, [eviction(1.5, 14.44), *others])
    made = plot(evicted)
    assert [round(value / GIB, 2) for value in evicted.lines[0].lowest] == [20.5, 15.45, 14.44, 20]
    assert made.low < 14.44 * GIB
    assert (made.readout[0], round(made.readout[1] / GIB, 2)) == (T0 + timedelta(minutes=1.5), 14.44)
    assert [text for _, _, text in made.reported] == ["14.4 GiB by the kubelet"]
    assert with_evictions(sampled, others) is sampled


def test_a_label_is_above_its_mark_where_the_axis_is_nearer_than_its_height() -> None:
    made = plot(chart([20, 1, 20], ("hard", 0.1)))
    foot = made.bottom
    assert [made.beneath(foot - above, 12) - (foot - above) for above in (40, 13, 12, 4)] == [12, 12, -8, -8]


@pytest.mark.parametrize("hard", [10, 10.5, 14])
def test_the_axis_goes_through_no_time_of_a_crossing(hard: float) -> None:
    """A threshold that is not met yet is the lowest of what is drawn, 17 pixels above the axis."""
    hit = START + 4500, int(hard * GIB)
    forecast = Forecast(((START + 3600, 19 * GIB), hit), (hit,), None, None)
    made = plot(chart([20, 19], ("hard", hard), forecast=forecast))
    template: Any = environment().get_template("charts.html.j2").make_module()
    drawn = template.drawing(made, False)
    (foot,) = map(float, re.findall(r'data-iso="[^"]*" x="[^"]*" y="([^"]*)"', drawn))
    assert not foot - HIGH < made.bottom < foot + DEEP
    assert foot < made.bottom + 23, "where the lanes begin"


def test_the_axis_reaches_to_what_evicts_though_image_gc_is_nearer() -> None:
    made = plot(chart([74, 64], ("gc", 73), ("hard", 36), ("gc", 85)))
    assert made.low < 36 * GIB
    assert [kind for kind, _ in made.limits] == ["gc", "hard", "gc"]


@given(
    st.lists(st.floats(0, 1e4), min_size=1, max_size=30),
    st.lists(st.tuples(st.sampled_from(["hard", "soft", "gc"]), st.floats(0, 1e4)), max_size=5),
)
def test_whatever_the_values_the_line_is_within_the_plot(
    values: list[float], limits: list[tuple[str, float]]
) -> None:
    made = plot(chart(values, *limits))
    assert 0 <= made.low < made.high
    ys = [float(point.split()[1]) for point in made.lines[0][1].removesuffix("h.1")[1:].replace("M", "L").split("L")]
    assert all(TOP <= y <= TOP + HEIGHT for y in ys)
    assert 2 <= len(made.rows) <= 12
    assert all(TOP <= label.y <= TOP + HEIGHT for label in made.labels)


def test_a_threshold_steps_where_it_was_set() -> None:
    made = chart([20, 19, 18])
    steps = ((START, 18 * GIB), (START + 1800, 19 * GIB))
    drawn = plot(made._replace(thresholds=(Threshold("hard", "hard", steps),)))
    path = dict(drawn.limits)["hard"]
    assert path.startswith("M0.0 ")
    assert "H500.0V" in path
    assert path.endswith("H1000")
    first, second = drawn.notes
    assert (first.last, second.last) == (False, True)
    assert 0 <= first.left < second.left == 50  # each beside its own step


def test_names_of_two_thresholds_at_the_foot_stand_beside_each_other() -> None:
    """128 GiB of room over thresholds of 0.5 and 2 GiB: their lines are three pixels apart."""
    hard, soft = plot(chart([128, 3], ("hard", 0.5), ("soft", 2))).notes
    assert abs(hard.y - soft.y) < HIGH
    first, second = sorted((hard, soft), key=lambda note: note.left)
    assert first.left + WIDE * (len(first.text) + 1) <= second.left


def test_no_name_of_a_threshold_lies_on_what_the_kubelet_reported() -> None:
    falling = chart([128 - 2.1 * minute for minute in range(60)], ("hard", 0.5), ("soft", 2))
    drawn = plot(with_evictions(falling._replace(signals=("memory.available",)), [eviction(57.5, 1.86)]))
    ((left, y, text),) = drawn.reported
    said = NameBox(text, left, drawn.beneath(y, 12))
    ends_there = said._replace(left=left - said.wide)
    hard, soft = (NameBox(note.text, note.left, note.y) for note in drawn.notes)
    assert not any(one.overlaps(other) for one, other in ((ends_there, hard), (ends_there, soft), (hard, soft)))


def test_the_band_lies_between_the_earliest_and_the_latest_course() -> None:
    """The axis ends with the latest course: an hour of samples and half an hour ahead."""
    forecast = Forecast(((START + 3600, 2 * GIB), (START + 4500, GIB)), (), (START + 4050, GIB), (START + 5400, GIB))
    made = plot(chart([2] * 61, ("hard", 1), forecast=forecast))
    assert made.axis.end == START + 5400
    above, below = made.band[1:-1].split("L")[0], made.band[1:-1].split("L")[1:]
    assert above.startswith("666.7 ")
    assert [corner.split()[0] for corner in below] == ["750.0", "1000.0"]
    assert len({corner.split()[1] for corner in below}) == 1


def test_the_time_axis_reaches_as_far_as_the_forecast() -> None:
    forecast = Forecast(((START + 3600, GIB), (START + 4500, 0)), ((START + 4500, 0),))
    made = plot(chart([2] * 61, ("hard", 1), forecast=forecast))
    assert made.axis.until == 80.0
    assert [(hit.left, hit.at) for hit in made.hits] == [(100.0, datetime.fromtimestamp(START + 4500, UTC))]


def test_the_readout_has_the_moment_nearest_to_a_threshold() -> None:
    made = plot(chart([20, 18, 19], ("hard", 17), ("gc", 90)))
    at, value, acting = made.readout
    assert (at, value) == (T0 + timedelta(minutes=1), 18 * GIB)
    assert [(threshold.kind, bound) for threshold, bound in acting] == [("hard", 17 * GIB)]


def happening(
    minute: float, kind: str, what: str, until: float | None = -1, about: str = "", resource: str = ""
) -> Happening:
    ends = None if until is None else T0 + timedelta(minutes=minute if until < 0 else until)
    return Happening(T0 + timedelta(minutes=minute), ends, "n", kind, what, about, resource)


HAPPENED = (
    happening(1, "kubelet", "The kubelet started."),
    happening(5, "pressure", "MemoryPressure", 9, about="MemoryPressure"),
    happening(6, "pressure", "DiskPressure", None, about="DiskPressure"),
    happening(7, "eviction", "Pod a/b was evicted.", about="memory")._replace(pod="a/b"),
    happening(7.1, "eviction", "Pod a/c was evicted.", about="memory")._replace(pod="a/c"),
    happening(8, "eviction", "Pod a/d was evicted.", about="inodes")._replace(pod="a/d"),
    happening(9, "alert", "x", None, about="EvictionThresholdNear", resource="memory")._replace(severity="critical"),
    happening(10, "alert", "x", None, about="ImageGCInsufficientFreed")._replace(severity="warning"),
    happening(11, "image_gc", "Image GC keeps failing: x", None, about="persistent"),
)


def found(lanes: list[PlotLane]) -> dict[str, list[tuple[str, int]]]:
    return {lane.name: [(mark.state, mark.number) for mark in lane.marks] for lane in lanes}


def test_an_event_is_drawn_on_the_chart_of_its_resource() -> None:
    memory = chart([20, 19])
    disk = chart([20, 19], images=True)._replace(resource="ephemeral-storage", condition="DiskPressure")
    episodes = fold(HAPPENED, SCOPE)
    assert found(lanes_of(memory, episodes, SCOPE)) == {
        "Evictions": [("critical over", 2)],
        "Memory pressure": [("warning over", 1)],
        "Alerts": [("critical", 1)],
        "Kubelet": [("note over", 1)],
    }
    assert found(lanes_of(disk, episodes, SCOPE)) == {
        "Disk pressure": [("warning", 1)],
        "Alerts": [("warning", 1)],
        "Image GC": [("critical", 1)],
        "Kubelet": [("note over", 1)],
    }
    assert pressure_of(disk, episodes, SCOPE) == [(T0 + timedelta(minutes=6), SCOPE.until)]


@pytest.mark.parametrize("values", [(), (1.0,), (3.0, 3.0), (1.0, 9.0, 2.0)])
def test_a_spark_stays_in_its_box(values: tuple[float, ...]) -> None:
    points = [point.split() for point in spark(values)[1:].split("L") if point]
    assert len(points) == len(values)
    assert all(0 <= float(x) <= 100 and 0 <= float(y) <= 20 for x, y in points)


def test_a_node_on_which_nothing_happened_is_drawn(database: Database) -> None:
    signal = row(EvictionSignal, node="n", signal="memory.available", available=GIB, capacity=2 * GIB)
    store(database, signal)
    sample = summary(T0, "n", memory_available_bytes=GIB, memory_working_set_bytes=GIB, cpu_usage_nanocores=10**9)
    store_samples(database, sample)
    page = node_of(database, Request.of({"node": "n"}), lambda: T0)
    assert page is not None
    assert 'class="series"' in page
    assert "no threshold" in page
    assert "1 CPU" in page
