"""Defines everything that differs between resources of the capture format."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, cast

import msgspec

from common.errors import BadRecord
from ingest.model.observation import Observation, Origin
from ingest.model.records import ObjectChange, Record

T = TypeVar("T")
Fields: TypeAlias = Mapping[str, msgspec.Raw]
"""An object's fields by name."""


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Name and version of an object of the API."""

    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class _Identified(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def uid(self) -> str: ...
    @property
    def resource_version(self) -> str: ...


class Object(Protocol):
    """The kept fields of an object of the API."""

    @property
    def metadata(self) -> _Identified: ...


Kept = TypeVar("Kept", bound=Object)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource(Generic[T]):
    name: str
    """Name in a capture."""
    decode: Callable[[bytes | msgspec.Raw], T]
    """Decodes the kept fields of an object, without credentials. Raises UNDECODABLE."""
    records: Callable[[Observation, T], list[Record]]
    """Returns at most one record of each type for each log. Raises BadRecord for input that makes no sense."""
    strict: Callable[[T], T] = lambda thing: thing
    """Keeps only known texts of an object (rules: known-messages)."""
    reads: Callable[[Any], Any] = lambda thing: thing
    """Keeps the fields of an object's JSON for a capture: at least those that `decode` reads."""
    secrets: bool = True
    """True if an object can contain secrets, so that it is redacted before it is written anywhere."""
    annotations: Callable[[str], bool] = lambda _: False
    """Tells whether an annotation stays when an object is redacted."""
    word: str = ""
    """Its word in the names of files; by default the last word of its name."""

    @property
    def file_name(self) -> str:
        """Return a pattern for names of files with it: `stats-summary`, `stats.summary` or `summary`."""
        *before, last = self.name.split("/")
        return "".join(f"(?:{part}[._-])?" for part in before) + last

    def is_named(self, file: str) -> bool:
        """Tell whether a file's name contains this resource's word."""
        return (self.word or self.name.rpartition("/")[2]) in file


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiResource(Resource[Kept]):
    """Objects of the API, which are listed and watched."""

    kinds: Mapping[str, str]
    """Kinds of its objects, each with a pattern of their apiVersion."""
    paths: tuple[str, ...]
    """Paths on the API server; the first existing one is used."""
    compared: Callable[[Kept], bytes]
    """Returns the fields whose change is news, as JSON that decodes again if deletions are news."""
    log: Callable[[Kept], str] | None = None
    """Returns the node whose log has an object, empty for the cluster's log. None if lists do not reconcile logs."""
    bookmarks: bool = True
    """True if its watch gets bookmarks about once a minute (rules: list-and-watch)."""
    deletion_is_news: bool = True
    """False for Events, for which DELETED only means that they expired."""
    optional: bool = False
    """True if a cluster may lack it: a custom resource, or one that only some versions have."""
    without: str = ""
    """Consequence if it is refused; empty if a refusal is a problem, or if few clusters have the resource."""
    namespaced: bool = False
    """True if its objects have namespaces, and can be listed in one of them."""

    def served_at(self, namespace: str) -> list[str]:
        """Return its paths: in one namespace, or for an empty one in all."""
        if not namespace:
            return [*self.paths]
        parts = [path.rpartition("/") for path in self.paths]
        return [f"{version}/namespaces/{namespace}/{plural}" for version, _, plural in parts]

    def served_as(self, namespace: str) -> dict[tuple[str, str], str]:
        """Return the API group, empty for the core's, and the plural for its permissions, each once, with the first
        path.
        """
        served: dict[tuple[str, str], str] = {}
        for at, path in zip(self.served_at(namespace), self.paths, strict=True):
            parts = path.split("/")
            served.setdefault((parts[2] if parts[1] == "apis" else "", parts[-1]), at)
        return served


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeResource(Resource[T]):
    """A kubelet's answer, or a file on its node."""

    fields: Callable[[Fields], bool]
    """Tells whether an object with these fields is one, because a dump shows nothing else."""
    origin: Origin = "kubelet"
    """Origin of one in a dump."""
    node: Callable[[Fields], str] = lambda _: ""
    """Returns its node, if the object names that itself."""
    sampled: bool = False
    """True if it is sampled at regular intervals and has its own time."""
    dated: bool = False
    """True if it has its own time, without regular intervals."""
    timeless: bool = False
    """True if it has no time, and applies to the whole dump."""
    file: str = ""
    """Path of the node's JSON file below the root, which the agent reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeletResource(NodeResource[T]):
    """A request to a kubelet, at the path that is the resource's name."""

    seconds: float
    """Seconds between two answers."""
    permission: str
    """Permission for `get` that a kubelet requires at its own port (rules: kubelet-access)."""
    without: str
    """Consequence if it is forbidden."""
    read: Callable[[bytes], bytes] = lambda body: body
    """Builds the object from an answer."""
    started_at: Callable[[bytes], bytes] = lambda _: b""
    """Returns the start time of the kubelet's process from an answer, if it has it."""
    after_restart: bool = False
    """True if it is requested at once after a restart or a failure."""
    after_change: bool = False
    """True if it is requested at once after the node's pods changed."""


class _Seen(TypedDict):
    ts: datetime
    cluster: str


def seen(observation: Observation) -> _Seen:
    """Return the fields that every record of an observation has."""
    return {"ts": observation.ts, "cluster": observation.cluster}


def as_record(record: type[Record]) -> Callable[[Observation, msgspec.Struct], list[Record]]:
    """Return a function that makes a record about a node from an answer that has its fields."""
    return lambda observation, answer: [
        record(**seen(observation), node=node_of(observation), **msgspec.structs.asdict(answer))
    ]


def on_cluster(_: Object) -> str:
    """Return the cluster's log for every object."""
    return ""


def change_of(observation: Observation) -> ObjectChange:
    """Return the change of the object; an object of a snapshot exists."""
    return "ADDED" if observation.type == "SNAPSHOT" else cast("ObjectChange", observation.type)


def node_of(observation: Observation) -> str:
    """Return the node that was asked. Raises BadRecord if the observation lacks it."""
    if not observation.node:
        raise BadRecord("no_node", f"{observation.resource}: the observation does not say which node was asked")
    return observation.node
