"""From an observation to its records: decode what is kept, and say on which log it belongs. Pure."""

import math
import re
from collections.abc import Callable
from typing import Final, cast

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from common.errors import BadRecord
from common.scrub import scrub
from ingest.model.objects import Event, KubeletConfiguration, Node, Pod
from ingest.model.observation import Observation
from ingest.model.podresources import NodeResources
from ingest.model.records import (
    Cpu,
    CpuManagerRecord,
    CpuTopologyRecord,
    EventRecord,
    MemoryManagerRecord,
    Metric,
    MetricsRecord,
    NodeRecord,
    NodeResourceTopologyRecord,
    ObjectChange,
    PodPlacement,
    PodRecord,
    PodResourcesRecord,
    Record,
    SettingsRecord,
    SourceErrorRecord,
    SummaryRecord,
)
from ingest.normalize.redact import redact
from ingest.normalize.summary import decode_summary, node_sample, pod_columns

KEPT_METRICS: Final = re.compile(
    r"kubelet_(?:cpu_manager|memory_manager|topology_manager|container_aligned|resource_manager|evictions|eviction_stats"
    r"|preemptions|image_garbage_collected|admission_rejections)"
)
"""The kubelet's metrics that an analytic reads (A9)."""
LONGEST_METRIC: Final = 4096
"""Characters of a line; no kept one has a tenth of it, and the parser's time grows with the square of a label's."""


class _Configz(msgspec.Struct, frozen=True):
    kubeletconfig: KubeletConfiguration


class _Text(msgspec.Struct, frozen=True):
    text: str


class _Error(msgspec.Struct, frozen=True):
    error: str


class _Topology(msgspec.Struct, frozen=True):
    cpus: list[Cpu]


class _Named(msgspec.Struct, frozen=True):
    name: str


class _Metadata(msgspec.Struct, frozen=True):
    metadata: _Named


_node: Final = msgspec.json.Decoder(Node).decode
_pod: Final = msgspec.json.Decoder(Pod).decode
_event: Final = msgspec.json.Decoder(Event).decode
_configz: Final = msgspec.json.Decoder(_Configz).decode
_text: Final = msgspec.json.Decoder(_Text).decode
_error: Final = msgspec.json.Decoder(_Error).decode
_topology: Final = msgspec.json.Decoder(_Topology).decode
_node_resources: Final = msgspec.json.Decoder(NodeResources).decode
_metadata: Final = msgspec.json.Decoder(_Metadata).decode


def normalize(observation: Observation) -> list[Record]:
    """The records of an observation, at most one for each log.

    Raises BadRecord where the object is not what its resource says.
    """
    try:
        if observation.type == "ERROR":
            return [_source_error(observation)]
        return _BY_RESOURCE[observation.resource](observation)
    except KeyError:
        raise BadRecord("unknown_resource", f"unknown resource {observation.resource!r}") from None
    except msgspec.ValidationError as error:
        raise BadRecord("wrong_type", f"{observation.resource}: {error}") from None
    except msgspec.DecodeError as error:
        raise BadRecord("not_json", f"{observation.resource}: {error}") from None
    except UnicodeDecodeError:
        raise BadRecord("not_utf8", f"{observation.resource}: the text is not UTF-8") from None
    except RecursionError:
        raise BadRecord("too_deep", f"{observation.resource}: nested too deep") from None


def event_node(event: Event) -> str:
    """The node that an event concerns, or "" (F1): the node it is about, or whose kubelet reported it."""
    about = event.involved_object or event.regarding
    if about is not None and about.kind == "Node":
        return about.name
    source = event.source or event.deprecated_source
    if source is not None and source.host:
        return source.host
    if "kubelet" in (event.reporting_component, event.reporting_controller):
        return event.reporting_instance
    return ""


def _change(observation: Observation) -> ObjectChange:
    if observation.type == "SNAPSHOT":
        return "ADDED"
    return cast("ObjectChange", observation.type)


def _nodes(observation: Observation) -> list[Record]:
    node = _node(observation.object)
    change = _change(observation)
    return [
        NodeRecord(ts=observation.ts, cluster=observation.cluster, node=name, change=change, object=node)
        for name in (node.metadata.name, "")
    ]


