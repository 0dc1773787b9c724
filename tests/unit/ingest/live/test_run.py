"""All sources of a cluster together, against a fake API server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM, Clock
from fakes.apiserver import Answer, FakeApiServer, bookmark, event, listing, pod, refusal, status_body, watching
from ingest.apiserver.versions import VersionFile
from ingest.apiserver.watch import ABSENT_SECONDS
from ingest.kubelet.settings import KubeletSettings
from ingest.live.run import Delivery, Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation
from waiting import PATIENCE_SECONDS, until

pytestmark = pytest.mark.asyncio

PROXY, ANOTHER_PROXY = (f"/api/v1/nodes/{node}/proxy" for node in ("n1", "n2"))


def _node(version: str, name: str = "n1") -> dict[str, Any]:
    return {"metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": version}}


def _settings(**more: Any) -> LiveSettings:
    kubelet = KubeletSettings(access="proxy", summary_seconds=0.05, metrics_seconds=0.05)
    return LiveSettings(**{"cluster": "lab", "kubelet": kubelet, "resources": ("nodes", "pods"), **more})


@asynccontextmanager
async def _server() -> AsyncIterator[FakeApiServer]:
    async with FakeApiServer().running() as server:
        server.script["/api/v1/nodes"] = [listing("5", [_node("3")]), watching()]
        server.script["/api/v1/pods"] = [
            listing("7", [pod("a", "3")]),
            watching(event("ADDED", pod("b", "8")), event("ADDED", pod("c", "9"))),
        ]
        for proxy in (PROXY, ANOTHER_PROXY):
            server.script[f"{proxy}/stats/summary"] = [Answer(b'{"node":{}}')]
            server.script[f"{proxy}/metrics"] = [Answer(b"kubelet_evictions 1\n")]
            server.script[f"{proxy}/configz"] = [Answer(b'{"kubeletconfig":{}}')]
        yield server


def _access(server: FakeApiServer) -> Configuration:
    access = Configuration()
    access.host = server.url
    return access


async def _until(live: Live, enough: Any) -> list[Delivery]:
    """Deliveries until `enough` says so of all of them; each is acknowledged."""
    taken: list[Delivery] = []
    async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
        async for delivery in deliveries:
            taken.append(delivery)
            live.acknowledge(delivery)
            if enough([one.observation for one in taken if one.observation.type not in {"INVENTORY", "BOOKMARK"}]):
                break
    return taken


def _kinds(observations: list[Observation]) -> set[tuple[str, str]]:
    return {(one.resource, one.type) for one in observations}


ALL = {
    ("nodes", "ADDED"),
    ("pods", "ADDED"),
    ("stats/summary", "SNAPSHOT"),
    ("metrics", "SNAPSHOT"),
    ("configz", "SNAPSHOT"),
}


async def test_nodes_pods_and_the_kubelets_of_the_nodes_are_one_stream() -> None:
    async with _server() as server:
        live = Live(_settings(), _access(server))
        seen = await _until(live, lambda seen: _kinds(seen) >= ALL)
        assert live.degraded() == {}
        assert set(live.ages_seconds()) == {"nodes", "pods", "kubelet/n1"}
    assert {one.observation.cluster for one in seen} == {"lab"}


async def test_nodes_are_listed_first() -> None:
    async with _server() as server:
        pages = listing("5", [_node("3")], "more"), listing("5", [_node("4", "n2")])
        server.script["/api/v1/nodes"] = [*pages, watching()]
        live = Live(_settings(), _access(server))
        await _until(live, lambda seen: ("pods", "ADDED") in _kinds(seen))
        asked = [each.path for each in server.requests if "/leases/" not in each.path]  # those are of the nodes
    assert asked[:2] == ["/api/v1/nodes"] * len(pages)


async def test_a_resource_that_is_forbidden_is_degraded_and_reported_and_the_others_run() -> None:
    async with _server() as server:
        server.script["/api/v1/pods"] = [refusal(403, "Forbidden", "pods is forbidden")]
        live = Live(_settings(), _access(server))
        seen = await _until(live, lambda seen: _kinds(seen) >= (ALL - {("pods", "ADDED")}) | {("pods", "ERROR")})
        assert "403 Forbidden" in live.degraded()["pods"]
        assert set(live.degraded()) == {"pods"}
    errors = [one.observation for one in seen if one.observation.type == "ERROR"]
    assert [one.resource for one in errors] == ["pods"]


async def test_everything_is_listed_once_each_readable_resource_was_listed() -> None:
    async with _server() as server:
        live = Live(_settings(resources=("nodes", "pods", "events")), _access(server))
        server.script["/api/v1/events"] = [Answer(status=403)]
        assert not live.is_listed()
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            while not live.is_listed():
                live.acknowledge(await anext(deliveries))
        assert set(live.degraded()) == {"events"}
        assert all(live._watches[name].complete_at for name in ("nodes", "pods"))


async def test_the_lease_of_a_not_ready_node_is_read_and_a_missing_right_degrades_nothing() -> None:
    leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
    silent = {**_node("4", "n2"), "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    for answer, type_ in ((Answer(b'{"metadata":{"name":"n2"}}'), "SNAPSHOT"), (refusal(403, "F", "no"), "ERROR")):
        async with _server() as server:
            well = {**_node("3"), "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
            server.script["/api/v1/nodes"] = [listing("5", [well]), watching(event("ADDED", silent))]
            server.script[f"{leases}/n2"] = [answer]
            live = Live(_settings(), _access(server))
            await _until(live, lambda seen, kind=type_: _kinds(seen) >= ALL | {("node_leases", kind)})
            assert live.degraded() == {}
            assert len(server.asked(f"{leases}/n2")) == 1
            assert server.asked(f"{leases}/n1") == []


async def test_a_node_that_replaces_one_deleted_unseen_has_its_own_lease() -> None:
    """It came while nothing could be watched: the deletion is known without the object."""
    lease = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n2"
    silent = {**_node("4", "n2"), "status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    another = {**silent, "metadata": {**silent["metadata"], "uid": "another"}}
    gone = msgspec.json.decode(status_body(410, "Expired", "too old"))
    async with _server() as server:
        server.script["/api/v1/nodes"] = [
            listing("5", [silent]),
            watching(event("ERROR", gone), hang=False),
            listing("9", [another]),
            watching(),
        ]
        server.script[lease] = [Answer(b'{"metadata":{"name":"n2"}}')]
        live = Live(_settings(), _access(server))
        await _until(live, lambda seen: [one.resource for one in seen].count("node_leases") == 2)
        assert len(server.asked(lease)) == 2


async def test_a_deleted_nodes_kubelet_is_no_longer_asked() -> None:
    async with _server() as server:
        both = listing("5", [_node("3"), _node("4", "n2")])
        server.script["/api/v1/nodes"] = [both, watching(event("DELETED", _node("6")))]
        live = Live(_settings(), _access(server))
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            async for delivery in deliveries:
                if delivery.observation.type == "DELETED":
                    break
            asked = len(server.asked(f"{PROXY}/stats/summary"))
            await until(lambda: len(server.asked(f"{ANOTHER_PROXY}/stats/summary")) > 5)
            assert len(server.asked(f"{PROXY}/stats/summary")) <= asked + 1
        assert "kubelet/n1" not in live.ages_seconds()


async def test_stored_versions_follow_acknowledgements_and_a_restart_resumes_there(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    settings = _settings(resources=("pods",))
    async with _server() as server:
        live = Live(settings, _access(server), store.kept())
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            # the pod of the list, its end (two inventories and a bookmark), and two more pods
            taken = [await anext(deliveries) for _ in range(6)]
            for delivery in (*taken[:4], taken[5]):
                live.acknowledge(delivery)
        assert store.load() == {"pods": "7"}

        server.requests.clear()
        server.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(event("ADDED", pod("b", "8")))]
        (again,) = await _until(Live(settings, _access(server), store.kept()), len)
    assert msgspec.json.decode(again.observation.object)["metadata"]["name"] == "b"
    assert store.load() == {"pods": "8"}


async def test_kubelets_are_asked_after_a_restart_even_if_their_nodes_did_not_change(tmp_path: Path) -> None:
    store = VersionFile(tmp_path / "versions.json", "lab")
    store.save({"nodes": "5"})
    async with _server() as server:
        live = Live(_settings(resources=("nodes",)), _access(server), store.kept())
        seen = await _until(live, lambda seen: ("stats/summary", "SNAPSHOT") in _kinds(seen))
    assert ("nodes", "ADDED") not in _kinds([one.observation for one in seen])


async def test_a_failing_version_store_is_degraded_and_recovers(tmp_path: Path) -> None:
    folder = tmp_path / "mounted later"
    store = VersionFile(folder / "versions.json", "lab")
    async with _server() as server:
        live = Live(_settings(resources=("pods",)), _access(server), store.kept())
        await _until(live, lambda seen: len(seen) == 3)
        assert "directory" in live.degraded()["versions"]
        folder.mkdir()
        server.script["/api/v1/pods"] = [listing("7", [pod("a", "3")]), watching(event("ADDED", pod("b", "8")))]
        await _until(Live(_settings(resources=("pods",)), _access(server), store.kept()), lambda seen: len(seen) == 2)
    assert store.load()["pods"]


async def test_an_unexpected_error_of_a_source_ends_the_stream() -> None:
    async with _server() as server:
        access = _access(server)
        access.api_key["BearerToken"] = "Bearer x"

        def broken(_: Configuration) -> None:
            raise ZeroDivisionError

        access.refresh_api_key_hook = broken
        live = Live(_settings(), access)
        with pytest.raises(ZeroDivisionError):
            await _until(live, lambda _: False)


async def test_a_silent_stream_is_reported_but_not_a_custom_resource_that_does_not_exist() -> None:
    async with _server() as server:
        looked_everywhere = asyncio.Event()

        async def sleep(seconds: float) -> None:
            if seconds == ABSENT_SECONDS:
                looked_everywhere.set()
            await asyncio.sleep(min(seconds, 0.01))

        settings = _settings(resources=("pods", "noderesourcetopologies"))
        live = Live(settings, _access(server), clock=SYSTEM._replace(sleep=sleep))
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            for _ in range(3):
                await anext(deliveries)
            await looked_everywhere.wait()
            (silence,) = live._silences(live._clock.now().replace(year=2200))
        assert live.degraded() == {}
    assert (silence.resource, silence.type, silence.source) == ("pods", "ERROR", "watch")
    assert msgspec.json.decode(silence.object)["error"].startswith("stream silent for ")


async def test_silent_kubelets_leave_nothing_in_memory() -> None:
    """Nodes come and go for years, each with a name of its own."""
    async with _server() as server:
        live = Live(_settings(), _access(server))
        for number in range(3):
            live._freshness.expect(f"kubelet/n{number}", 1.0, live._clock.now())
        reports = [*live._silences(live._clock.now().replace(year=2200))]
    assert [report.node for report in reports] == ["n0", "n1", "n2"]
    assert live._reported == {}


async def test_a_complete_watch_emits_a_bookmark_a_minute_and_a_silent_one_an_error_after_two() -> None:
    """The next watcher begins its gap when this one was last heard."""
    passed = 0.0
    async with _server() as server:
        server.script["/api/v1/pods"][-1] = watching(event("ADDED", pod("b", "8")), bookmark("10"))
        clock = Clock(
            lambda: SYSTEM.now() + timedelta(seconds=passed),
            lambda: SYSTEM.monotonic() + passed,
            lambda seconds: asyncio.sleep(min(seconds, 0.01)),
            SYSTEM.random,
        )
        live = Live(_settings(resources=("pods",)), _access(server), clock=clock)
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            listed = await _next(deliveries, lambda seen: seen.type == "BOOKMARK")
            assert msgspec.json.decode(listed.object)["anew"]
            await until(lambda: (at := live._watches["pods"].complete_at) and at > listed.ts)
            heard_by = clock.now()
            passed = 61
            beat = await _next(deliveries, lambda seen: bytes(seen.object) == b"{}")
            assert (beat.type, beat.resource) == ("BOOKMARK", "pods")
            assert listed.ts < beat.ts <= heard_by
            passed = 121
            silence = await _next(deliveries, lambda seen: seen.type == "ERROR")
            assert any(why.startswith("pods has been silent for 12") for why in live._why_not())
            assert list(live._bookmarks()) == []
    assert msgspec.json.decode(silence.object)["error"].startswith("stream silent for 12")


async def test_no_bookmark_is_older_than_the_last_report_about_its_watch() -> None:
    """The list's end was reported after the time at which the watch was whole; so is each error, until it goes on."""
    async with _server() as server:
        live = Live(_settings(resources=("pods",)), _access(server))
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            await _next(deliveries, lambda seen: b'"uid-c"' in bytes(seen.object) and seen.type == "ADDED")
            assert live._watches["pods"].complete_at
            assert list(live._bookmarks()) == []


async def _next(deliveries: AsyncIterator[Delivery], wanted: Callable[[Observation], bool]) -> Observation:
    async for delivery in deliveries:
        if wanted(delivery.observation):
            return delivery.observation
    raise AssertionError


async def test_the_credentials_and_the_versions_file_of_the_settings_are_used(tmp_path: Path) -> None:
    async with _server() as server:
        config = {
            "current-context": "c",
            "clusters": [{"name": "k", "cluster": {"server": server.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        }
        path = tmp_path / "config"
        path.write_bytes(msgspec.json.encode(config))
        settings = _settings(resources=("pods",), kubeconfig=path, versions_file=tmp_path / "versions.json")
        await _until(await Live.connect(settings), lambda seen: len(seen) == 3)
        assert {request.authorization for request in server.requests} == {"Bearer t"}
    assert VersionFile(tmp_path / "versions.json", "lab").load() == {"pods": "9"}


async def test_an_unknown_resource_in_the_settings_names_the_known_ones() -> None:
    with pytest.raises(pydantic.ValidationError, match=r"unknown: secrets; there are nodes, .*pods, events"):
        _settings(resources=("pods", "secrets"))
