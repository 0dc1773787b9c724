"""The CPUs of a machine, as the agent reads them from its sysfs."""

from typing import Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.records import Cpu, CpuTopologyRecord, Record
from ingest.resources.resource import NodeResource, node_of


class _Topology(msgspec.Struct, frozen=True):
    cpus: list[Cpu]
    distances: dict[int, dict[int, int]] = {}
    caches: list[str] = []


def _records(observation: Observation, topology: _Topology) -> list[Record]:
    node = node_of(observation)
    return [
        CpuTopologyRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=node,
            cpus=topology.cpus,
            distances=topology.distances,
            caches=topology.caches,
        )
    ]


CPU_TOPOLOGY: Final = NodeResource(
    name="cpu_topology",
    decode=msgspec.json.Decoder(_Topology).decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "cpus" in fields,
    timeless=True,
    origin="agent",
)
