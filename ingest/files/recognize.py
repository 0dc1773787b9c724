"""Identifies the observation in an object of a dump."""

import re
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import xxhash

from ingest.files.documents import ABOUT, FIELDS, Found, fields_of, kind_by_fields, text_of
from ingest.files.exporters import event_in, is_exported, with_uid
from ingest.files.yaml_documents import yaml_parts
from ingest.model.objects.base import UNKNOWN_NAME
from ingest.model.objects.event import Event
from ingest.model.observation import Change, Origin, if_decodable
from ingest.resources.kubelet import CONFIGZ
from ingest.resources.nodes import NODE_LEASES, is_of_a_node
from ingest.resources.scheduler_cache import SCHEDULER_CACHE, is_about_a_cache
from ingest.resources.scheduler_log import SCHEDULER_LOG, is_an_attempt
from ingest.resources.table import OF_NODES, WATCHED


class Thing(NamedTuple):
    """An object of a dump, with the source, resource and type that a capture gives it."""

    source: Origin
    resource: str
    type: Change
    raw: bytes
    node: str = ""
    """The node whose kubelet answered; empty if the object does not name it."""
    identity: tuple[str, ...] = ()
    """Identifies an API object across all its versions; empty for anything else."""
    version: str = ""
    has_own_time: bool = False
    """True if its newest time is its own, not the dump's."""
    is_of_all_nodes: bool = False
    """True if it applies to each node without its own answer."""
    is_flattened: bool = False
    """True if an exporter left out the UID of an Event's object, which another file of the dump may have."""


class _Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str | None = None
    containers: list[msgspec.Raw] = []


class _Status(msgspec.Struct, frozen=True):
    start_time: str | None = msgspec.field(default=None, name="startTime")
    host_ip: str | None = msgspec.field(default=None, name="hostIP")


_STATUS: Final = msgspec.json.Decoder(_Status)
_SPEC: Final = msgspec.json.Decoder(_Spec)
_ENFORCED: Final = "enforceNodeAllocatable"
"""The default stands for a field that a file lacks; in a kubelet's answer, a missing field has no value."""


_OF_SETTINGS: Final = frozenset({"syncFrequency", "fileCheckFrequency", "nodeStatusUpdateFrequency", "cgroupDriver"})
"""Fields of every kubelet's answer, which `jq .kubeletconfig` keeps."""


class _Data(msgspec.Struct, frozen=True):
    kubelet: str = ""


_KUBEADM: Final = re.compile(r"kubelet-config(?:-1\.\d{1,3})?")
"""Name of the ConfigMap in which kubeadm stores kubelet settings; before 1.24 the version is part of it."""
_DATA: Final = msgspec.json.Decoder(_Data)
_EVENT: Final = msgspec.json.Decoder(Event)
_METADATA: Final = msgspec.json.Decoder(_Metadata)
_WATCH_TYPES: Final[dict[str, Change]] = {"ADDED": "ADDED", "MODIFIED": "MODIFIED", "DELETED": "DELETED"}
_KINDS: Final = {
    kind: (re.compile(versions), resource.name) for resource in WATCHED for kind, versions in resource.kinds.items()
}
_NODE_IN_NAME: Final = re.compile(
    rf"(?P<node>[a-z0-9][a-z0-9.-]*?)\.(?:{'|'.join(each.file_name for each in OF_NODES)})(?:\.\w+)*"
)


def recognize(found: Found) -> Thing | None:
    """Return an object of a dump by the names of a capture; None if it is not a resource of a capture."""
    change = _WATCH_TYPES.get(text_of(found.fields, "type"))
    if change and "object" in found.fields:
        return _watched(found, change)
    is_flattened = False
    if not found.kind and is_exported(found.fields) and (event := event_in(found.fields)) is not None:
        lacks_uid = with_uid(event)
        raw = msgspec.json.encode(event)
        whole = if_decodable(_EVENT.decode, raw)
        is_flattened = bool(lacks_uid and whole and whole.reason)
        found = found._replace(raw=raw, fields=FIELDS.decode(raw))
    found = _bound(_named(found))
    if name := _api_resource(found):
        if is_manifest(found):
            return None
        return _api_object("list", name, "ADDED", found)._replace(is_flattened=is_flattened)
    if is_about_a_cache(bytes(found.fields.get("text", b""))):
        return Thing("list", SCHEDULER_CACHE.name, "SNAPSHOT", found.raw)
    if found.kind == "Lease" and is_of_a_node(found.fields.get("metadata", msgspec.Raw())):
        return Thing("list", NODE_LEASES.name, "SNAPSHOT", found.raw)
    return _intended(found) if found.kind == "ConfigMap" else _by_fields(found)


def _by_fields(found: Found) -> Thing | None:
    if not found.kind and is_an_attempt(found.fields):
        return Thing("list", SCHEDULER_LOG.name, "SNAPSHOT", found.raw, has_own_time=True)
    for resource in OF_NODES:
        if resource.fields(found.fields):
            node = resource.node(found.fields)
            has_own_time = resource.sampled or resource.dated
            return Thing(resource.origin, resource.name, "SNAPSHOT", found.raw, node, has_own_time=has_own_time)
    return None


def _bound(found: Found) -> Found:
    """Return a pod whose node was cut off with an unknown one; without a node, the pod would seem to wait for one.

    Only a kubelet sets when a pod started, and on which host.
    """
    spec = if_decodable(FIELDS.decode, found.fields.get("spec", b"{}")) if found.kind == "Pod" else None
    if spec is None or "nodeName" in spec:
        return found
    status = if_decodable(_STATUS.decode, found.fields.get("status", b""))
    if status is None or not (status.start_time or status.host_ip):
        return found
    placed = msgspec.json.encode({**spec, "nodeName": UNKNOWN_NAME})
    fields = {**found.fields, "spec": msgspec.Raw(placed)}
    return found._replace(raw=msgspec.json.encode(fields), fields=fields)


