"""The kubelet's checkpoints of CPUs and memory, kept as their very text: a checksum is over it
(rules: cpu-checkpoint).
"""

from typing import Final

from ingest.model.observation import Observation
from ingest.model.records import CpuManagerRecord, MemoryManagerRecord, Record
from ingest.resources.decoding import text
from ingest.resources.resource import NodeResource, node_of


def _cpu_manager(observation: Observation, checkpoint: str) -> list[Record]:
    node = node_of(observation)
    return [CpuManagerRecord(ts=observation.ts, cluster=observation.cluster, node=node, checkpoint=checkpoint)]


def _memory_manager(observation: Observation, checkpoint: str) -> list[Record]:
    node = node_of(observation)
    return [MemoryManagerRecord(ts=observation.ts, cluster=observation.cluster, node=node, checkpoint=checkpoint)]


CPU_MANAGER_STATE: Final = NodeResource(
    name="cpu_manager_state",
    decode=text,
    records=_cpu_manager,
    secrets=False,
    fields=lambda fields: "policyName" in fields and "machineState" not in fields,
    file="var/lib/kubelet/cpu_manager_state",
)
MEMORY_MANAGER_STATE: Final = NodeResource(
    name="memory_manager_state",
    decode=text,
    records=_memory_manager,
    secrets=False,
    fields=lambda fields: "policyName" in fields and "machineState" in fields,
    file="var/lib/kubelet/memory_manager_state",
)
