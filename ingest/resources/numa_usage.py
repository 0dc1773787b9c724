"""Use of each NUMA node, as the agent reads it (rules: numa-usage)."""

from typing import Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.records import NumaNodeUsage, NumaPodMemory, NumaUsageRecord, Record
from ingest.resources.resource import NodeResource, node_of


class _Usage(msgspec.Struct, frozen=True):
    numa_usage: list[NumaNodeUsage]
    pods: list[NumaPodMemory] = []


def _records(observation: Observation, usage: _Usage) -> list[Record]:
    return [
        NumaUsageRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=node_of(observation),
            nodes=usage.numa_usage,
            pods=usage.pods,
        )
    ]


NUMA_USAGE: Final = NodeResource(
    name="numa_usage",
    decode=msgspec.json.Decoder(_Usage).decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "numa_usage" in fields,
    origin="agent",
)
