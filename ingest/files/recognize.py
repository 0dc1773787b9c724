"""Which observation an object of a dump is."""

import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ingest.files.documents import FIELDS, Fields, Found, text_of
from ingest.model.observation import UNDECODABLE, Change, Origin


class Thing(NamedTuple):
    """An object by the names of contract 1."""

    source: Origin
    resource: str
    type: Change
    raw: bytes
    node: str = ""
    """Whose kubelet answered, where the object tells."""
    identity: tuple[str, ...] = ()
    """Of an object of the API: its versions have it in common. Empty for what a kubelet answered."""
    version: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _SummaryNode(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


_METADATA: Final = msgspec.json.Decoder(_Metadata)
_SUMMARY_NODE: Final = msgspec.json.Decoder(_SummaryNode)
_WATCH_TYPES: Final[dict[str, Change]] = {"ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED"}
_API: Final = (
    ("Node", re.compile(r"v1"), "nodes"),
    ("Pod", re.compile(r"v1"), "pods"),
    ("Event", re.compile(r"v1|events\.k8s\.io/\w+"), "events"),
    ("NodeResourceTopology", re.compile(r"topology\.(?:node\.k8s|crane)\.io/\w+"), "noderesourcetopologies"),
)
_NODE_IN_NAME: Final = re.compile(
    r"(?P<node>[a-z0-9][a-z0-9.-]*?)\."
    r"(?:stats[._-]summary|summary|configz|metrics|cpu_manager_state|memory_manager_state|cpu_topology)(?:\.\w+)*"
)


def recognize(found: Found) -> Thing | None:
    """Tell what an object of a dump is; None where it is none of the resources of contract 1."""
    change = _WATCH_TYPES.get(text_of(found.fields, "type"))
    if change and "object" in found.fields:
        return _watched(found, change)
    if resource := _api_resource(found):
        return _api_object("list", resource, "ADDED", found)
    if resource := _kubelet_resource(found.fields):
        node = _node_of_summary(found.fields["node"]) if resource == "stats/summary" else ""
        source: Origin = "agent" if resource == "cpu_topology" else "kubelet"
        return Thing(source, resource, "SNAPSHOT", found.raw, node)
    return None


def node_in_path(path: Path) -> str:
    """Tell the node from the name of a file, `<node>.stats-summary.json`, or a folder, `nodes/<node>/configz.json`.

    Empty where neither has it.
    """
    match = _NODE_IN_NAME.fullmatch(path.name)
    if match is not None and match["node"] != "stats":
        return match["node"]
    return path.parent.name if path.parent.parent.name == "nodes" else ""


def _watched(found: Found, change: Change) -> Thing | None:
    raw = bytes(found.fields["object"])
    try:
        fields = FIELDS.decode(raw)
    except UNDECODABLE:
        return None
    inner = found._replace(
        raw=raw, fields=fields, kind=text_of(fields, "kind"), api_version=text_of(fields, "apiVersion")
    )
    resource = _api_resource(inner)
    return _api_object("watch", resource, change, inner) if resource else None


def _api_resource(found: Found) -> str:
    for kind, api_version, resource in _API:
        if found.kind == kind and api_version.fullmatch(found.api_version or "v1"):
            return resource
    return ""


def _api_object(source: Origin, resource: str, change: Change, found: Found) -> Thing:
    try:
        metadata = _METADATA.decode(found.fields["metadata"])
    except (KeyError, UnicodeDecodeError, msgspec.DecodeError):
        # what is wrong with it is found, and told, when it becomes a record
        return Thing(source, resource, change, found.raw)
    identity = (resource, metadata.namespace, metadata.name, metadata.uid)
    return Thing(source, resource, change, found.raw, identity=identity, version=metadata.resource_version)


def _kubelet_resource(fields: Fields) -> str:
    if "kubeletconfig" in fields:
        return "configz"
    if "policyName" in fields:
        return "memory_manager_state" if "machineState" in fields else "cpu_manager_state"
    if "node" in fields and "pods" in fields:
        return "stats/summary"
    return "cpu_topology" if "cpus" in fields else ""


def _node_of_summary(node: msgspec.Raw) -> str:
    try:
        return _SUMMARY_NODE.decode(node).node_name
    except (UnicodeDecodeError, msgspec.DecodeError):
        return ""
