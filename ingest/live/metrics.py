"""Metrics of the live sources. Labels are of bounded vocabularies."""

from typing import Final

from common.telemetry import Figure

HAPPENINGS: Final = Figure("source_happenings", "counter", "What happened at the sources", ("stream", "what"))
STREAM_AGE: Final = Figure(
    "stream_age_seconds", "gauge", "Since a stream was heard; of the kubelets the oldest", ("stream",)
)
DEGRADED: Final = Figure("stream_degraded", "gauge", "1 for a stream that cannot be read now", ("stream",))
KUBELETS: Final = Figure("kubelets", "gauge", "Kubelets that are asked, and those that are silent", ("state",))
