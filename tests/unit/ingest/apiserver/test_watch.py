"""The list-and-watch loop against a fake API server; delivery.md#watching, rules: list-and-watch."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from fakes.apiserver import Answer, FakeApiServer, bookmark, event, listing, pod, refusal, watching
from fakes.clock import START, FakeClock
from ingest.apiserver.changes import Step
from ingest.apiserver.watch import ABSENT_SECONDS, Watch
from ingest.model.observation import Observation
from ingest.model.reports import Tally
from ingest.resources.events import EVENTS
from ingest.resources.node_resource_topologies import NODE_RESOURCE_TOPOLOGIES
from ingest.resources.pods import PODS
from ingest.resources.resource import ApiResource
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio

PODS_PATH = "/api/v1/pods"
EVENTS_PATH = "/api/v1/events"


class Stage:
    """A fake server, a clock, and a watch that runs against them."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.clock = FakeClock()
        self.tally: Tally = Counter()
        self.heard: list[str] = []
        self.listed: list[Observation] = []
        """Records that logs learn from complete lists; not among the steps."""

    async def steps(self, count: int, resource: ApiResource[Any] = PODS, **options: Any) -> list[Step]:
        """The first steps of a new watch."""
        return await self.until(lambda taken: len(taken) == count, resource, **options)

    async def until(
        self, enough: Callable[[list[Step]], bool], resource: ApiResource[Any] = PODS, **options: Any
    ) -> list[Step]:
        """The steps of a new watch until `enough` says so of them."""
        taken: list[Step] = []
        async with self.server.client(options.pop("token", "")) as client, asyncio.timeout(PATIENCE_SECONDS):
            watch = Watch(
                resource,
                "lab",
                client,
                clock=self.clock.clock,
                tally=self.tally,
                **{"contact": self.heard.append, **options},
            )
            async with aclosing(watch.follow()) as stream:
                async for seen in stream:
                    if seen.observation and seen.observation.type in {"INVENTORY", "BOOKMARK"}:
                        self.listed.append(seen.observation)
                        continue
                    taken.append(seen)
                    if enough(taken):
                        break
        return taken


@asynccontextmanager
async def _stage() -> AsyncIterator[Stage]:
    async with FakeApiServer().running() as server:
        yield Stage(server)


def _reported(steps: list[Step]) -> list[tuple[str, str]]:
    """Type and object name of each news."""
    return [
        (seen.observation.type, msgspec.json.decode(seen.observation.object)["metadata"]["name"])
        for seen in steps
        if seen.observation and seen.observation.type != "ERROR"
    ]


def _errors(steps: list[Step]) -> list[str]:
    return [
        msgspec.json.decode(seen.observation.object)["error"]
        for seen in steps
        if seen.observation and seen.observation.type == "ERROR"
    ]


def _versions(steps: list[Step]) -> list[str]:
    return [seen.version for seen in steps]


def _too_old() -> Answer:
    return refusal(410, "Expired", "too old resource version: 1 (2)")


async def test_first_list_is_at_the_most_recent_version_and_the_watch_goes_on_from_its_version() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", [pod("a", "3")]), watching(event("ADDED", pod("b", "9")))]
        steps = await stage.steps(3)
        first, second = stage.server.asked(PODS_PATH)
    assert _reported(steps) == [("ADDED", "a"), ("ADDED", "b")]
    assert first == {"limit": "500"}
    assert (second["watch"], second["resourceVersion"], second["allowWatchBookmarks"]) == ("true", "7", "true")


async def test_sources_are_list_and_watch_and_bytes_are_kept_as_received() -> None:
    async with _stage() as stage:
        spaced = b'{"type":"ADDED","object":{"metadata":{"name":"b" ,"uid":"1","resourceVersion":"9"},"x":[1 ,2]}}\n'
        stage.server.script[PODS_PATH] = [listing("7", [pod("a", "3")]), watching(spaced)]
        listed, _, watched = await stage.steps(3)
    assert listed.observation is not None
    assert watched.observation is not None
    assert (listed.observation.source, watched.observation.source) == ("list", "watch")
    assert (
        bytes(watched.observation.object) == b'{"metadata":{"name":"b" ,"uid":"1","resourceVersion":"9"},"x":[1 ,2]}'
    )


