"""Secrets leave a live source's objects before anything else sees them. Pure.

What is taken away is nothing that a rule reads: the types of `ingest.model.objects` have none of it.
"""

import re
from typing import Any, Final

import msgspec

from common.scrub import REDACTED, scrub
from ingest.model.objects import EventAnnotations, NodeAnnotations, PodAnnotations
from ingest.model.observation import UNDECODABLE, Observation

_DROPPED_LISTS: Final = frozenset({"command", "args", "httpHeaders", "managedFields"})
"""Commands, also of probes and hooks, and the headers that a probe sends."""
_DROPPED_MAPS: Final = frozenset({"volumeAttributes", "options", "staticPodURLHeader"})
"""What a volume's driver is given, and the headers with which a kubelet asks for static pods."""
_KEPT_ANNOTATIONS: Final = frozenset(
    field.encode_name
    for kept in (PodAnnotations, NodeAnnotations, EventAnnotations)
    for field in msgspec.structs.fields(kept)
)
_TOPOLOGY_ANNOTATION: Final = re.compile(r"([a-z0-9-]+\.)*(koordinator\.sh|crane\.io|node\.k8s\.io)/")
"""Of a NodeResourceTopology: written by node agents about CPUs and memory (domain-reference A5)."""
_UNTOUCHED: Final = frozenset(
    {"stats/summary", "metrics", "cpu_manager_state", "memory_manager_state", "cpu_topology", "podresources"}
)
"""Numbers and names; a checkpoint's checksum is over its very bytes (A1)."""

_PLACES: Final = re.compile(
    r'("value"\s*:\s*")(?:[^"\\]|\\.)*'
    r'|("(?:command|args|httpHeaders|annotations|volumeAttributes|options)"\s*:\s*)'
    r'[\[{](?:"(?:[^"\\]|\\.)*"?|[^\]}"])*[\]}]?'
    r"|(^[ \t]*(?:- )?value:[ \t]*)[^\r\n]+",
    re.MULTILINE | re.DOTALL,
)
"""Where secrets stand in a piece of JSON or YAML: the value of a variable, commands, headers, annotations."""


def redact(observation: Observation) -> Observation:
    """The same observation without environments, commands, foreign annotations, managed fields and credentials.

    Everything else is kept as it was received. An object that is no JSON becomes an observation of type ERROR.
    """
    if observation.resource in _UNTOUCHED and observation.type != "ERROR":
        return observation
    try:
        cleaned = _clean(msgspec.json.decode(observation.object))
    except UNDECODABLE:
        error = {"error": f"{observation.resource}: an object cannot be read"}
        return msgspec.structs.replace(observation, type="ERROR", object=msgspec.Raw(msgspec.json.encode(error)))
    return msgspec.structs.replace(observation, object=msgspec.Raw(msgspec.json.encode(cleaned)))


def without_secrets(raw: bytes) -> bytes:
    """What a dead letter keeps of bytes that were received: they themselves where nothing has to be taken away.

    From what is no JSON, everything goes that stands where a secret can stand.
    """
    try:
        document = msgspec.json.decode(raw)
        cleaned = _clean(document)
    except UNDECODABLE:
        return _clean_fragment(raw)
    return raw if cleaned == document else msgspec.json.encode(cleaned)


def _clean_fragment(raw: bytes) -> bytes:
    text = raw.decode(errors="surrogateescape")
    return _PLACES.sub(_emptied, scrub(text)).encode(errors="surrogateescape")


def _emptied(found: re.Match[str]) -> str:
    return f"{found[1] or found[2] or found[3]}{REDACTED}"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return scrub(value)
    if isinstance(value, list):
        return [_clean(each) for each in value]
    if isinstance(value, dict):
        return {
            name: _CLEANERS.get(name, _clean)(each) for name, each in value.items() if not _is_dropped(name, each)
        }
    return value


def _is_dropped(name: str, value: Any) -> bool:
    """By name and shape: a label of one of these names is text, and stays."""
    return (isinstance(value, list) and name in _DROPPED_LISTS) or (isinstance(value, dict) and name in _DROPPED_MAPS)


def _clean_env(value: Any) -> Any:
    """Names of variables stay, and where their values come from."""
    if not isinstance(value, list):
        return _clean(value)
    return [
        {name: _clean(part) for name, part in each.items() if name != "value"} if isinstance(each, dict) else REDACTED
        for each in value
    ]


def _clean_annotations(value: Any) -> Any:
    if not isinstance(value, dict):
        return None
    return {name: _clean(text) for name, text in value.items() if _is_kept(name)}


def _is_kept(annotation: str) -> bool:
    return annotation in _KEPT_ANNOTATIONS or _TOPOLOGY_ANNOTATION.match(annotation) is not None


def _clean_terminated(value: Any) -> Any:
    """A container's termination message is its own output, or the end of its log."""
    if not isinstance(value, dict):
        return _clean(value)
    return {name: _clean(part) for name, part in value.items() if name != "message"}


_CLEANERS: Final = {"env": _clean_env, "annotations": _clean_annotations, "terminated": _clean_terminated}
