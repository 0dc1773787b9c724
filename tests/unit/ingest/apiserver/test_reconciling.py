"""Etcd is restored from a snapshot: versions go back, and pass the old ones again with other objects.

What a watch shows then is a history of which its beginning is not what was published. delivery.md#reconciling.
"""

from typing import Any

import msgspec
import pytest

from fakes.apiserver import Answer, FakeApiServer, bookmark, event, listing, pod, refusal, watching
from fakes.clock import FakeClock
from ingest.apiserver.progress import ANSWER_SECONDS, EVERY_SECONDS, SOON_SECONDS, Reconciling, went_back
from ingest.apiserver.watch import WELL_SECONDS
from unit.ingest.apiserver.test_watch import PODS_PATH, Stage, _errors, _reported, _stage

BASE, LOST, LATE = pod("base", "3"), pod("lost", "6"), pod("late", "7")


def _lists(server: FakeApiServer) -> list[dict[str, str]]:
    return [query for query in server.asked(PODS_PATH) if "watch" not in query]


def _exact(version: str) -> dict[str, str]:
    return {"resourceVersion": version, "resourceVersionMatch": "Exact", "limit": "500"}


def _passing(stage: Stage, seconds: float) -> Any:
    """Each time that the server is heard, so many seconds have passed."""

    def heard(_: str) -> None:
        stage.clock.seconds += seconds

    return heard


def _keys(stage: Stage) -> set[str]:
    """Return the objects that the cluster's log learned last."""
    parts = [msgspec.json.decode(each.object) for each in stage.listed if each.type == "INVENTORY"]
    return set([part["keys"] for part in parts if "ofLogs" not in part][-1])


@pytest.mark.asyncio
async def test_a_resumed_watcher_soon_publishes_every_object() -> None:
    """The version that it kept is one of the new history by then: `lost` was never there, and `late` is."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LATE]),
            watching(bookmark("12")),
            listing("12", [BASE, LATE]),
            watching(event("ADDED", pod("new", "13"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken), version="9", contact=_passing(stage, SOON_SECONDS)
        )
        assert _lists(stage.server) == [_exact("9"), _exact("12")]
    assert _reported(steps) == [("ADDED", "base"), ("ADDED", "late"), ("ADDED", "new")]
    assert _keys(stage) == {"uid-base", "uid-late"}
    assert _errors(steps) == []


@pytest.mark.asyncio
async def test_objects_deleted_since_a_stored_version_do_not_return_after_a_slow_start() -> None:
    """At the kept version it was there still: compared then, it would be published as if it were."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LOST]),
            *[refusal(503, "ServiceUnavailable", "etcd")] * 6,  # more than 10 s
            watching(event("DELETED", pod("lost", "10")), bookmark("12")),
            listing("12", [BASE]),
            watching(event("ADDED", pod("new", "13"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken), version="9", contact=_passing(stage, SOON_SECONDS)
        )
        assert _lists(stage.server) == [_exact("9"), _exact("12")]
    assert _reported(steps) == [("DELETED", "lost"), ("ADDED", "base"), ("ADDED", "new")]


@pytest.mark.asyncio
@pytest.mark.parametrize("away", [refusal(503, "ServiceUnavailable", "etcd"), refusal(502, "BadGateway", "proxy")])
async def test_after_an_outage_the_server_is_reconciled_with_the_known_objects(away: Any) -> None:
    """It is back with versions that passed the old one already, so that the watch goes on as if nothing were."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LOST]),
            away,
            watching(bookmark("12")),
            listing("12", [BASE, LATE]),
            watching(event("ADDED", pod("new", "13"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken), contact=_passing(stage, SOON_SECONDS)
        )
        assert _lists(stage.server)[1:] == [_exact("12")]
    assert _reported(steps)[2:] == [("ADDED", "late"), ("DELETED", "lost"), ("ADDED", "new")]
    assert _keys(stage) == {"uid-base", "uid-late"}
    assert any(error.startswith("gap: pods until version 12 may not have been seen") for error in _errors(steps))


@pytest.mark.asyncio
@pytest.mark.parametrize("back", [bookmark("5"), event("ADDED", pod("late", "5"))], ids=["bookmark", "event"])
async def test_versions_that_go_back_in_a_watch_are_reconciled_at_once(back: bytes) -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LOST]),
            watching(back),
            listing("5", [BASE, pod("late", "5")]),
            watching(event("ADDED", pod("new", "13"))),
        ]
        steps = await stage.until(lambda taken: ("ADDED", "new") in _reported(taken))
        assert _lists(stage.server)[1:] == [_exact("5")]
    assert sorted(_reported(steps)[2:]) == [("ADDED", "late"), ("ADDED", "new"), ("DELETED", "lost")]
    assert len(_errors(steps)) == 1


@pytest.mark.asyncio
async def test_a_long_watch_that_is_cut_is_reopened_soon_despite_earlier_failures() -> None:
    """Otherwise it could be away and back, with another history, while the stream waits for its next try."""
    async with _stage() as stage:
        cut = Answer(bookmark("12"), cut=True)
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE]),
            *[Answer(cut=True)] * 4,
            cut,
            *[refusal(503, "ServiceUnavailable", "away")] * 2,
            watching(event("ADDED", pod("new", "13"))),
        ]
        await stage.until(lambda taken: ("ADDED", "new") in _reported(taken), contact=_passing(stage, WELL_SECONDS))
    assert stage.clock.slept == [0.8, 1.6, 3.2, 6.4, 0.8, 1.6, 3.2]


@pytest.mark.asyncio
async def test_a_server_with_older_versions_is_listed_and_that_is_a_gap() -> None:
    too_large = refusal(504, "Timeout", "Too large resource version: 9, current: 5")
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LOST]),
            too_large,
            too_large,
            listing("5", [BASE]),
            watching(event("ADDED", pod("new", "6"))),
        ]
        steps = await stage.until(lambda taken: ("ADDED", "new") in _reported(taken))
    assert _reported(steps)[2:] == [("DELETED", "lost"), ("ADDED", "new")]
    assert [error.startswith("gap: pods between version 9 and 5") for error in _errors(steps)] == [True]


@pytest.mark.asyncio
async def test_a_reconciliation_without_differences_emits_nothing_and_repeats_after_hours() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE]),
            watching(bookmark("12")),
            listing("12", [BASE]),
            watching(bookmark("14")),
            listing("14", [BASE]),
            watching(event("ADDED", pod("new", "15"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken), contact=_passing(stage, EVERY_SECONDS)
        )
        assert _lists(stage.server)[1:] == [_exact("12"), _exact("14")]
    assert _reported(steps) == [("ADDED", "base"), ("ADDED", "new")]
    assert _errors(steps) == []


@pytest.mark.asyncio
async def test_a_refused_comparison_ends_in_a_new_list_and_a_failed_one_keeps_the_watch() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE, LOST]),
            watching(bookmark("12")),
            refusal(500, "InternalError", "no leader"),
            watching(event("ADDED", pod("between", "13"))),
            refusal(410, "Expired", "too old resource version"),
            listing("20", [BASE, pod("between", "13")]),
            watching(event("ADDED", pod("new", "21"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken), contact=_passing(stage, EVERY_SECONDS)
        )
    assert _reported(steps)[2:] == [("ADDED", "between"), ("DELETED", "lost"), ("ADDED", "new")]


@pytest.mark.asyncio
@pytest.mark.parametrize("version", ["", "9"], ids=["begun here", "resumed"])
async def test_a_comparison_at_a_version_that_is_compacted_is_no_gap_where_nothing_differs(version: str) -> None:
    """Nothing happened to the resource for so long; the watch missed nothing."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE]),
            watching(bookmark("12")),
            refusal(410, "Expired", "too old resource version"),
            listing("20", [BASE]),
            watching(event("ADDED", pod("new", "21"))),
        ]
        steps = await stage.until(
            lambda taken: ("ADDED", "new") in _reported(taken),
            version=version,
            contact=_passing(stage, EVERY_SECONDS),
        )
        assert [query.get("resourceVersionMatch") for query in _lists(stage.server)][1:] == ["Exact", "NotOlderThan"]
    assert _reported(steps) == [("ADDED", "base"), ("ADDED", "new")]
    assert _errors(steps) == []


