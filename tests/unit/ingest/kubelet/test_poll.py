"""Polling kubelets (rules: kubelet-metrics, recorded-behaviour)."""

import asyncio
import gc
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import aiohttp
import msgspec
import pytest

from fakes.clock import FakeClock
from ingest.apiserver.emitting import Emitter
from ingest.apiserver.requests import ApiError, Status
from ingest.files.envelope import encode_line
from ingest.kubelet.access import Address, kubelet_address
from ingest.kubelet.poll import SLOW_FOR_SECONDS, SLOW_SECONDS, TOGETHER_SECONDS, Kubelets, _Kubelet, offset_seconds
from ingest.model.observation import Observation
from ingest.model.reports import Tally
from ingest.normalize.redact import Received
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio

METRICS = (
    b"# HELP kubelet_evictions x\n# TYPE kubelet_evictions counter\n"
    b'kubelet_evictions{eviction_signal="memory.available"} 2\n'
    b'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 1\n'
    b'rest_client_requests_total{host="secret.example"} 5\n'
    b"process_start_time_seconds 1.5e+09\n"
)


class Kubelet:
    """Answers by path; an exception is raised."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes | Exception] = {
            "stats/summary": b'{\n "node": {\n  "nodeName": "n"\n }\n}\n',
            "metrics": METRICS,
            "configz": b'{"kubeletconfig":{}}',
        }
        self.asked: list[tuple[str, str]] = []
        self.in_flight = 0
        self.most_in_flight = 0
        self.before: Callable[[str], Awaitable[None]] | None = None

    async def fetch(self, node: str, path: str) -> bytes:
        self.asked.append((node, path))
        self.in_flight += 1
        self.most_in_flight = max(self.in_flight, self.most_in_flight)
        try:
            await (self.before(node) if self.before else asyncio.sleep(0))
        finally:
            self.in_flight -= 1
        answer = self.answers[path]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def paths(self) -> list[str]:
        return [path for _, path in self.asked]


class Run:
    """Polls nodes until so many observations were given."""

    def __init__(self) -> None:
        self.kubelet = Kubelet()
        self.clock = FakeClock()
        self.tally: Tally = Counter()
        self.observations: list[Observation] = []
        self.at: list[float] = []
        self.after: Callable[[int], None] = lambda _: None

    async def until(self, count: int, *nodes: str, **options: Any) -> list[Observation]:
        enough = asyncio.Event()

        async def emit(received: Received) -> None:
            self.observations.append(received.redacted())
            self.at.append(self.clock.seconds)
            self.after(len(self.observations))
            if len(self.observations) >= count:
                enough.set()
                await asyncio.Event().wait()

        kubelets = Kubelets(self.kubelet.fetch, Emitter("lab", emit, self.clock.clock, self.tally), **options)
        polls = [asyncio.ensure_future(kubelets.poll(node)) for node in nodes]
        async with asyncio.timeout(PATIENCE_SECONDS):
            await enough.wait()
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)
        return self.observations[:count]


async def test_a_round_asks_for_statistics_metrics_and_settings_of_which_the_first_sample_needs_the_last() -> None:
    seen = await Run().until(3, "n1")
    assert [(one.resource, one.type, one.source, one.node) for one in seen] == [
        ("configz", "SNAPSHOT", "kubelet", "n1"),
        ("stats/summary", "SNAPSHOT", "kubelet", "n1"),
        ("metrics", "SNAPSHOT", "kubelet", "n1"),
    ]
    assert [one.ts for one in seen] == sorted(one.ts for one in seen)


async def test_a_kubelet_whose_settings_fail_is_sampled_from_the_next_round_on() -> None:
    run = Run()
    run.kubelet.answers["configz"] = ApiError(Status(code=500, reason="InternalError", message="no"))
    failed, sample, *_ = await run.until(2, "n1")
    assert (failed.type, failed.resource) == ("ERROR", "configz")
    assert (sample.type, sample.resource) == ("SNAPSHOT", "stats/summary")


async def test_the_settings_are_asked_for_every_10_minutes() -> None:
    run = Run()
    await run.until(3 + 59 + 9 + 3, "n1")
    configz = [at for at, one in zip(run.at, run.observations, strict=True) if one.resource == "configz"]
    assert [at - configz[0] for at in configz] == [0, 600]


async def test_statistics_come_every_10_seconds_at_the_nodes_own_moment() -> None:
    run = Run()
    await run.until(5, "n1")
    summaries = [at for at, one in zip(run.at, run.observations, strict=True) if one.resource == "stats/summary"]
    assert summaries == pytest.approx([offset_seconds("n1", 10) + step for step in (0, 10, 20)])


async def test_a_node_keeps_its_moment_where_each_sleep_is_too_long() -> None:
    """Samples would be missing with thousands of nodes, if a round lasted longer by its late start."""
    run = Run()
    sleep = run.clock.sleep
    run.clock.sleep = lambda seconds: sleep(seconds + 0.5)  # type: ignore[method-assign]
    await run.until(5, "n1")
    summaries = [at for at, one in zip(run.at, run.observations, strict=True) if one.resource == "stats/summary"]
    assert summaries == pytest.approx([offset_seconds("n1", 10) + step for step in (0.5, 10.5, 20.5)])


async def test_rounds_that_are_missed_are_not_made_up_for() -> None:
    run = Run()

    async def slow(_: str) -> None:
        run.clock.seconds += 12

    run.kubelet.before = slow
    await run.until(4, "n1")
    summaries = [run.at[0], run.at[3]]
    assert summaries == pytest.approx([offset_seconds("n1", 10) + step for step in (24, 52)]), "settings first"


async def test_the_moments_of_many_nodes_are_spread_over_the_interval() -> None:
    counts = Counter(int(offset_seconds(f"node-{number}", 10)) for number in range(1000))
    assert set(counts) == set(range(10))
    assert max(counts.values()) < 2 * min(counts.values())


async def test_many_nodes_are_asked_at_the_same_few_moments_whenever_each_was_found() -> None:
    """A hundred wake-ups for 200 samples cost less than 200."""
    run = Run()
    run.clock.seconds = 0.13
    await run.until(600, *(f"node-{number}" for number in range(200)))
    moments = {at for at, one in zip(run.at, run.observations, strict=True) if one.resource == "stats/summary"}
    assert len(moments) <= 10 / TOGETHER_SECONDS
    steps = [at / TOGETHER_SECONDS for at in moments]
    assert steps == pytest.approx([round(step) for step in steps])


async def test_a_failed_request_frees_its_memory_without_a_garbage_collection() -> None:
    """Like aiohttp, a frame holds the exception whose traceback holds the frame, and a connection's buffers."""
    run, kept = Run(), []

    async def refuse(_: str) -> None:
        connection, last = Kubelet(), ConnectionRefusedError()
        kept.append(weakref.ref(connection))
        try:
            raise last
        except OSError as error:
            raise aiohttp.ClientError from error

    run.kubelet.before = refuse
    gc.disable()
    try:
        await run.until(2, "n1", "n2")
        assert len(kept) >= 2
        assert [reference() for reference in kept if reference()] == []
    finally:
        gc.enable()


