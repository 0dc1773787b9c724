"""From an observation to its records: decode what is kept, and on which log it belongs. Pure."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from common.errors import BadRecord
from common.scrub import scrub
from ingest.model.observation import UNDECODABLE, Observation
from ingest.model.records import Record, SourceErrorRecord
from ingest.resources.table import BY_NAME


class _Error(msgspec.Struct, frozen=True):
    error: str


_error: Final = msgspec.json.Decoder(_Error).decode


def normalize(observation: Observation, decoded: Any = None) -> list[Record]:
    """The records of an observation, at most one for each log; `decoded` is its object, where it was decoded before.

    Raises BadRecord where the object does not fit its resource's schema.
    """
    if observation.type == "ERROR":
        return [_understood(observation, _source_error)]
    resource = BY_NAME.get(observation.resource)
    if resource is None:
        raise BadRecord("unknown_resource", f"unknown resource {observation.resource!r}")
    if decoded is None:
        decoded = _understood(observation, lambda seen: resource.decode(seen.object))
    return resource.records(observation, decoded)


def _understood(observation: Observation, decode: Callable[[Observation], Any]) -> Any:
    try:
        return decode(observation)
    except UNDECODABLE as error:
        raise BadRecord(*_why(observation.resource, error)) from None


def _why(resource: str, error: Exception) -> tuple[str, str]:
    """Error type and reason of what msgspec raised."""
    if isinstance(error, msgspec.ValidationError):
        return "wrong_type", f"{resource}: {error}"
    if isinstance(error, UnicodeDecodeError):
        return "not_utf8", f"{resource}: the text is not UTF-8"
    if isinstance(error, RecursionError):
        return "too_deep", f"{resource}: nested too deep"
    return "not_json", f"{resource}: {error}"


def _source_error(observation: Observation) -> Record:
    return SourceErrorRecord(
        ts=observation.ts,
        cluster=observation.cluster,
        node=observation.node,
        resource=observation.resource,
        error=scrub(_error(observation.object).error),
    )
