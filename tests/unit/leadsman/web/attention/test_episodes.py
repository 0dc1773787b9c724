"""Happenings fold to one line an episode."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.rows import T0
from leadsman.web.attention.badges import Severity
from leadsman.web.attention.episodes import Episode, fold, kinds_of, timeline
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.timeline import Filter, Happened, Happening

SCOPE = Scope("c", T0, T0 + timedelta(hours=2))


def at(minutes: float) -> datetime:
    return T0 + timedelta(minutes=minutes)


def happening(minutes: float, what: str, kind: str = "eviction", node: str = "n") -> Happening:
    return Happening(at(minutes), at(minutes), node, kind, what)


def evicted(minutes: float, pod: str, low_on: str = "memory", node: str = "n") -> Happening:
    what = f"Pod a/{pod} was evicted: low on {low_on}, 1 GiB available."
    return happening(minutes, what, node=node)._replace(about=low_on, pod=f"a/{pod}")


def lasting(since: float, until: float | None, kind: str = "pressure", about: str = "DiskPressure") -> Happening:
    return Happening(at(since), None if until is None else at(until), "n", kind, about, about)


def words(episodes: list[Episode]) -> list[str]:
    return [each.what for each in episodes]


def test_a_storm_is_one_line_with_its_count() -> None:
    (found,) = fold([evicted(minute, f"p{minute}", node=f"n{minute % 3}") for minute in range(20)], SCOPE)
    assert (found.what, len(found.happenings)) == ("20 pods were evicted: low on memory", 20)
    assert found.nodes == ("n0", "n1", "n2")
    assert (found.since, found.until) == (at(0), at(19))


def test_evictions_for_another_resource_or_long_after_are_other_episodes() -> None:
    found = fold([evicted(0, "p"), evicted(1, "q", "inodes"), evicted(30, "r")], SCOPE)
    assert [each.since for each in found] == [at(30), at(1), at(0)]


def test_one_that_happened_once_keeps_its_words() -> None:
    (found,) = fold([evicted(0, "p")], SCOPE)
    assert found.what == "Pod a/p was evicted: low on memory, 1 GiB available."


def test_an_intermittent_problem_is_one_episode_with_several_bars() -> None:
    (found,) = fold([lasting(0, 5), lasting(8, 12)], SCOPE)
    assert (found.what, found.since, found.until) == ("DiskPressure: 2 times", at(0), at(12))


def test_an_alert_that_fires_again_keeps_its_last_words() -> None:
    alerts = [
        Happening(at(minute), at(minute + 1), "n", "alert", f"{minute} left", "Near", severity="warning")
        for minute in (0, 5)
    ]
    (found,) = fold(alerts, SCOPE)
    assert (found.what, found.head) == ("Near (2 times): 5 left", "Near (2 times)")


def test_lasting_episodes_come_first_and_are_not_over() -> None:
    found = fold([lasting(0, None, about="MemoryPressure"), evicted(5, "p"), lasting(60, 70)], SCOPE)
    assert words(found)[0] == "MemoryPressure"
    assert [each.state for each in found] == ["warning", "warning over", "critical over"]


def test_a_piece_that_is_over_is_hollow_while_its_episode_lasts() -> None:
    (found,) = fold([lasting(0, 5), lasting(8, None)], SCOPE)
    assert (found.state, [found.state_of(each) for each in found.happenings]) == (
        "warning",
        ["warning over", "warning"],
    )


def test_keys_are_the_same_whatever_is_shown() -> None:
    happened = Happened((lasting(0, None), evicted(5, "p")), {}, True)
    whole = timeline(happened, SCOPE, 10)
    narrowed = timeline(happened, SCOPE, 10, Filter(kind="eviction"))
    assert [each.key for each in narrowed.episodes] == ["e1"] == [whole.episodes[1].key]
    assert [lane.kind for lane in narrowed.lanes] == ["eviction", "pressure"]
    assert (narrowed.total, timeline(happened, SCOPE, 1).total) == (1, 2)


def test_a_filter_narrows_an_episode_to_the_pieces_that_fit() -> None:
    """Three evictions, two of them in shop, one of these on n2; and a pressure that is in no namespace."""
    shop = [evicted(nth, f"p{nth}", node=f"n{nth}")._replace(namespaces=("shop",)) for nth in (1, 2)]
    other = evicted(3, "p3", node="n2")._replace(namespaces=("bank",))
    happened = Happened((lasting(0, None), *shop, other), {}, True)

    def of(**wanted: str) -> list[str]:
        return words(list(timeline(happened, SCOPE, 10, Filter(**wanted)).episodes))

    assert of(namespace="shop") == ["2 pods were evicted: low on memory"]
    assert of(namespace="shop", on="n2") == ["Pod a/p2 was evicted: low on memory, 1 GiB available."]
    assert of(on="n1") == ["Pod a/p1 was evicted: low on memory, 1 GiB available."]
    assert of(severity="critical") == ["3 pods were evicted: low on memory"]
    assert of(severity="warning") == ["DiskPressure"]
    assert of(namespace="nowhere") == []
    seen = timeline(happened, SCOPE, 10, Filter(namespace="shop"))
    assert [lane.kind for lane in seen.lanes] == ["eviction"]
    assert (seen.nodes, seen.namespaces) == (("n", "n1", "n2"), ("bank", "shop"))


def test_a_severity_is_looked_for_in_its_kinds() -> None:
    assert set(kinds_of(Filter(severity="critical"))) == {"eviction", "unguarded", "node", "scheduler"}
    assert kinds_of(Filter(severity="critical", kind="eviction")) == ["eviction"]
    assert kinds_of(Filter(kind="kubelet")) == ["kubelet"]
    assert kinds_of(Filter()) == []


@pytest.mark.parametrize(
    ("what", "kind", "severity"),
    [
        (lasting(0, None, "alert")._replace(severity="critical"), "alert", Severity.CRITICAL),
        (lasting(0, None, "alert")._replace(severity="page"), "alert", Severity.CRITICAL),
        (lasting(0, None, "alert")._replace(severity="info"), "alert", Severity.NOTE),
        (lasting(0, None, "image_gc", "persistent"), "image_gc", Severity.CRITICAL),
        (lasting(0, None, "image_gc", "recovered"), "image_gc", Severity.NOTE),
        (happening(0, "The kubelet started.", "kubelet"), "kubelet", Severity.NOTE),
        (happening(0, "No statistics.", "unknown"), "unknown", Severity.UNKNOWN),
    ],
)
def test_severities(what: Happening, kind: str, severity: Severity) -> None:
    (found,) = fold([what], SCOPE)
    assert (found.kind, found.severity) == (kind, severity)


def test_bars_lie_where_it_lasted() -> None:
    (lane,) = timeline(Happened((lasting(-30, 30), lasting(90, None)), {}, True), SCOPE, 10).lanes
    assert [(bar.left, bar.width, bar.state) for bar in lane.bars] == [
        (0.0, 25.0, "warning over"),
        (75.0, 25.0, "warning"),
    ]


def test_of_too_many_to_be_read_a_lane_shows_how_dense_they_were() -> None:
    (lane,) = timeline(Happened((), {"eviction": {0: 1, 60: 5, 119: 25}}, False), SCOPE, 10).lanes
    assert [mark.level for mark in lane.marks] == [1, 2, 3]
    assert lane.times == 31


@given(st.lists(st.tuples(st.integers(0, 119), st.text(max_size=20))))
def test_nothing_is_lost_whatever_the_words(given_: list[tuple[int, str]]) -> None:
    happenings = [happening(minute, what, "warning") for minute, what in sorted(given_)]
    assert sum(len(each.happenings) for each in fold(happenings, SCOPE)) == len(happenings)


def test_what_a_sentence_says_decides_nothing() -> None:
    """Words may change: the fields alone make an episode, and say how many pods were of it."""
    found = fold(
        [evicted(0, "p")._replace(what="x, y: z"), evicted(1, "q")._replace(what="Pod was low on inodes")], SCOPE
    )
    assert words(found) == ["2 pods were evicted: low on memory"]
    separate = fold([evicted(0, "p")._replace(what="x"), evicted(1, "q", "inodes")._replace(what="x")], SCOPE)
    assert words(separate) == ["x", "x"]