async def test_a_version_is_reached_only_when_the_whole_list_was_reported() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3")], rest="t"),
            listing("7", [pod("b", "4")]),
            watching(event("ADDED", pod("c", "9"))),
        ]
        steps = await stage.steps(4)
        queries = stage.server.asked(PODS_PATH)
    assert _versions(steps) == ["", "", "7", "9"]
    assert queries[1] == {"limit": "500", "continue": "t"}


async def test_a_list_whose_rest_expired_is_asked_for_whole_and_reports_nothing_twice() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3")], rest="t"),
            refusal(410, "Expired", "The provided continue parameter is too old"),
            listing("8", [pod("a", "3"), pod("b", "4")]),
            watching(event("ADDED", pod("c", "9"))),
        ]
        steps = await stage.steps(4)
        queries = stage.server.asked(PODS_PATH)
    assert _reported(steps) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert queries[2] == {}


async def test_after_410_the_list_is_at_the_last_version_and_reports_what_vanished_and_the_gap() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("gone", "3", "n1"), pod("same", "4"), pod("changed", "5")]),
            watching(
                event("MODIFIED", pod("changed", "9", phase="Pending")), event("ERROR", _status(410, "Expired"))
            ),
            listing("20", [pod("same", "4"), pod("changed", "15", phase="Failed"), pod("new", "16")]),
            watching(),
        ]
        steps = await stage.steps(10)
        queries = stage.server.asked(PODS_PATH)
    assert _reported(steps)[4:] == [("MODIFIED", "changed"), ("ADDED", "new"), ("DELETED", "gone")]
    assert queries[2] == {"resourceVersion": "9", "resourceVersionMatch": "NotOlderThan", "limit": "500"}
    assert len(_errors(steps)) == 1
    assert "between version 9 and 20" in _errors(steps)[0]
    assert _versions(steps)[-1] == "20"