async def test_an_indented_answer_becomes_one_line_of_a_capture() -> None:
    (_, summary) = await Run().until(2, "n1")
    assert encode_line(summary).endswith(b',"object":{"node":{"nodeName":"n"}}}\n')


async def test_metrics_come_every_60_seconds() -> None:
    run = Run()
    await run.until(3 + 5 + 2, "n1")
    assert [
        at for at, one in zip(run.at, run.observations, strict=True) if one.resource == "metrics"
    ] == pytest.approx([offset_seconds("n1", 10) + step for step in (0, 60)])


async def test_metrics_are_asked_for_at_once_when_the_pods_change() -> None:
    run = Run()
    pods = {"a": [], "b": [{"podRef": {"name": "p", "namespace": "default", "uid": "u"}}]}
    answers = [msgspec.json.encode({"node": {}, "pods": pods[each]}) for each in "ab"]
    run.kubelet.answers["stats/summary"] = answers[0]

    def change(count: int) -> None:
        run.kubelet.answers["stats/summary"] = answers[1] if count >= 4 else answers[0]

    run.after = change
    seen = await run.until(3 + 1 + 2 + 2, "n1")
    assert [one.resource for one in seen[3:]] == [
        "stats/summary",
        *("stats/summary", "metrics"),  # the first with the pod
        *("stats/summary", "stats/summary"),
    ]


async def test_only_the_metrics_that_matter_are_kept() -> None:
    seen = await Run().until(3, "n1")
    assert msgspec.json.decode(seen[2].object) == {
        "text": 'kubelet_evictions{eviction_signal="memory.available"} 2\n'
        'kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 1\n'
    }


