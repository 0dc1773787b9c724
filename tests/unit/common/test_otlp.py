"""Figures that are pushed by OTLP are those of `/metrics`; nothing is pushed unless it is asked for."""

import asyncio
from collections.abc import Callable

import pytest
from aiohttp import web
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from prometheus_client import REGISTRY, Counter

from common.otlp import pushing
from common.settings import TelemetrySettings
from common.telemetry import Figure, Values, registered
from fakes.serving import serving

pytestmark = pytest.mark.asyncio
ROOM = Figure("eviction_room", "gauge", "Room above a threshold", ("node",))
TAKEN = Figure("things_taken", "counter", "Things that were taken")


async def test_the_figures_are_pushed_with_their_names_labels_and_kinds() -> None:
    bodies: list[bytes] = []
    both = asyncio.Event()

    async def take(request: web.Request) -> web.Response:
        assert request.path == "/v1/metrics"
        bodies.append(await request.read())
        if len(bodies) > 1:
            both.set()
        return web.Response()

    figures: dict[Figure, Callable[[], Values]] = {
        ROOM: lambda: {("n1",): 5.0, ("\u202en2",): -1.0},
        TAKEN: lambda: {(): 3.0},
        Figure("of_nothing", "gauge", "A figure without a value", ("node",)): dict,
    }
    of_a_module = Counter("leadsman_test_kept", "Things that were kept", ["kind"])
    of_a_module.labels(kind="node").inc(2)
    async with serving(take) as url:
        with registered(figures, list):
            async with pushing(f"{url}/v1/metrics", 0.01, "serve"), asyncio.timeout(30):
                await both.wait()
    REGISTRY.unregister(of_a_module)
    (resource,) = ExportMetricsServiceRequest.FromString(bodies[0]).resource_metrics
    assert {each.key: each.value.string_value for each in resource.resource.attributes}["leadsman.part"] == "serve"
    found = {each.name: each for each in resource.scope_metrics[0].metrics}
    points = {
        each.attributes[0].value.string_value: each.as_double
        for each in found["leadsman_eviction_room"].gauge.data_points
    }
    assert points == {"n1": 5.0, "\\u202en2": -1.0}
    taken = found["leadsman_things_taken_total"].sum
    assert (taken.is_monotonic, taken.data_points[0].as_double) == (True, 3.0)
    kept = found["leadsman_test_kept_total"].sum.data_points
    assert [each.as_double for each in kept] == [2.0], "a counter of a module, without the time at which it was made"
    assert "leadsman_of_nothing" not in found, "a metric without a point has no kind"
    assert "leadsman_stage_seconds" not in found
    assert all(name.startswith("leadsman_") for name in found)
    assert found["leadsman_ready"].gauge.data_points[0].as_double == 1.0


async def test_a_figure_that_cannot_be_read_once_is_pushed_later() -> None:
    took, tried = asyncio.Event(), 0

    async def take(_: web.Request) -> web.Response:
        took.set()
        return web.Response()

    def read() -> Values:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise ZeroDivisionError
        return {("n1",): 5.0}

    async with serving(take) as url:
        with registered({ROOM: read}, list):
            async with pushing(f"{url}/v1/metrics", 0.01, "serve"), asyncio.timeout(30):
                await took.wait()


async def test_nothing_is_pushed_by_default() -> None:
    assert TelemetrySettings().otlp_endpoint == ""
