"""NodeResourceTopologies (v1alpha1, v1alpha2, crane's) and Volcano's, kept as JSON, because only their rule
understands them.
"""

import re
from typing import Any, Final, NamedTuple

import msgspec

from ingest.messages.modes import STRICT
from ingest.model.observation import Observation
from ingest.model.records import NodeResourceTopologyRecord, Record
from ingest.resources.cleaning import Cleaner
from ingest.resources.resource import ApiResource, Metadata, change_of, seen

_ANNOTATION: Final = re.compile(r"([a-z0-9-]+\.)*(koordinator\.sh|crane\.io|node\.k8s\.io)/")
"""Annotations in which node agents report CPUs and memory (rules: koordinator)."""


_ATTRIBUTES: Final = ("topologyManagerPolicy", "topologyManagerScope")


class _Topology(NamedTuple):
    metadata: Metadata
    document: dict[str, Any]


_decode: Final = msgspec.json.Decoder(dict[str, Any]).decode
_encode: Final = msgspec.json.Encoder().encode


def _is_kept(annotation: str) -> bool:
    return _ANNOTATION.match(annotation) is not None


_clean: Final = Cleaner(_is_kept, STRICT)


def _read(document: Any) -> Any:
    """Keep only the two attributes that are kubelet settings, because an agent may write anything in others."""
    if not isinstance(document, dict):
        return document
    read = dict(document)
    if isinstance(attributes := read.get("attributes"), list):
        read["attributes"] = [
            each for each in attributes if isinstance(each, dict) and each.get("name") in _ATTRIBUTES
        ]
    if isinstance(zones := read.get("zones"), list):
        read["zones"] = [
            {name: part for name, part in each.items() if name != "attributes"} if isinstance(each, dict) else each
            for each in zones
        ]
    return read


def _decoded(data: bytes | msgspec.Raw) -> _Topology:
    document = _read(_clean(_decode(data)))
    return _Topology(msgspec.convert(document, _Identified).metadata, document)


class _Identified(msgspec.Struct, frozen=True):
    metadata: Metadata


def _records(observation: Observation, topology: _Topology) -> list[Record]:
    return [
        NodeResourceTopologyRecord(
            **seen(observation),
            node=topology.metadata.name,
            change=change_of(observation),
            object=_encode(topology.document).decode(),
        )
    ]


def _compared(topology: _Topology) -> bytes:
    document = topology.document
    unversioned = {name: value for name, value in document["metadata"].items() if name != "resourceVersion"}
    return msgspec.json.encode({**document, "metadata": unversioned}, order="sorted")


NODE_RESOURCE_TOPOLOGIES: Final = ApiResource(
    name="noderesourcetopologies",
    decode=_decoded,
    records=_records,
    reads=_read,
    annotations=_is_kept,
    word="topolog",
    kinds={
        "NodeResourceTopology": r"topology\.(?:node\.k8s|crane)\.io/\w+",
        "Numatopology": r"nodeinfo\.volcano\.sh/\w+",
    },
    paths=(
        "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies",
        "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies",
        "/apis/topology.crane.io/v1alpha1/noderesourcetopologies",
        "/apis/nodeinfo.volcano.sh/v1alpha1/numatopologies",
    ),
    compared=_compared,
    log=lambda topology: topology.metadata.name,
    optional=True,
)
