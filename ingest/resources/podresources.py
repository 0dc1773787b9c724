"""The answer of the kubelet's podresources service to the agent (rules: podresources)."""

from typing import Final

import msgspec

from ingest.model.observation import Observation
from ingest.model.podresources import NodeResources
from ingest.model.records import PodResourcesRecord, Record
from ingest.resources.resource import NodeResource, node_of


def _records(observation: Observation, resources: NodeResources) -> list[Record]:
    return [
        PodResourcesRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            node=node_of(observation),
            pods=resources.pods,
            allocatable=resources.allocatable,
        )
    ]


PODRESOURCES: Final = NodeResource(
    name="podresources",
    decode=msgspec.json.Decoder(NodeResources).decode,
    records=_records,
    secrets=False,
    fields=lambda fields: "pods" in fields and fields.keys() <= {"pods", "allocatable"},
    origin="agent",
)