async def test_each_of_many_deletions_has_the_time_at_which_it_is_taken() -> None:
    """It waits for its place in the queue while others report, and is newer than these in a replay too."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3"), pod("b", "4"), pod("c", "5")]),
            _too_old(),
            listing("20", []),
            watching(),
        ]
        taken_at: list[timedelta] = []

        def three_deletions(taken: list[Step]) -> bool:
            if (seen := taken[-1].observation) and seen.type == "DELETED":
                taken_at.append(stage.clock.clock.now() - seen.ts)
                stage.clock.seconds += 7
            return len(taken_at) == 3

        await stage.until(three_deletions)
    assert taken_at == [timedelta(0)] * 3


async def test_a_synthetic_deleted_has_the_kept_object_and_the_lists_version() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("gone", "3", "n1")]),
            _too_old(),
            listing("20", []),
            watching(),
        ]
        steps = await stage.steps(3)
    assert steps[2].observation is not None
    thing = msgspec.json.decode(steps[2].observation.object)
    assert steps[2].observation.type == "DELETED"
    assert thing["metadata"] == {
        "name": "gone",
        "namespace": "default",
        "uid": "uid-gone",
        "resourceVersion": "20",
    }
    assert thing["spec"]["nodeName"] == "n1"
    assert "env" not in thing["spec"]["containers"][0]


async def test_a_pod_recreated_under_its_name_is_deleted_and_added() -> None:
    async with _stage() as stage:
        other = pod("a", "15")
        other["metadata"]["uid"] = "another"
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3")]),
            _too_old(),
            listing("20", [other]),
            watching(),
        ]
        steps = await stage.steps(4)
    assert _reported(steps) == [("ADDED", "a"), ("DELETED", "a"), ("ADDED", "a")]


async def test_410_for_the_list_at_the_last_version_leads_to_the_most_recent() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            _too_old(),
            _too_old(),
            listing("20", [pod("a", "15")]),
            watching(),
        ]
        steps = await stage.steps(4)
        queries = stage.server.asked(PODS_PATH)
    assert [query.get("resourceVersion") for query in queries] == [None, "7", "7", None]
    assert _reported(steps) == [("ADDED", "a")]


async def test_too_large_resource_version_leads_to_a_list_at_the_most_recent() -> None:
    too_large = refusal(
        504, "Timeout", "Too large resource version: 7, current: 3", causes=[{"reason": "ResourceVersionTooLarge"}]
    )
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            too_large,
            too_large,
            listing("3", [pod("a", "2")]),
            watching(),
        ]
        steps = await stage.steps(4)
        queries = stage.server.asked(PODS_PATH)
    assert [query.get("resourceVersion") for query in queries] == [None, "7", "7", None]
    assert _versions(steps)[-1] == "3"


async def test_429_waits_as_long_as_the_server_asks_and_keeps_the_version() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            refusal(429, "TooManyRequests", "later", {"Retry-After": "17"}),
            watching(bookmark("8")),
        ]
        steps = await stage.steps(3)
        queries = stage.server.asked(PODS_PATH)
    assert stage.clock.slept == [17.0]
    assert queries[2]["resourceVersion"] == "7"
    assert _versions(steps)[-1] == "8"
    assert "429" in _errors(steps)[0]


async def test_429_within_a_watch_keeps_the_version_and_reports_no_gap() -> None:
    async with _stage() as stage:
        busy = event("ERROR", _status(429, "TooManyRequests"))
        stage.server.script[PODS_PATH] = [listing("7", []), watching(busy), watching(bookmark("8"))]
        steps = await stage.steps(2)
        assert stage.server.asked(PODS_PATH)[2]["resourceVersion"] == "7"
    assert _errors(steps) == []


async def test_a_storm_of_410_backs_off_from_800_ms_to_30_s() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [answer for _ in range(8) for answer in (listing("7", []), _too_old())]
        await stage.steps(15)
    assert stage.clock.slept[:7] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]


async def test_watches_that_end_at_once_back_off() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", []), *[watching(hang=False)] * 3, watching(bookmark("8"))]
        await stage.steps(2)
    assert stage.clock.slept == [0.8, 1.6, 3.2]


async def test_bookmarks_move_the_version_from_which_a_cut_watch_goes_on() -> None:
    async with _stage() as stage:
        cut = Answer(bookmark("30"), cut=True)
        stage.server.script[PODS_PATH] = [listing("7", []), cut, watching(event("ADDED", pod("a", "31")))]
        steps = await stage.steps(3)
        queries = stage.server.asked(PODS_PATH)
    assert queries[2]["resourceVersion"] == "30"
    assert _reported(steps) == [("ADDED", "a")]
    assert _errors(steps) == []
    assert stage.tally["pods", "bookmark"] == 1


async def test_half_a_line_of_a_cut_watch_is_dropped() -> None:
    async with _stage() as stage:
        line = event("ADDED", pod("a", "31"))
        stage.server.script[PODS_PATH] = [listing("7", []), Answer(line[:50], cut=True), watching(line)]
        steps = await stage.steps(2)
    assert _reported(steps) == [("ADDED", "a")]


async def test_a_watch_that_hangs_is_reopened_at_the_same_version_without_an_error() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", []), watching(), watching(bookmark("8"))]
        stage.clock.seconds = 5
        steps = await stage.steps(2, silence_seconds=0.05)
        queries = stage.server.asked(PODS_PATH)
    assert [query["resourceVersion"] for query in queries[1:]][:2] == ["7", "7"]
    assert stage.tally["pods", "silent"] == 1
    assert _errors(steps) == []


async def test_an_oversized_object_is_counted_and_reported_and_the_stream_goes_on() -> None:
    large = pod("large", "30")
    large["spec"]["containers"][0]["args"] = ["x" * 70_000]
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            watching(event("ADDED", large), event("ADDED", pod("b", "31"))),
        ]
        steps = await stage.steps(3, line_limit_bytes=66_000)
    assert _reported(steps) == [("ADDED", "b")]
    assert stage.tally["pods", "oversized"] == 1
    size = len(event("ADDED", large)) - 1
    reported = f"pods: an object of {size / 1024:.1f} KiB is too large to be read: ADDED default/large, version 30"
    assert _errors(steps) == [reported]
    assert _versions(steps) == ["7", "30", "31"]


async def test_an_object_that_is_nested_too_deep_is_reported_and_the_stream_goes_on() -> None:
    deep = b'{"type":"ADDED","object":{"metadata":' + b"[" * 5000 + b"]" * 5000 + b"}}\n"
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", []), watching(deep, event("ADDED", pod("b", "31")))]
        steps = await stage.steps(3)
    assert _reported(steps) == [("ADDED", "b")]
    assert _errors(steps) == [f"pods: an object of {(len(deep) - 1) / 1024:.2f} KiB is too large to be read"]


async def test_an_undecodable_object_is_reported_and_the_stream_continues() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [{"metadata": {"name": 5}}]),
            watching(event("ADDED", {"metadata": 1}), event("ADDED", pod("b", "31"))),
        ]
        steps = await stage.steps(4)
    assert _reported(steps) == [("ADDED", "b")]
    assert stage.tally["pods", "undecodable"] == 2
    assert len(_errors(steps)) == 2


async def test_forbidden_is_reported_once_with_the_remedy_and_tried_again() -> None:
    forbidden = refusal(403, "Forbidden", 'pods is forbidden: User "x" cannot list')
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [forbidden, forbidden, forbidden, listing("7", []), watching(bookmark("8"))]
        steps = await stage.steps(3)
    assert len(_errors(steps)) == 1
    assert "403 Forbidden" in _errors(steps)[0]
    assert "allow list and watch on pods" in _errors(steps)[0]
    assert _versions(steps) == ["", "7", "8"]


async def test_an_error_that_stays_is_reported_again_after_5_minutes() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [refusal(403, "Forbidden", "no")]
        steps = await stage.steps(2)
    assert len(_errors(steps)) == 2
    assert 300 <= stage.clock.seconds < 400


async def test_a_refused_connection_is_reported_and_heals() -> None:
    async with FakeApiServer().running() as ended:
        pass
    stage = Stage(ended)
    (step,) = await stage.steps(1)
    assert _errors([step]) == ["pods cannot be read: connection refused"]


async def test_a_custom_resource_is_looked_for_in_each_version_and_its_absence_is_no_error() -> None:
    crane = NODE_RESOURCE_TOPOLOGIES.paths[2]
    async with _stage() as stage:
        thing = {"metadata": {"name": "n1", "uid": "u", "resourceVersion": "3"}}
        stage.server.script[crane] = [refusal(404, "NotFound", ""), listing("7", [thing]), watching(bookmark("8"))]
        steps = await stage.steps(3, NODE_RESOURCE_TOPOLOGIES)
    assert _errors(steps) == []
    assert _reported(steps) == [("ADDED", "n1")]
    assert ABSENT_SECONDS in stage.clock.slept
    assert stage.heard


async def test_a_restart_goes_on_at_its_version_and_reports_nothing_twice() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3"), pod("gone", "4")]),
            watching(
                event("MODIFIED", pod("a", "8")), event("DELETED", pod("gone", "9")), event("ADDED", pod("b", "10"))
            ),
        ]
        steps = await stage.steps(3, version="7")
        queries = stage.server.asked(PODS_PATH)
    assert queries[0] == {"resourceVersion": "7", "resourceVersionMatch": "Exact", "limit": "500"}
    assert queries[1]["resourceVersion"] == "7"
    assert _reported(steps) == [("DELETED", "gone"), ("ADDED", "b")]
    assert _errors(steps) == []


async def test_a_restart_after_the_history_is_gone_reports_the_gap() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [_too_old(), listing("20", [pod("a", "15")]), watching()]
        steps = await stage.steps(3, version="7")
    assert _reported(steps) == [("ADDED", "a")]
    assert "between version 7 and 20" in _errors(steps)[0]


async def test_an_events_410_without_any_change_is_no_gap() -> None:
    """A quiet events stream has no bookmarks and its version is compacted after 5 minutes (rules: list-and-watch)."""
    thing = {"metadata": {"name": "e", "namespace": "default", "uid": "u", "resourceVersion": "3"}}
    async with _stage() as stage:
        stage.server.script[EVENTS_PATH] = [listing("7", [thing]), _too_old(), listing("20", [thing]), watching()]
        steps = await stage.steps(3, EVENTS)
    assert _reported(steps) == [("ADDED", "e")]
    assert _errors(steps) == []
    assert _versions(steps) == ["", "7", "20"]


async def test_an_events_410_after_more_than_their_time_to_live_is_a_gap() -> None:
    """Objects that came and went within the gap are in no list."""
    async with _stage() as stage:
        later = refusal(429, "TooManyRequests", "later", {"Retry-After": "300"})
        stage.server.script[EVENTS_PATH] = [
            listing("7", []),
            *[later] * 13,
            _too_old(),
            listing("20", []),
            watching(),
        ]
        steps = await stage.until(lambda taken: taken[-1].version == "20", EVENTS)
    assert stage.clock.seconds > 3600
    assert any("gap: events between version 7 and 20" in error for error in _errors(steps))


async def test_an_events_410_after_a_restart_is_a_gap() -> None:
    async with _stage() as stage:
        stage.server.script[EVENTS_PATH] = [_too_old(), listing("20", []), watching()]
        steps = await stage.steps(2, EVENTS, version="7")
    assert "gap: events between version 7 and 20" in _errors(steps)[0]


async def test_a_watch_that_the_server_ends_at_its_timeout_is_reopened_at_once() -> None:
    async with _stage() as stage:
        ended = watching(bookmark("8"), hang=False)
        stage.server.script[PODS_PATH] = [listing("7", []), ended, watching(bookmark("9"))]

        def minutes_pass(_: str) -> None:
            stage.clock.seconds += 400

        await stage.steps(3, contact=minutes_pass)
    assert stage.clock.slept == []


async def test_watches_that_end_after_a_bookmark_are_at_least_a_second_apart() -> None:
    async with _stage() as stage:
        short = [watching(bookmark(str(version)), hang=False) for version in (8, 9, 10)]
        stage.server.script[PODS_PATH] = [listing("7", []), *short, watching(bookmark("11"))]
        await stage.steps(5)
    assert stage.clock.slept == [1.0, 1.0, 1.0]


async def test_an_event_that_vanished_from_a_list_is_not_reported_as_deleted() -> None:
    old = {"metadata": {"name": "e", "namespace": "default", "uid": "u", "resourceVersion": "3"}}
    async with _stage() as stage:
        stage.server.script[EVENTS_PATH] = [listing("7", [old]), _too_old(), listing("20", []), watching()]
        steps = await stage.steps(3, EVENTS)
    assert _reported(steps) == [("ADDED", "e")]


async def test_each_request_has_the_current_token() -> None:
    async with _stage() as stage:
        tokens = iter(["one", "two", "three"])
        stage.server.script[PODS_PATH] = [listing("7", []), watching(bookmark("8"))]
        async with stage.server.client("zero") as client, asyncio.timeout(PATIENCE_SECONDS):
            client.configuration.refresh_api_key_hook = lambda target: target.api_key.update(
                BearerToken=f"Bearer {next(tokens)}"
            )
            watch = Watch(PODS, "lab", client, clock=stage.clock.clock, tally=stage.tally)
            async with aclosing(watch.follow()) as stream:
                assert "8" in [seen.version async for seen in _until_version(stream, "8")]
    assert [request.authorization for request in stage.server.requests] == ["Bearer one", "Bearer two"]


async def test_the_server_is_asked_to_end_a_watch_after_5_to_10_minutes() -> None:
    asked = []
    for chance in (0.0, 0.999):
        async with _stage() as stage:
            stage.clock.chance = chance
            stage.server.script[PODS_PATH] = [listing("7", []), watching(bookmark("8"))]
            await stage.steps(2)
            asked.append(int(stage.server.asked(PODS_PATH)[1]["timeoutSeconds"]))
    assert asked == [300, 599]


def _learned(stage: Stage) -> list[tuple[str, str, Any]]:
    """Records that logs learn from lists, by the node of the log."""
    return [(one.type, one.node, msgspec.json.decode(one.object)) for one in stage.listed]


async def test_every_log_learns_what_a_complete_list_had_before_the_version_is_reached() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("a", "3", "n1"), pod("b", "4", "n2")], rest="t"),
            listing("7", [pod("c", "5", "n1"), pod("waits", "6")]),
            watching(),
        ]
        reached: list[int] = []

        def counted(steps: list[Step]) -> bool:
            reached.append(len(stage.listed))
            return steps[-1].version == "7"

        await stage.until(counted)
    assert _learned(stage) == [
        ("INVENTORY", "", {"keys": ["uid-waits"]}),
        ("INVENTORY", "n1", {"keys": ["uid-a", "uid-c"]}),
        ("INVENTORY", "n2", {"keys": ["uid-b"]}),
        ("INVENTORY", "", {"keys": ["n1", "n2"], "ofLogs": True}),
        ("BOOKMARK", "", {"anew": True, "since": _at(0)}),
    ]
    assert reached == [0, 0, 0, 0, 5]


async def test_a_new_list_after_410_reconciles_too_and_its_gap_has_both_ends() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", [pod("gone", "3", "n1")]),
            watching(bookmark("8"), event("ERROR", _status(410, "Expired"))),
            listing("20", []),
            watching(),
        ]
        heard_at = stage.clock.now()
        steps = await stage.until(lambda steps: steps[-1].version == "20")
    assert _learned(stage)[4:] == [("INVENTORY", "", {"keys": []}), ("INVENTORY", "", {"keys": [], "ofLogs": True})]
    assert _gap(steps)["since"] == heard_at.isoformat().replace("+00:00", "Z")


async def test_a_gap_begins_when_the_last_list_was_requested() -> None:
    """Each object takes half a minute to read. What happens meanwhile is behind the list, and on its way at first."""
    async with _stage() as stage:
        backlog = [event("MODIFIED", pod("a", "8")), event("ERROR", _status(410, "Expired"))]
        assert await _since(stage, backlog) == _at(0)
    (bookmark,) = [one for one in stage.listed if one.type == "BOOKMARK"]
    assert (bookmark.ts, msgspec.json.decode(bookmark.object)["since"]) == (START + timedelta(seconds=30), _at(0))


async def test_a_gap_begins_with_the_last_message_after_the_first_bookmark() -> None:
    async with _stage() as stage:
        lines = [bookmark("8"), event("MODIFIED", pod("a", "9")), event("ERROR", _status(410, "Expired"))]
        assert await _since(stage, lines) == _at(30)


async def test_the_start_of_an_earlier_processs_gap_is_unknown() -> None:
    """The logs know it: when the resource was last heard."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            watching(event("ADDED", pod("a", "8")), event("ERROR", _status(410, "Expired"))),
            listing("20", []),
            watching(),
        ]
        steps = await stage.until(lambda steps: steps[-1].version == "20", version="7")
    assert "since" not in _gap(steps)


