"""A scheduler shows how many nodes it caches; none gets a token before it is trusted (rules: scheduler-cache)."""

import asyncio
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from typing import Any

import msgspec
import pydantic
import pytest
from aiohttp import web
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM
from common.settings import SettingsError
from components.processes import HOST, free_port
from components.secured import Authority
from fakes.apiserver import Answer, FakeApiServer, listing, watching
from fakes.clock import START, FakeClock
from ingest.apiserver.emitting import Emitter
from ingest.kubelet.access import Https
from ingest.live.run import Live
from ingest.live.scheduler import HELD_SECONDS, CacheUnknown, Scheduler, cache_line, schedulers
from ingest.live.settings import LiveSettings, SchedulerSettings
from ingest.model.records import SchedulerCacheRecord, SourceErrorRecord
from ingest.model.reports import Tally
from ingest.normalize.redact import Received
from leadsman.run.permissions import REVIEWS, Checked, check_cluster
from leadsman.run.validate import check_schedulers
from unit.leadsman.run.test_permissions import kubeconfig
from waiting import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio

TOKEN = "Bearer secret-token"  # noqa: S105  # of no one
NOW = datetime(2026, 1, 1, tzinfo=UTC)
METRICS = """# HELP scheduler_cache_size [ALPHA] Number of nodes, pods, and assumed (bound) pods in the cache.
# TYPE scheduler_cache_size gauge
scheduler_cache_size{type="assumed_pods"} 0
scheduler_cache_size{type="nodes"} 5000
scheduler_cache_size{type="pods"} 9
process_start_time_seconds 1.6e+09
rest_client_requests_total{host="secret.example"} 5
"""
SIZE = 'scheduler_cache_size{type="nodes"} 5000\n'


class FakeScheduler:
    """Answers as it is set, and remembers how it was asked."""

    def __init__(self) -> None:
        self.port = 0
        self.text = METRICS
        self.status = 200
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"https://{HOST}:{self.port}"

    async def respond(self, request: web.Request) -> web.Response:
        self.asked.append((request.raw_path, request.headers.get("Authorization", "")))
        return web.Response(text=self.text, status=self.status, headers=self.headers)


@asynccontextmanager
async def a_scheduler(authority: Authority) -> AsyncIterator[FakeScheduler]:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*authority.issue("scheduler"))
    server, app = FakeScheduler(), web.Application()
    app.router.add_get("/{path:.*}", server.respond)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, HOST, 0, ssl_context=tls).start()
        server.port = runner.addresses[0][1]
        yield server
    finally:
        await runner.cleanup()


def access() -> Configuration:
    given = Configuration()
    given.api_key["BearerToken"] = TOKEN
    return given


async def asked(url: str, ca_file: Path, **options: Any) -> str:
    https = Https(access(), ca_file, **options)
    try:
        return await cache_line(https, url, NOW)
    finally:
        await https.close()


def of_nodes() -> tuple[int, datetime]:
    """All of 5000 nodes has been seen, whenever it is asked for."""
    return 5000, datetime.max.replace(tzinfo=UTC)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "cluster")


@pytest.mark.parametrize("path", ["", "/", "/metrics"])
async def test_only_the_number_of_nodes_is_kept_of_a_schedulers_metrics(authority: Authority, path: str) -> None:
    async with a_scheduler(authority) as scheduler:
        assert await asked(scheduler.url + path, authority.ca_file) == SIZE
    assert scheduler.asked == [("/metrics", TOKEN)]