@pytest.mark.asyncio
async def test_a_server_has_time_to_begin_a_watch_after_an_outage() -> None:
    """The comparison that is due then comes first, and never shortens the wait for an answer."""
    clock = FakeClock(0.5)
    reconciling = Reconciling(clock.clock)
    reconciling.schedule_soon()
    clock.seconds += SOON_SECONDS
    assert reconciling.due_in_seconds == ANSWER_SECONDS
    async with _stage() as stage:
        away = refusal(503, "ServiceUnavailable", "etcd")
        stage.server.script[PODS_PATH] = [
            listing("9", [BASE]),
            *[away] * 3,  # until 5.6 s have passed
            listing("9", [BASE]),
            watching(event("ADDED", pod("new", "13"))),
        ]
        await stage.until(lambda taken: ("ADDED", "new") in _reported(taken))
        kinds = ["watch" if "watch" in query else "list" for query in stage.server.asked(PODS_PATH)]
    assert kinds == ["list", "watch", "watch", "watch", "list", "watch"]


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
def test_comparisons_are_jittered_and_never_before_half_their_interval(chance: float) -> None:
    clock = FakeClock(chance)
    reconciling = Reconciling(clock.clock)
    assert not reconciling.is_due
    for arrange, seconds in ((reconciling.schedule_soon, SOON_SECONDS), (reconciling.done, EVERY_SECONDS)):
        arrange()
        clock.seconds += seconds * (0.5 + chance) - 1
        assert not reconciling.is_due
        clock.seconds += 1
        assert reconciling.is_due


def test_a_flapping_server_is_not_listed_each_time_unless_versions_go_back() -> None:
    clock = FakeClock(0.5)
    reconciling = Reconciling(clock.clock)
    comparisons = 0
    for _ in range(600):
        clock.seconds += 1
        reconciling.schedule_soon()
        if reconciling.is_due:
            comparisons += 1
            reconciling.started()
            reconciling.done()
    assert comparisons == 2  # after 10 s, and 300 s after that one
    reconciling.schedule_now()
    assert reconciling.is_due


@pytest.mark.parametrize(
    ("version", "before", "back"),
    [
        ("5", "9", True),
        ("9", "5", False),
        ("10", "9", False),
        ("9", "9", False),
        ("x5", "9", False),
        ("5", "", False),
    ],
)
def test_only_numbers_can_go_back(version: str, before: str, back: bool) -> None:
    assert went_back(version, before) == back