async def _since(stage: Stage, lines: list[bytes]) -> Any:
    """The beginning of the gap after a list of one object and these lines."""

    def read(*_: Any) -> None:
        stage.clock.seconds += 30

    stage.server.script[PODS_PATH] = [listing("7", [pod("a", "3")]), watching(*lines), listing("20", []), watching()]
    steps = await stage.until(lambda steps: steps[-1].version == "20", glance=read)
    return _gap(steps)["since"]


def _gap(steps: list[Step]) -> dict[str, Any]:
    (gap,) = [step.observation for step in steps if step.observation and step.observation.type == "ERROR"]
    return dict(msgspec.json.decode(gap.object))


def _at(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")


async def test_a_resumed_stream_has_no_inventory() -> None:
    """The history from its version has every deletion; others may have published more than it had then."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", [pod("a", "3")]), watching(event("DELETED", pod("a", "8")))]
        steps = await stage.steps(1, version="7")
    assert _reported(steps) == [("DELETED", "a")]
    assert stage.listed == []


async def test_a_list_with_an_unidentifiable_object_is_not_complete() -> None:
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [listing("7", [pod("a", "3", "n1"), {"metadata": {"name": 5}}]), watching()]
        await stage.until(lambda steps: steps[-1].version == "7")
    assert [one.type for one in stage.listed] == ["BOOKMARK"]


async def test_reopening_a_watch_with_bookmarks_is_not_a_sign_of_life() -> None:
    """Four watches stay without a byte: what was heard is the list, and at last the bookmark."""
    async with _stage() as stage:
        silent = [watching() for _ in range(4)]
        stage.server.script[PODS_PATH] = [listing("7", []), *silent, watching(bookmark("8"))]
        await stage.until(lambda steps: steps[-1].version == "8", silence_seconds=0.05)
    assert stage.tally["pods", "silent"] == 4
    assert stage.heard == ["pods", "pods"]


class Noticed(FakeClock):
    """A clock that shows when it was read."""

    def __init__(self) -> None:
        super().__init__()
        self.was_read = asyncio.Event()

    def now(self) -> datetime:
        self.was_read.set()
        return super().now()


def lasting(stage: Stage, before_seconds: float, open_seconds: float = 0.0, body: bytes = b"") -> Answer:
    """A whole answer that takes so long to open, and then to end."""
    clock = stage.clock = Noticed()

    def first() -> None:
        clock.seconds += before_seconds
        clock.was_read.clear()

    async def last() -> None:
        await clock.was_read.wait()
        clock.seconds += open_seconds

    return Answer(body, first=first, last=last)


ENDS = {
    "as asked": (0.1, 0.9, b"", True),
    "too early": (0.1, 0.8, b"", False),
    "opened late": (1.0, 0.1, b"", False),
    "within a line": (0.1, 0.9, b'{"type":"ADDED","object":{"meta', False),
}


@pytest.mark.parametrize(("before", "opened", "body", "is_heard"), ENDS.values(), ids=ENDS)
async def test_a_watch_that_the_server_ends_at_its_timeout_is_a_sign_of_life(
    before: float, opened: float, body: bytes, is_heard: bool
) -> None:
    """A resource that never changed may have no bookmarks (rules: list-and-watch). The watch after a silence is due
    in a tenth of that, in whole seconds.
    """
    async with _stage() as stage:
        ends = lasting(stage, before, opened, body)
        stage.server.script[PODS_PATH] = [listing("7", []), watching(), ends, watching(bookmark("8")), watching()]
        await stage.until(lambda steps: steps[-1].version == "8", silence_seconds=0.05)
        asked = [query["timeoutSeconds"] for query in stage.server.asked(PODS_PATH)[1:]]
    assert asked[:3] == ["300", "1", "300" if is_heard else "1"]
    assert stage.heard == ["pods"] * (3 if is_heard else 2)


@pytest.mark.parametrize(("before", "opened", "body", "is_heard"), ENDS.values(), ids=ENDS)
async def test_a_gap_begins_no_earlier_than_the_opening_of_a_watch_that_timed_out(
    before: float, opened: float, body: bytes, is_heard: bool
) -> None:
    """Its answer was whole, so it had all that happened before; without one the gap begins with the list."""
    async with _stage() as stage:
        expired = watching(event("ERROR", _status(410, "Expired")))
        ends = lasting(stage, before, opened, body)
        answers = [listing("7", []), watching(), ends, expired, listing("20", []), watching()]
        stage.server.script[PODS_PATH] = answers
        steps = await stage.until(lambda steps: steps[-1].version == "20", silence_seconds=0.05)
    opened_at = stage.clock.slept[0] + before
    assert _gap(steps)["since"] == _at(opened_at if is_heard else 0.0)


async def test_a_watch_that_ended_while_nobody_was_reading_may_be_incomplete() -> None:
    """An API server ends the watch of a reader who is slow, and drops what it had not sent yet."""
    async with _stage() as stage:

        def read(*_: Any) -> None:
            stage.clock.seconds += 400

        expired = watching(event("ERROR", _status(410, "Expired")))
        stage.server.script[PODS_PATH] = [
            listing("7", []),
            lasting(stage, 5.0, body=event("ADDED", pod("a", "8"))),
            expired,
            listing("20", [pod("a", "8")]),
            watching(),
        ]
        steps = await stage.until(lambda steps: steps[-1].version == "20", glance=read)
    assert _gap(steps)["since"] == _at(0.0)


async def test_the_watch_after_a_silent_one_requests_a_short_timeout() -> None:
    """A load balancer may cut each idle watch before the silence: it would be reopened for ever and never heard."""
    async with _stage() as stage:
        cut, short = Answer(cut=True), watching(bookmark("8"))
        stage.server.script[PODS_PATH] = [listing("7", []), cut, short, watching()]
        await stage.until(lambda steps: steps[-1].version == "8", silence_seconds=20.0)
        asked = [query["timeoutSeconds"] for query in stage.server.asked(PODS_PATH)[1:]]
    assert asked[:2] == ["300", "2"]


async def test_opening_a_watch_of_events_without_bookmarks_counts_as_contact() -> None:
    async with _stage() as stage:
        stage.server.script[EVENTS_PATH] = [listing("7", []), watching(), watching(), watching(bookmark("8"))]
        await stage.until(lambda steps: steps[-1].version == "8", EVENTS, silence_seconds=0.05)
    assert stage.heard == ["events"] * 5


async def _until_version(stream: AsyncIterator[Step], version: str) -> AsyncIterator[Step]:
    async for seen in stream:
        yield seen
        if seen.version == version:
            return


def _status(code: int, reason: str) -> dict[str, Any]:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": "m"}


async def test_a_stored_version_that_the_server_refuses_is_dropped() -> None:
    """A file that was edited or damaged: the resource is listed again, and a gap is reported."""
    async with _stage() as stage:
        stage.server.script[PODS_PATH] = [
            refusal(400, "BadRequest", 'strconv.ParseUint: parsing "x7": invalid syntax'),
            listing("9", [pod("a", "3")]),
            watching(event("ADDED", pod("b", "10"))),
        ]
        steps = await stage.until(lambda taken: ("ADDED", "b") in _reported(taken), version="x7")
    assert _reported(steps) == [("ADDED", "a"), ("ADDED", "b")]
    assert [error.startswith("gap: pods between version x7 and 9") for error in _errors(steps)] == [True]