async def test_after_a_restart_of_the_kubelet_its_settings_are_asked_for_at_once() -> None:
    run = Run()

    def restart(count: int) -> None:
        if count == 4:
            run.kubelet.answers["metrics"] = METRICS.replace(b"1.5e+09", b"1.6e+09")

    run.after = restart
    seen = await run.until(3 + 5 + 3, "n1")
    assert [one.resource for one in seen[8:]] == ["stats/summary", "metrics", "configz"]
    assert run.tally["kubelet", "restart"] == 1


async def test_after_a_failure_the_settings_are_asked_for_again() -> None:
    run = Run()

    def fail(count: int) -> None:
        works = b"{}"
        run.kubelet.answers["stats/summary"] = ConnectionRefusedError("refused") if count == 3 else works

    run.after = fail
    seen = await run.until(7, "n1")
    assert [one.resource for one in seen[4:]] == ["stats/summary", "metrics", "configz"]


FORBIDDEN = ApiError(Status(code=403, reason="Forbidden", message="no"))


@pytest.mark.parametrize(
    ("resource", "permission"),
    [("stats/summary", "nodes/stats"), ("metrics", "nodes/metrics"), ("configz", "nodes/configz")],
)
async def test_a_forbidden_endpoint_is_reported_and_blocks_nothing_else(resource: str, permission: str) -> None:
    run = Run()
    run.kubelet.answers[resource] = FORBIDDEN
    seen = await run.until(40, "n1")
    errors = [(at, one) for at, one in zip(run.at, seen, strict=True) if one.type == "ERROR"]
    assert {(one.resource, one.node) for _, one in errors} == {(resource, "n1")}
    assert f"Allow get on {permission} in the ClusterRole" in msgspec.json.decode(errors[0][1].object)["error"]
    assert all(later[0] - first[0] >= 300 for first, later in pairwise(errors))
    assert 1 <= run.kubelet.paths().count(resource) <= 1 + run.clock.seconds // 300
    others = {"stats/summary", "metrics", "configz"} - {resource}
    assert {one.resource for one in seen if one.type == "SNAPSHOT"} == others
    summaries = [at for at, one in zip(run.at, seen, strict=True) if one.resource == "stats/summary"]
    assert resource == "stats/summary" or {b - a for a, b in pairwise(summaries)} == {10}


async def test_an_endpoint_allowed_later_is_read_then() -> None:
    run = Run()
    run.kubelet.answers["configz"] = FORBIDDEN

    def allow(count: int) -> None:
        if count == 20:
            run.kubelet.answers["configz"] = b"{}"

    run.after = allow
    seen = await run.until(80, "n1")
    assert [one.type for one in seen if one.resource == "configz"] == ["ERROR", "SNAPSHOT"]


async def test_a_kubelet_that_refuses_is_reported_once_and_backed_off() -> None:
    run = Run()
    run.kubelet.answers["stats/summary"] = ApiError(Status(code=401, reason="Unauthorized", message="no"))
    (error,) = await run.until(1, "n1")
    assert (error.type, error.resource, error.node) == ("ERROR", "stats/summary", "n1")
    assert "webhook authentication" in msgspec.json.decode(error.object)["error"]

    run = Run()
    run.kubelet.answers["stats/summary"] = ApiError(Status(code=401, reason="Unauthorized", message="no"))
    await run.until(3, "n1")
    assert run.clock.slept[1:6] == [10, 20, 40, 80, 160]
    assert run.at[1] - run.at[0] >= 300


async def test_a_failure_after_a_recovery_is_reported_at_once() -> None:
    run = Run()
    refused = ConnectionRefusedError("refused")
    run.kubelet.answers["stats/summary"] = refused

    def alternate(_: int) -> None:
        reported = run.observations[-1]
        run.kubelet.answers["stats/summary"] = b"{}" if reported.type == "ERROR" else refused

    run.after = alternate
    seen = await run.until(6, "n1")
    errors = [at for at, one in zip(run.at, seen, strict=True) if one.type == "ERROR"]
    assert len(errors) == 2
    assert errors[1] - errors[0] < 60


