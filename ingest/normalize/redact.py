"""Removes secrets from received observations before they reach captures and dead letters. Pure."""

import re
from typing import Any, Final

import msgspec

from common.errors import BadRecord
from common.scrub import REDACTED, scrub
from ingest.messages.modes import CREDENTIALS, STRICT
from ingest.model.observation import UNDECODABLE, Observation
from ingest.model.records import Record
from ingest.normalize.dead_letters import PAYLOAD_BYTES
from ingest.normalize.normalize import normalize_with_warning
from ingest.resources.cleaning import DROPPED, Cleaner
from ingest.resources.table import BY_NAME, TABLE


def _keeps(annotation: str) -> bool:
    return any(resource.annotations(annotation) for resource in TABLE)


_clean: Final = Cleaner(_keeps, CREDENTIALS)
_clean_strictly: Final = Cleaner(_keeps, STRICT)

_NO_OBJECTS: Final = frozenset({"BOOKMARK", "ERROR", "INVENTORY"})
_PLACES: Final = re.compile(
    r'("(?:value|message|note|path)"\s*:\s*"|"reason"\s*:\s*"(?=[^"]* ))(?:[^"\\]|\\.)*'
    rf'|("(?:annotations|{"|".join(sorted(DROPPED))})"\s*:\s*)'
    r'[\[{](?:"(?:[^"\\]|\\.)*"?|[^\]}"])*[\]}]?'
    r"|(^(?P<indent>[ \t]*)(?P<item>- )?(?:'|(?P<double>\"))?"
    r"(?:value|message|note|path|reason(?=['\"]?[ \t]*: *\S+ +\S)"
    rf"|(?P<whole>annotations|{'|'.join(sorted(DROPPED))}))['\"]?[ \t]*:"
    r"(?(double)(?(whole)(?![ \t]*[\[{])|(?![ \t]*[\[{\"])))[ \t]*)"
    r"(?:[^\r\n]|\r?\n(?=(?P=indent)[ \t]|[ \t]*(?:#|\r?\n))|(?(item)(?!)|(?(whole)\r?\n(?=(?P=indent)- )|(?!))))+",
    re.MULTILINE | re.DOTALL,
)
"""Places that can contain secrets, in JSON or YAML: values of variables, messages, paths, annotations, and dropped
fields.
"""


def redact(observation: Observation, *, strict: bool = False) -> Observation:
    """Return the observation with only the fields that are read, and without credentials; with `strict` also without
    texts that no known component writes. An object that is not JSON becomes an observation of type ERROR.
    """
    resource = BY_NAME.get(observation.resource)
    if resource is not None and not resource.secrets and observation.type != "ERROR":
        return observation
    reads = resource.reads if resource is not None and observation.type not in _NO_OBJECTS else None
    try:
        document = msgspec.json.decode(observation.object)
        cleaned = (_clean_strictly if strict else _clean)(reads(document) if reads else document)
    except UNDECODABLE:
        error = {"error": f"{observation.resource}: an object cannot be read"}
        return msgspec.structs.replace(observation, type="ERROR", object=msgspec.Raw(msgspec.json.encode(error)))
    return msgspec.structs.replace(observation, object=msgspec.Raw(msgspec.json.encode(cleaned)))


def without_secrets(raw: bytes, *, strict: bool = False) -> bytes:
    """Return the bytes for a dead letter, unchanged if nothing must be removed.

    If they are not JSON, everything at a place that can contain secrets is removed.
    """
    try:
        document = msgspec.json.decode(raw)
        cleaned = (_clean_strictly if strict else _clean)(document)
    except UNDECODABLE:
        text = raw.decode(errors="surrogateescape")
        emptied = _PLACES.sub(lambda found: f"{found[1] or found[2] or found[3]}{REDACTED}", scrub(text))
        return emptied.encode(errors="surrogateescape")
    return raw if cleaned == document else msgspec.json.encode(cleaned)


def kept(raw: bytes, *, strict: bool = False) -> bytes:
    """Return the start of the received bytes, without secrets."""
    return without_secrets(raw, strict=strict)[:PAYLOAD_BYTES]


class Received:
    """An observation, with its decoded object if receiving it needed that."""

    __slots__ = ("_decoded", "_observation")

    def __init__(self, observation: Observation, decoded: Any = None) -> None:
        self._observation = observation
        self._decoded = decoded

    @property
    def resource(self) -> str:
        return self._observation.resource

    def normalize_with_warning(self, *, strict: bool = False) -> tuple[list[Record], BadRecord | None]:
        """Return the records, and a BadRecord about omitted statistics, without decoding again."""
        return normalize_with_warning(self._observation, self._decoded, strict=strict)

    def redacted(self, *, strict: bool = False) -> Observation:
        """Redact it for a capture or a dead letter, which takes many times as long as `normalize_with_warning`."""
        return redact(self._observation, strict=strict)

    def decoded_of(self, redacted: Observation) -> Any:
        """Return the decoded object if nothing was removed from it; else None."""
        return self._decoded if redacted is self._observation else None