async def test_a_scheduler_whose_certificate_is_of_another_authority_gets_no_token(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority(tmp_path, "other").ca_file
    async with a_scheduler(authority) as scheduler:
        with pytest.raises(CacheUnknown, match=r"its certificate is not trusted .*watch\.scheduler\.ca_file"):
            await asked(scheduler.url, other)
        assert scheduler.asked == []
        assert await asked(scheduler.url, other, insecure=True) == SIZE


async def test_a_redirect_is_not_followed(authority: Authority) -> None:
    async with a_scheduler(authority) as another, a_scheduler(authority) as scheduler:
        scheduler.status, scheduler.headers = 302, {"Location": f"{another.url}/metrics"}
        with pytest.raises(CacheUnknown, match="302 Found"):
            await asked(scheduler.url, authority.ca_file)
    assert another.asked == []


@pytest.mark.parametrize(
    ("status", "text", "why"),
    [
        (403, "forbidden", "403 Forbidden: forbidden: allow get on the nonResourceURL /metrics"),
        (401, "", "401 Unauthorized: "),
        (200, "", "its metrics have no scheduler_cache_size"),
        (
            200,
            METRICS.replace("5000", "0"),
            "its cache has no nodes: it may not list them, or fills it once it leads",
        ),
        (
            200,
            METRICS.replace("1.6e+09", str(NOW.timestamp() - 59)),
            "it started less than a minute ago, and may not know all nodes yet",
        ),
        (
            200,
            METRICS.replace("1.6e+09", str(NOW.timestamp() + 2)),
            "it started less than a minute ago, and may not know all nodes yet",
        ),
        (200, "x" * 17_000_000, "answer of more than 16.0 MiB to /metrics"),
    ],
    ids=["forbidden", "unauthorized", "without", "empty", "young", "clock-ahead", "large"],
)
async def test_an_answer_without_the_cache_is_reported_in_words(
    authority: Authority, status: int, text: str, why: str
) -> None:
    async with a_scheduler(authority) as scheduler:
        scheduler.status, scheduler.text = status, text
        with pytest.raises(CacheUnknown) as unknown:
            await asked(scheduler.url, authority.ca_file)
    assert str(unknown.value) == why


@pytest.mark.parametrize(
    "start", ["nan", "e+", "1.2.3", "9" * 20, str(NOW.timestamp() - 60), str(NOW.timestamp() + 9999)]
)
async def test_an_odd_start_time_withholds_nothing(authority: Authority, start: str) -> None:
    async with a_scheduler(authority) as scheduler:
        scheduler.text = METRICS.replace("1.6e+09", start)
        assert await asked(scheduler.url, authority.ca_file) == SIZE


async def test_a_cache_names_its_scheduler_and_a_failing_one_is_degraded_until_it_works(authority: Authority) -> None:
    seen: asyncio.Queue[Received] = asyncio.Queue()
    tally: Tally = Counter()
    async with AsyncExitStack() as stack:
        fakes = [await stack.enter_async_context(a_scheduler(authority)) for _ in range(2)]
        section = SchedulerSettings(urls=tuple(each.url for each in fakes), ca_file=authority.ca_file)
        emitter = Emitter("lab", seen.put, SYSTEM, tally)
        settings = LiveSettings(cluster="lab", scheduler=section)
        both = schedulers(settings, access(), emitter, of_nodes, stack)
        fakes[1].text = METRICS.replace("5000", "4999")
        found: list[Any] = []
        for each in both:
            await each._ask()
            found += (await seen.get()).normalize_with_warning()[0]
        assert [(one.cluster, one.node, one.nodes, one.names, one.scheduler) for one in found] == [
            ("lab", "", nodes, None, f"{HOST}:{fake.port}") for nodes, fake in zip((5000, 4999), fakes, strict=True)
        ]
        assert all(isinstance(one, SchedulerCacheRecord) for one in found)

        fakes[0].status = 500
        for _ in range(2):
            await both[0]._ask()
        (error,) = (await seen.get()).normalize_with_warning()[0]
        assert isinstance(error, SourceErrorRecord)
        assert (error.node, error.resource) == ("", "scheduler_cache")
        assert error.error.startswith(f"scheduler {HOST}:{fakes[0].port}: 500 Internal Server Error")
        assert seen.empty(), "a failure that lasts is reported every 5 minutes"
        assert both[0].failure.text
        fakes[0].status = 200
        await both[0]._ask()
        assert not both[0].failure.text
    assert tally == {("scheduler", "observation"): 3, ("scheduler", "failure"): 2}


async def test_an_unreachable_scheduler_is_degraded_and_the_watch_continues() -> None:
    host = f"{HOST}:{free_port()}"
    settings = LiveSettings(
        resources=("nodes",), scheduler=SchedulerSettings(urls=(f"https://{host}",), seconds=0.01, insecure=True)
    )
    async with FakeApiServer().running() as server:
        server.script["/api/v1/nodes"] = [listing("5", []), watching()]
        live = Live(settings, Configuration(host=server.url))
        async with live.deliveries() as deliveries, asyncio.timeout(PATIENCE_SECONDS):
            while (error := (await anext(deliveries)).observation).resource != "scheduler_cache":
                pass
        assert error.type == "ERROR"
        assert msgspec.json.decode(error.object) == {"error": f"scheduler {host}: connection refused"}
        assert live.degraded()[f"scheduler/{host}"] == "connection refused"
        assert "nodes" not in live.degraded()


class Waiting:
    """One question of a scheduler of 5,000 nodes, while so many nodes are seen."""

    def __init__(self, scheduler: FakeScheduler, ca_file: Path, nodes: int, heard_after: float = inf) -> None:
        self.clock = FakeClock()
        self.nodes, self.heard_after = nodes, heard_after
        self.reported: list[Received] = []
        self.https = Https(access(), ca_file)
        self.scheduler = Scheduler(
            scheduler.url, self.https, Emitter("lab", self._keep, self.clock.clock, Counter()), self._seen
        )

    async def _keep(self, received: Received) -> None:
        self.reported.append(received)

    def _seen(self) -> tuple[int, datetime]:
        return self.nodes, START + timedelta(seconds=1 if self.clock.seconds >= self.heard_after else 0.9)

    async def ask(self) -> str:
        await self.scheduler._ask()
        await self.https.close()
        (reported,) = self.reported
        return reported.redacted().type


async def test_the_number_of_nodes_that_are_seen_is_reported_at_once(authority: Authority) -> None:
    async with a_scheduler(authority) as scheduler:
        waiting = Waiting(scheduler, authority.ca_file, 5000)
        assert await waiting.ask() == "SNAPSHOT"
    assert waiting.clock.slept == []


async def test_a_differing_number_waits_until_all_earlier_node_changes_are_seen(authority: Authority) -> None:
    """A node comes: its scheduler may have heard of it before us."""
    async with a_scheduler(authority) as scheduler:
        waiting = Waiting(scheduler, authority.ca_file, 4999, heard_after=30)
        assert await waiting.ask() == "SNAPSHOT"
    assert waiting.clock.seconds == pytest.approx(30)


async def test_no_differing_number_is_compared_while_the_node_watch_is_silent(authority: Authority) -> None:
    """The watch of nodes is refused or hangs: changes meanwhile are not a scheduler's fault."""
    async with a_scheduler(authority) as scheduler:
        waiting = Waiting(scheduler, authority.ca_file, 4999)
        assert await waiting.ask() == "ERROR"
    assert waiting.scheduler.failure.text == ("no news of nodes since the request: there is nothing to compare with")
    assert waiting.clock.seconds == pytest.approx(HELD_SECONDS)


async def test_without_urls_or_a_node_watch_no_scheduler_is_asked() -> None:
    section = SchedulerSettings(urls=("https://h:10259",))
    of_pods = LiveSettings(scheduler=section, resources=("pods",))
    async with AsyncExitStack() as stack:
        for settings in (LiveSettings(), LiveSettings(scheduler=section, namespace="shop"), of_pods):
            assert schedulers(settings, access(), NEVER, of_nodes, stack) == []


async def _never(_: Received) -> None:
    raise AssertionError


NEVER = Emitter("default", _never, SYSTEM, Counter())


async def test_a_missing_ca_file_is_reported() -> None:
    section = SchedulerSettings(urls=("https://h:10259",), ca_file=Path("/nonesuch"))
    with pytest.raises(SettingsError, match=r"watch\.scheduler\.ca_file: /nonesuch cannot be used: No such file"):
        schedulers(LiveSettings(scheduler=section), access(), NEVER, of_nodes, AsyncExitStack())


@pytest.mark.parametrize(
    "url",
    [
        "http://h:10259",
        "https://h",
        "https://user:password@h:10259",
        "https://h:10259/metrics?x=1",
        "https://h:10259/other",
        "https://h..i:10259",
        f"https://{'h' * 64}:10259",
        "https://h:10259\n",
        "https://ü:10259",
        "https://h:0",
        "https://h:65536",
        "https://[abc]:10259",
        "https://[::::]:10259",
    ],
)
async def test_a_url_that_could_send_the_token_elsewhere_or_in_clear_is_refused(url: str) -> None:
    with pytest.raises(pydantic.ValidationError, match="each is https://HOST:PORT"):
        SchedulerSettings(urls=(url,))


@pytest.mark.parametrize("host", ["10.0.0.1:10259", "kube-scheduler.example:10259", "[fd00::1]:10259"])
async def test_a_host_is_a_name_or_an_address(host: str) -> None:
    (scheduler,) = schedulers(
        LiveSettings(scheduler=SchedulerSettings(urls=(f"https://{host}/metrics",))),
        access(),
        NEVER,
        of_nodes,
        AsyncExitStack(),
    )
    assert scheduler.host == host


async def test_validate_asks_for_the_permission_and_asks_each(authority: Authority, tmp_path: Path) -> None:
    async with FakeApiServer().running() as server, a_scheduler(authority) as scheduler:
        server.script[REVIEWS] = [Answer(b'{"status": {"allowed": false}}', 201)]
        gone = f"{HOST}:{free_port()}"
        section = SchedulerSettings(urls=(scheduler.url, f"https://{gone}"), ca_file=authority.ca_file)
        watch = LiveSettings(kubeconfig=kubeconfig(tmp_path, server.url), resources=("nodes",), scheduler=section)
        permissions = [each async for each in check_cluster(watch)]
        found = [each async for each in check_schedulers(watch)]
    note = "not allowed: the scheduler's cache is unknown"
    assert Checked("cluster: get /metrics", "", note, resource="/metrics") in permissions
    specs = [request.body["spec"] for request in server.requests]
    assert {"nonResourceAttributes": {"verb": "get", "path": "/metrics"}} in specs
    assert [(each.what, each.problem) for each in found] == [
        (f"scheduler {HOST}:{scheduler.port}", ""),
        (f"scheduler {gone}", "connection refused"),
    ]
