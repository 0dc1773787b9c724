"""Serves Prometheus metrics, liveness and readiness of a running process.

`/healthz` answers while the event loop runs, `/readyz` lists problems, and `/metrics` has the metrics. A component
registers its metrics while it runs. They are read only when `/metrics` is scraped.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from typing import Final, Literal, NamedTuple, TypeAlias

import structlog
from aiohttp import web
from prometheus_client import REGISTRY, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from common.door import listening_at
from common.errors import WrongUsage
from common.loopback import is_loopback, is_own_name
from common.scrub import scrub
from common.tasks import detached
from common.text import plain

UNAVAILABLE: Final = 503
REFRESH_SECONDS: Final = 5.0
"""Prometheus' default timeout is 10 s."""
MOST_CONNECTIONS: Final = 64
"""Connections from Prometheus, kubelets' probes, and people."""
REASONS_AT_MOST: Final = 50
"""Number of streams that are listed; the rest are only counted, for example a thousand silent kubelets."""
COST: Final = 10
"""A scrape is followed by a pause of COST times its duration, at most REFRESH_SECONDS, however often clients ask."""
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
STAGE_SECONDS: Final = Histogram(
    "leadsman_stage_seconds",
    "How long a stage took: publish (an observation, until Kafka has it), fold and land (a batch), states (a write)",
    ["stage"],
    buckets=(0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300),
)
log = structlog.get_logger(__name__)

Values: TypeAlias = Mapping[tuple[str, ...], float]
"""A metric's values, by the values of its labels."""
Reasons: TypeAlias = Callable[[], Iterable[str]]
Refresh: TypeAlias = Callable[[], Awaitable[None]]
"""Updates the metrics before a scrape."""


class Figure(NamedTuple):
    """A metric that is read from its owner at each scrape. Its name lacks `leadsman_` and `_total`."""

    name: str
    kind: Literal["counter", "gauge"]
    help: str
    labels: tuple[str, ...] = ()


class _Component(NamedTuple):
    figures: Mapping[Figure, Callable[[], Values]]
    reasons: Reasons | None
    refresh: Refresh | None


def why_not() -> list[str]:
    """Return the reasons why this process is not ready, without secrets and safe for any reader."""
    asked = [each.reasons for each in _REGISTERED.components if each.reasons is not None]
    if not asked:
        return ["it is starting"]
    found = [each for reasons in asked for each in reasons()]
    shown, more = [plain(scrub(each)) for each in found[:REASONS_AT_MOST]], len(found) - REASONS_AT_MOST
    return [*shown, f"and {more} more"] if more > 0 else shown


class _Registered(Collector):
    """Collects the metrics of running components, and sums a metric that two of them share."""

    def __init__(self) -> None:
        self.components: list[_Component] = []

    def collect(self) -> Iterator[Metric]:
        sums: dict[Figure, dict[tuple[str, ...], float]] = {}
        for figure, read in [item for each in self.components for item in each.figures.items()]:
            into = sums.setdefault(figure, {})
            for hostile, value in read().items():
                labels = tuple(map(plain, hostile))
                into[labels] = into.get(labels, 0.0) + value
        for figure, values in sums.items():
            yield _family(figure, values)
        ready = GaugeMetricFamily("leadsman_ready", "1 if /readyz answers 200")
        ready.add_metric([], float(not why_not()))
        yield ready


_REGISTERED: Final = _Registered()
REGISTRY.register(_REGISTERED)


@contextmanager
def registered(
    figures: Mapping[Figure, Callable[[], Values]], reasons: Reasons | None = None, refresh: Refresh | None = None
) -> Iterator[None]:
    """Register a running component's metrics, and `reasons`, which returns why it is not ready.

    A part counts as starting until one of its components has registered reasons.
    """
    component = _Component(figures, reasons, refresh)
    _REGISTERED.components.append(component)
    try:
        yield
    finally:
        _REGISTERED.components.remove(component)


@asynccontextmanager
async def served(host: str, port: int, part: str) -> AsyncIterator[None]:
    """Serve on this port while the part runs; 0 opens no port. Raises WrongUsage."""
    if not port:
        yield
        return
    async with AsyncExitStack() as stack:
        try:
            app = web.Application(middlewares=[_by_own_name] if is_loopback(host) else [])
            app.add_routes(routes(part))
            await stack.enter_async_context(listening_at(app, (host, port), (), MOST_CONNECTIONS))
        except OSError as error:
            raise WrongUsage(
                f"telemetry.host and telemetry.port: {plain(host)}:{port} cannot be listened on: {error.strerror}"
            ) from None
        log.info("telemetry is served", part=part, host=host, port=port)
        yield


@web.middleware
async def _by_own_name(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Refuse a site that points its name to loopback, so that a browser here would let it read the metrics."""
    if is_own_name(request.headers.get("Host", "")):
        return await handler(request)
    return web.Response(status=421, text="Read this as localhost.\n")


async def refresh_metrics() -> None:
    """Update the metrics that are not read directly. One that takes too long keeps its last value."""
    for refresh in filter(None, [each.refresh for each in _REGISTERED.components]):
        with suppress(TimeoutError):
            await asyncio.wait_for(refresh(), REFRESH_SECONDS)


def figures() -> Sequence[Metric]:
    """Return Leadsman's counters and gauges that have a value, as they are now."""
    every = (each for each in REGISTRY.collect() if each.name.startswith("leadsman_"))
    return [each for each in every if each.type in {"counter", "gauge"} and each.samples]


class _Scrapes:
    """Generates the text of `/metrics`, one at a time. Clients that ask meanwhile share the next text."""

    def __init__(self) -> None:
        self._next: asyncio.Task[bytes] | None = None
        self._making = asyncio.Lock()
        self._rested_at = 0.0

    async def text(self) -> bytes:
        """Return the figures as they are after this call."""
        if self._next is None:
            self._next = detached(self._made())
        return await asyncio.shield(self._next)  # a client that disconnects does not cancel it for others

    async def _made(self) -> bytes:
        now = asyncio.get_running_loop().time
        async with self._making:
            await asyncio.sleep(self._rested_at - now())
            self._next = None
            await refresh_metrics()
            began = now()
            try:
                return generate_latest(REGISTRY)
            finally:
                self._rested_at = now() + min(REFRESH_SECONDS, COST * (now() - began))


def routes(part: str) -> list[web.RouteDef]:
    """Return the routes of the three addresses, for a part that serves other addresses as well."""
    scrapes = _Scrapes()

    async def healthz(_: web.Request) -> web.Response:
        return web.json_response({"part": part, "alive": True})

    async def readyz(_: web.Request) -> web.Response:
        reasons = why_not()
        answer = {"part": part, "ready": not reasons, "reasons": reasons}
        return web.json_response(answer, status=UNAVAILABLE if reasons else 200)

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=await scrapes.text(), headers={"Content-Type": CONTENT_TYPE})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)]


def _family(figure: Figure, values: Values) -> Metric:
    kind = CounterMetricFamily if figure.kind == "counter" else GaugeMetricFamily
    family: CounterMetricFamily | GaugeMetricFamily = kind(
        f"leadsman_{figure.name}", figure.help, labels=figure.labels
    )
    for labels, value in values.items():
        family.add_metric(list(labels), value)
    return family