def _named(found: Found) -> Found:
    """Return an object with its kind: exporters omit the kind of an Event, and a kubelet's file has bare settings."""
    if not found.kind and (kind := kind_by_fields(found.fields)):
        return found._replace(kind=kind, api_version="v1")
    if not found.kind and "reason" in found.fields and not ABOUT.isdisjoint(found.fields):
        named = next((found.fields[name] for name in sorted(ABOUT) if name in found.fields), msgspec.Raw())
        about = if_decodable(_METADATA.decode, named)
        own = {"name": _exported_name(found), "namespace": about.namespace if about else ""}
        metadata = found.fields.get("metadata") or msgspec.Raw(msgspec.json.encode(own))
        message = found.fields.get("eventMessage")
        more = {"metadata": metadata} | (
            {"message": message} if message is not None and "message" not in found.fields else {}
        )
        fields = found.fields | more
        return found._replace(kind="Event", api_version="v1", fields=fields, raw=msgspec.json.encode(fields))
    if found.kind == "KubeletConfiguration" and found.api_version.startswith("kubelet.config.k8s.io/"):
        config = {_ENFORCED: ["pods"]} | msgspec.json.decode(found.raw)
        fields = {"kubeletconfig": msgspec.Raw(msgspec.json.encode(config))}
        return found._replace(kind="", fields=fields, raw=msgspec.json.encode(fields))
    if not found.kind and len(_OF_SETTINGS & found.fields.keys()) > 1:
        fields = {"kubeletconfig": msgspec.Raw(found.raw)}
        return found._replace(fields=fields, raw=msgspec.json.encode(fields))
    return found


def _intended(found: Found) -> Thing | None:
    """Return the settings that kubeadm gives to joining kubelets; None for any other ConfigMap."""
    metadata, data = _metadata(found), if_decodable(_DATA.decode, found.fields.get("data", b""))
    if not (metadata and data and data.kubelet):
        return None
    if metadata.namespace != "kube-system" or not _KUBEADM.fullmatch(metadata.name):
        return None
    settings = next((each for each in yaml_parts(data.kubelet.encode()) if isinstance(each, Found)), None)
    if settings is None or settings.kind != "KubeletConfiguration":
        return None
    fields = _named(settings).fields | {
        "intendedBy": msgspec.Raw(msgspec.json.encode(f"kube-system/{metadata.name}"))
    }
    return Thing("kubelet", CONFIGZ.name, "SNAPSHOT", msgspec.json.encode(fields), is_of_all_nodes=True)


def _metadata(found: Found) -> _Metadata | None:
    return if_decodable(_METADATA.decode, found.fields.get("metadata", b""))


def _exported_name(found: Found) -> str:
    """Return a name for an Event whose exporter kept none; the same Event always gets the same name."""
    fields = (
        found.fields.get(name, msgspec.Raw()) for name in ("involvedObject", "regarding", "reason", "firstTimestamp")
    )
    return f"exported-{xxhash.xxh3_64_hexdigest(b''.join(map(bytes, fields)))}"


def node_in_path(path: Path) -> str:
    """Return the node named by a file, `<node>.stats-summary.json`, or a folder, `nodes/<node>/configz.json`, or
    sonobuoy's `hosts/<node>/configz.json`; empty if neither names one.
    """
    match = _NODE_IN_NAME.fullmatch(path.name)
    if match is not None and match["node"] != "stats":
        return match["node"]
    return path.parent.name if path.parent.parent.name in {"nodes", "hosts"} else ""


def kind_in_path(path: Path) -> str:
    """Return the kind of the objects in a file of a support bundle, whose arrays lack it:

    `cluster-resources/pods/NAMESPACE.json`, `cluster-resources/nodes.json`. Empty for any other file.
    """
    folders = path.parts[:-1]
    if "cluster-resources" not in folders[-2:]:
        return ""
    named = path.stem if folders[-1] == "cluster-resources" else folders[-1]
    return next((next(iter(each.kinds)) for each in WATCHED if each.name == named), "")


def _watched(found: Found, change: Change) -> Thing | None:
    raw = bytes(found.fields["object"])
    if (fields := fields_of(raw)) is None:
        return None
    inner = found._replace(
        raw=raw, fields=fields, kind=text_of(fields, "kind"), api_version=text_of(fields, "apiVersion")
    )
    resource = _api_resource(inner)
    return _api_object("watch", resource, change, inner) if resource else None


def _api_resource(found: Found) -> str:
    versions, name = _KINDS.get(found.kind, (None, ""))
    return name if versions is not None and versions.fullmatch(found.api_version or "v1") else ""


def is_manifest(found: Found) -> bool:
    """Tell whether a pod is only a manifest, without fields that an API server or a kubelet sets."""
    if found.kind != "Pod" or bytes(found.fields.get("status", b"")) not in {b"", b"{}", b"null"}:
        return False
    metadata, spec = _metadata(found), if_decodable(_SPEC.decode, found.fields.get("spec", b""))
    if not (metadata and spec and spec.containers):
        return False
    return not (metadata.uid or metadata.resource_version or spec.node_name)


def _api_object(source: Origin, resource: str, change: Change, found: Found) -> Thing:
    if (metadata := _metadata(found)) is None:  # errors in it are reported when it becomes a record
        return Thing(source, resource, change, found.raw)
    identity = (resource, metadata.namespace, metadata.name, metadata.uid)
    return Thing(source, resource, change, found.raw, identity=identity, version=metadata.resource_version)
