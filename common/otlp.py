"""Pushes the metrics of `/metrics` to an OpenTelemetry collector, by OTLP over HTTP. It is off by default."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Final

import structlog
from prometheus_client.core import Metric as Family

from common.errors import WrongUsage
from common.tasks import Tasks, in_thread
from common.telemetry import figures, refresh_metrics

try:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.sdk.metrics.export import (
        AggregationTemporality,
        Gauge,
        Metric,
        MetricExportResult,
        MetricsData,
        NumberDataPoint,
        ResourceMetrics,
        ScopeMetrics,
        Sum,
    )
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope
except ImportError:
    raise WrongUsage(
        "telemetry.otlp_endpoint needs the OpenTelemetry SDK: in a checkout, pipx install --force '.[otlp]'. "
        "Or leave it empty"
    ) from None

TIMEOUT_SECONDS: Final = 10.0
_BEGAN_NS: Final = time.time_ns()
log = structlog.get_logger(__name__)


@asynccontextmanager
async def pushing(endpoint: str, seconds: float, part: str) -> AsyncIterator[None]:
    """Push the metrics at this interval during the block, and once at its end.

    Headers are those of the variable OTEL_EXPORTER_OTLP_HEADERS. A collector that is down delays nothing: the next
    push has newer values.
    """
    logging.getLogger("opentelemetry").setLevel(logging.ERROR)  # the exporter would log a retry each second
    exporter = OTLPMetricExporter(endpoint=endpoint, timeout=TIMEOUT_SECONDS)
    resource = Resource.create({"service.name": "leadsman", "leadsman.part": part})

    async def push() -> None:
        try:
            await refresh_metrics()
            data = as_otlp(figures(), resource, time.time_ns())
        except Exception:  # a metric that cannot be read must not end the part
            log.exception("metrics could not be read", by="telemetry.otlp_endpoint")
            return
        if await in_thread(lambda: exporter.export(data)) is not MetricExportResult.SUCCESS:
            log.warning("the collector did not accept metrics", by="telemetry.otlp_endpoint")

    async def for_ever() -> None:
        while True:
            await asyncio.sleep(seconds)
            await push()

    try:
        async with Tasks() as spawn:
            spawn(for_ever())
            yield
            await push()
    finally:
        await in_thread(exporter.shutdown)


def as_otlp(families: Iterable[Family], resource: Resource, at_ns: int) -> MetricsData:
    """Return the metrics under their names of `/metrics`: a counter is a cumulative sum since this process began."""
    found = [
        Metric(
            name=f"{each.name}_total" if each.type == "counter" else each.name,
            description=each.documentation,
            unit="",
            data=Sum(_points(each, at_ns), AggregationTemporality.CUMULATIVE, is_monotonic=True)
            if each.type == "counter"
            else Gauge(_points(each, at_ns)),
        )
        for each in families
    ]
    scope = ScopeMetrics(InstrumentationScope("leadsman"), found, schema_url="")
    return MetricsData([ResourceMetrics(resource, [scope], schema_url="")])


def _points(family: Family, at_ns: int) -> list[NumberDataPoint]:
    found = (each for each in family.samples if not each.name.endswith("_created"))
    return [NumberDataPoint(each.labels, _BEGAN_NS, at_ns, each.value) for each in found]
