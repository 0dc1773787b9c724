"""How often CPU quotas held pods back, as the agent reads it (rules: cpu-contention)."""

from typing import Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.records import CpuThrottlingRecord, PodThrottling, Record
from ingest.resources.resource import NodeResource, node_of


class _Throttling(msgspec.Struct, frozen=True):
    cpu_throttling: list[PodThrottling]


def _records(observation: Observation, throttling: _Throttling) -> list[Record]:
    node, pods = node_of(observation), throttling.cpu_throttling
    return [CpuThrottlingRecord(ts=observation.ts, cluster=observation.cluster, node=node, pods=pods)]


CPU_THROTTLING: Final = NodeResource(
    name="cpu_throttling",
    decode=msgspec.json.Decoder(_Throttling).decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "cpu_throttling" in fields,
    origin="agent",
)
