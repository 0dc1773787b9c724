"""Converts an observation to its records: decodes the kept fields, and assigns it to a log. Pure."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec
from msgspec.structs import asdict, replace

from common.errors import BadRecord
from common.scrub import scrub
from common.text import plain
from ingest.model.observation import UNDECODABLE, Change, Observation
from ingest.model.records import HeartbeatRecord, InventoryRecord, Record, SourceErrorRecord
from ingest.model.reports import AGENT, Report
from ingest.model.summary import Summary
from ingest.resources.resource import seen
from ingest.resources.stats_summary import STATS_SUMMARY
from ingest.resources.table import BY_NAME


class _Inventory(msgspec.Struct, frozen=True, rename="camel"):
    keys: tuple[str, ...]
    after: str = ""
    until: str = ""
    of_logs: bool = False


class _Bookmark(msgspec.Struct, frozen=True):
    anew: bool = False
    since: datetime | None = None


_error: Final = msgspec.json.Decoder(Report).decode
_inventory: Final = msgspec.json.Decoder(_Inventory).decode
_bookmark: Final = msgspec.json.Decoder(_Bookmark).decode


def normalize(observation: Observation, decoded: Any = None, *, strict: bool = False) -> list[Record]:
    """Return the records of an observation, at most one for each log; `decoded` is its object, if it was decoded
    before. With `strict`, texts that no component is known to write are withheld. Raises BadRecord if the object does
    not fit its resource's schema.
    """
    if make := _OF_STREAMS.get(observation.type):
        return [_understood(observation, make)]
    resource = BY_NAME.get(observation.resource)
    if resource is None:
        raise BadRecord("unknown_resource", f"unknown resource {observation.resource!r}")
    if decoded is None:
        decoded = _understood(observation, lambda seen: resource.decode(seen.object))
    return resource.records(observation, resource.strict(decoded) if strict else decoded)


def normalize_with_warning(
    observation: Observation, decoded: Any = None, *, strict: bool = False
) -> tuple[list[Record], BadRecord | None]:
    """Return the records of `normalize`, and a BadRecord about impossible statistics that were left out."""
    if decoded is None and observation.resource == STATS_SUMMARY.name and observation.type == "SNAPSHOT":
        decoded = _understood(observation, lambda seen: STATS_SUMMARY.decode(seen.object))
    records = normalize(observation, decoded, strict=strict)
    if not isinstance(decoded, Summary) or not decoded.impossible:
        return records, None
    reason = f"{observation.resource}: impossible statistics were left out: {decoded.impossible}"
    return records, BadRecord("wrong_value", plain(reason))


def _understood(observation: Observation, decode: Callable[[Observation], Any]) -> Any:
    try:
        return decode(observation)
    except UNDECODABLE as error:
        raise BadRecord(*_why(observation.resource, error)) from None


def _why(resource: str, error: Exception) -> tuple[str, str]:
    if isinstance(error, msgspec.ValidationError):
        return "wrong_type", f"{resource}: {error}"
    if isinstance(error, UnicodeDecodeError):
        return "not_utf8", f"{resource}: the text is not UTF-8"
    if isinstance(error, RecursionError):
        return "too_deep", f"{resource}: nested too deep"
    return "not_json", f"{resource}: {error}"


def _source_error(observation: Observation) -> Record:
    reported = _error(observation.object)
    fields = asdict(replace(reported, error=scrub(reported.error)))
    return SourceErrorRecord(**seen(observation), node=observation.node, resource=observation.resource, **fields)


def _complete_list(observation: Observation) -> Record:
    listed = asdict(_inventory(observation.object))
    return InventoryRecord(**seen(observation), node=observation.node, resource=observation.resource, **listed)


def _sign_of_life(observation: Observation) -> Record:
    resource, fields = AGENT if observation.node else observation.resource, asdict(_bookmark(observation.object))
    return HeartbeatRecord(**seen(observation), resource=resource, target=observation.node, **fields)


_OF_STREAMS: Final[Mapping[Change, Callable[[Observation], Record]]] = {
    "ERROR": _source_error,
    "INVENTORY": _complete_list,
    "BOOKMARK": _sign_of_life,
}
"""Types of observations about a stream, not about an object of its resource."""
