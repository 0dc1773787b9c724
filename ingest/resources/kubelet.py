"""A kubelet's settings, as `/configz` returns them, and its kept metrics (rules: kubelet-metrics)."""

import math
import re
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.machine import Metric
from ingest.model.objects.node import KubeletConfiguration
from ingest.model.observation import Observation
from ingest.model.records import MetricsRecord, Record, SettingsRecord
from ingest.resources.decoding import kept
from ingest.resources.resource import KubeletResource, as_record, node_of, seen
from ingest.resources.scheduler_cache import is_about_a_cache


class _Configz(msgspec.Struct, frozen=True):
    config: KubeletConfiguration = msgspec.field(name="kubeletconfig")
    intended_by: str = msgspec.field(default="", name="intendedBy")


CONFIGZ: Final = KubeletResource(
    name="configz",
    decode=kept(_Configz),
    records=as_record(SettingsRecord),
    fields=lambda fields: "kubeletconfig" in fields,
    timeless=True,
    seconds=600.0,
    permission="nodes/configz",
    without="eviction thresholds are assumed",
    after_restart=True,
)


KEPT: Final = re.compile(
    r"kubelet_(?:cpu_manager|memory_manager|topology_manager|container_aligned|resource_manager|evictions|eviction_stats"
    r"|preemptions|image_garbage_collected|admission_rejections)"
)
"""Metrics about eviction, image GC and NUMA. Recordings keep all of these; analytics read three of them today."""
LONGEST: Final = 4096
"""Maximum number of characters of a line, ten times those of any kept one, because the parser's time is quadratic in
the length of a label.
"""
_KEPT_LINE: Final = re.compile(rb"\n(%b[^\n]*)" % KEPT.pattern.encode())
_STARTED_AT: Final = re.compile(rb"\nprocess_start_time_seconds (\S+)")
"""Both start with a line break, because a search for a text's start is much faster than for `^`."""


class _Text(msgspec.Struct, frozen=True):
    text: str


_decode: Final = msgspec.json.Decoder(_Text).decode


def parse_metrics(text: str) -> list[Metric]:
    """Parse the kept metrics of a Prometheus exposition; raises BadRecord for other text, or for a number that is not
    finite.
    """
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415  # dumps have no metrics

    kept = [line for line in text.splitlines() if KEPT.match(line)]
    if any(len(line) > LONGEST for line in kept):
        raise BadRecord("too_long", f"metrics: a line of more than {LONGEST} characters")
    try:
        metrics = [
            Metric(sample.name, dict(sample.labels), float(sample.value))
            for family in text_string_to_metric_families("\n".join(kept) + "\n")
            for sample in family.samples
        ]
    except (ValueError, IndexError, KeyError) as error:
        raise BadRecord("wrong_type", f"metrics: not a Prometheus exposition: {error}") from None
    if odd := next((each for each in metrics if not math.isfinite(each.value)), None):
        raise BadRecord("wrong_value", f"metrics: {odd.name} is {odd.value}")
    return metrics


def _measured(observation: Observation, text: str) -> list[Record]:
    node = node_of(observation)
    return [MetricsRecord(**seen(observation), node=node, metrics=parse_metrics(text))]


def _kept_lines(body: bytes) -> bytes:
    lines = b"".join(line + b"\n" for line in _KEPT_LINE.findall(b"\n" + body))
    return msgspec.json.encode({"text": lines.decode(errors="replace")})


def _started_at(body: bytes) -> bytes:
    found = _STARTED_AT.search(b"\n" + body)
    return found[1] if found else b""


METRICS: Final = KubeletResource(
    name="metrics",
    decode=lambda data: _decode(data).text,
    records=_measured,
    secrets=False,
    fields=lambda fields: fields.keys() == {"text"} and not is_about_a_cache(bytes(fields["text"])),
    seconds=60.0,  # an answer has 160 KB, takes as long to read as the statistics, and changes with the pods
    permission="nodes/metrics",
    without="exclusive CPUs by NUMA node are unknown where no agent runs, and evictions are not counted by kubelets",
    read=_kept_lines,
    started_at=_started_at,
    after_restart=True,
    after_change=True,
)