@pytest.mark.parametrize("answer", [b"<html>", b"[1]", b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}"])
async def test_an_answer_that_is_not_json_is_an_error_and_not_a_snapshot(answer: bytes) -> None:
    run = Run()
    run.kubelet.answers["stats/summary"] = answer
    (error,) = await run.until(1, "n1")
    assert error.type == "ERROR"
    assert "not a JSON object" in msgspec.json.decode(error.object)["error"]


async def test_kubelets_that_hang_do_not_delay_the_others() -> None:
    run = Run()
    for_ever = asyncio.Event()

    async def hang(node: str) -> None:
        await (for_ever.wait() if node == "slow" else asyncio.sleep(0))

    run.kubelet.before = hang
    seen = await run.until(20, "slow", "quick", in_flight=4)
    assert {one.node for one in seen} == {"quick"}


async def test_requests_in_flight_are_bounded() -> None:
    run = Run()

    async def slow(_: str) -> None:
        for _turn in range(20):
            await asyncio.sleep(0)

    run.kubelet.before = slow
    await run.until(60, *(f"n{number}" for number in range(20)), in_flight=8)
    assert 5 <= run.kubelet.most_in_flight <= 8, "five for those that are quick"


async def test_failed_kubelets_have_their_own_share_of_requests() -> None:
    run = Run()
    held = asyncio.Event()

    async def fail_then_hang(node: str) -> None:
        if not node.startswith("bad"):
            await asyncio.sleep(0)
        elif run.kubelet.asked.count((node, "stats/summary")) == 1:
            raise ConnectionRefusedError
        else:
            await held.wait()

    run.kubelet.before = fail_then_hang
    bad = [f"bad{number}" for number in range(20)]
    seen = await run.until(200, *bad, "good", in_flight=4)
    assert sum(one.node == "good" for one in seen) >= 150


@pytest.mark.parametrize("fails", [False, True], ids=["a byte a second", "and then nothing, or at once"])
async def test_slow_kubelets_have_their_own_share_of_requests(*, fails: bool) -> None:
    """Each answers just in time, or fails late and then answers at once: neither is failing when it is asked next."""
    run, for_ever = Run(), asyncio.Event()
    seconds = {1: 8.0, 2: 0.0} if fails else {1: 8.0}

    async def wait(node: str) -> None:
        times = run.kubelet.asked.count((node, "stats/summary"))
        if node == "good":
            return  # without a turn for others, whose time would count as its own
        if times in seconds:
            run.clock.seconds += seconds[times]
            if fails and times == 1:
                raise TimeoutError
        else:
            await for_ever.wait()

    run.kubelet.before = wait
    slow = [f"slow{number}" for number in range(4)]
    seen = await run.until(300, *slow, "good", in_flight=4)
    assert sum(one.node == "good" for one in seen) >= 200


async def test_dead_kubelets_do_not_delay_slow_ones() -> None:
    """A zone that is cut off, and kubelets of another that answer late, but answer."""
    run, for_ever = Run(), asyncio.Event()

    async def wait(node: str) -> None:
        times = run.kubelet.asked.count((node, "stats/summary"))
        if not node.startswith("gone"):
            run.clock.seconds += 3.0  # without a turn for others, whose time would count as its own
        elif times > 1:
            await for_ever.wait()
        else:
            raise ConnectionRefusedError

    run.kubelet.before = wait
    seen = await run.until(120, *(f"gone{number}" for number in range(20)), "late1", "late2", in_flight=8)
    assert min(sum(one.node == node for one in seen) for node in ("late1", "late2")) >= 40


async def test_a_kubelet_that_was_slow_once_is_asked_with_the_others_again() -> None:
    """Else all kubelets would share the few requests after a bad hour of the network."""
    clock = FakeClock()
    kubelet = _Kubelet("n", clock.clock)
    kubelet.took(SLOW_SECONDS)
    assert not kubelet.is_slow
    kubelet.took(SLOW_SECONDS + 0.1)
    kubelet.took(0.1)
    assert kubelet.is_slow
    clock.seconds += SLOW_FOR_SECONDS
    assert not kubelet.is_slow


async def test_a_node_says_where_its_kubelet_listens() -> None:
    addresses = [{"type": "Hostname", "address": "n1"}, {"type": "InternalIP", "address": "10.0.0.7"}]
    endpoints = {"kubeletEndpoint": {"Port": 10350}}

    def node(count: int) -> bytes:
        return msgspec.json.encode({"status": {"addresses": addresses[:count], "daemonEndpoints": endpoints}})

    assert kubelet_address(node(2)) == Address("10.0.0.7", 10350)
    assert kubelet_address(node(1)) == Address("n1", 10350)
    assert kubelet_address(node(0)) is None
    assert kubelet_address(b'{"status":5}') is None