def _pods(observation: Observation) -> list[Record]:
    pod = _pod(observation.object)
    change = _change(observation)
    target = pod.spec.node_name
    record = PodRecord(ts=observation.ts, cluster=observation.cluster, node=target, change=change, object=pod)
    if not target:
        return [record]
    scheduled = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    owner = next((o for o in pod.metadata.owner_references or () if o.controller), None)
    placement = PodPlacement(
        ts=observation.ts,
        cluster=observation.cluster,
        change=change,
        target=target,
        namespace=pod.metadata.namespace,
        pod=pod.metadata.name,
        uid=pod.metadata.uid,
        phase=pod.status.phase,
        created_at=pod.metadata.creation_timestamp,
        bound_at=scheduled.last_transition_time if scheduled else None,
        owner_kind=owner.kind if owner else "",
    )
    return [record, placement]


def _events(observation: Observation) -> list[Record]:
    event = _event(observation.object)
    message, note = scrub(event.message or ""), scrub(event.note or "")
    if (message, note) != (event.message or "", event.note or ""):
        event = msgspec.structs.replace(event, message=message, note=note)
    return [
        EventRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=event_node(event),
            change=_change(observation),
            object=event,
        )
    ]


def _of_node(observation: Observation) -> str:
    if not observation.node:
        raise BadRecord("no_node", f"{observation.resource}: the observation does not say which node was asked")
    return observation.node


def _summaries(observation: Observation) -> list[Record]:
    summary = decode_summary(observation.object)
    return [
        SummaryRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=observation.node or summary.node.node_name or _of_node(observation),
            sample=node_sample(summary.node),
            pods=pod_columns(summary.pods or []),
        )
    ]


def _settings(observation: Observation) -> list[Record]:
    config = _configz(observation.object).kubeletconfig
    return [SettingsRecord(ts=observation.ts, cluster=observation.cluster, node=_of_node(observation), config=config)]


def _metrics(observation: Observation) -> list[Record]:
    return [
        MetricsRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_of_node(observation),
            metrics=parse_metrics(_text(observation.object).text),
        )
    ]


def parse_metrics(text: str) -> list[Metric]:
    """The kept metrics of a Prometheus exposition; raises BadRecord where it is none, or one is no finite number."""
    kept = [line for line in text.splitlines() if KEPT_METRICS.match(line)]
    if any(len(line) > LONGEST_METRIC for line in kept):
        raise BadRecord("too_long", f"metrics: a line of more than {LONGEST_METRIC} characters")
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


def _cpu_manager(observation: Observation) -> list[Record]:
    return [
        CpuManagerRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_of_node(observation),
            checkpoint=bytes(observation.object).decode(),
        )
    ]


def _memory_manager(observation: Observation) -> list[Record]:
    return [
        MemoryManagerRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_of_node(observation),
            checkpoint=bytes(observation.object).decode(),
        )
    ]


def _cpu_topology(observation: Observation) -> list[Record]:
    return [
        CpuTopologyRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_of_node(observation),
            cpus=_topology(observation.object).cpus,
        )
    ]


def _podresources(observation: Observation) -> list[Record]:
    told = _node_resources(observation.object)
    return [
        PodResourcesRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_of_node(observation),
            pods=told.pods,
            allocatable=told.allocatable,
        )
    ]


def _noderesourcetopologies(observation: Observation) -> list[Record]:
    return [
        NodeResourceTopologyRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=_metadata(observation.object).metadata.name,
            change=_change(observation),
            object=bytes(redact(observation).object).decode(),
        )
    ]


def _source_error(observation: Observation) -> Record:
    return SourceErrorRecord(
        ts=observation.ts,
        cluster=observation.cluster,
        node=observation.node,
        resource=observation.resource,
        error=scrub(_error(observation.object).error),
    )


_BY_RESOURCE: Final[dict[str, Callable[[Observation], list[Record]]]] = {
    "nodes": _nodes,
    "pods": _pods,
    "events": _events,
    "noderesourcetopologies": _noderesourcetopologies,
    "stats/summary": _summaries,
    "configz": _settings,
    "metrics": _metrics,
    "cpu_manager_state": _cpu_manager,
    "memory_manager_state": _memory_manager,
    "cpu_topology": _cpu_topology,
    "podresources": _podresources,
}
