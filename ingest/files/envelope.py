"""Decodes and encodes the lines of a capture file (capture-format.md)."""

import re
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias, get_args

import msgspec

from common.text import plain
from ingest.files.lines import KEPT_BYTES
from ingest.model.observation import (
    EARLIEST,
    LATEST,
    UNDECODABLE,
    Change,
    Observation,
    Observed,
    Origin,
    Position,
    Unreadable,
    if_decodable,
)
from ingest.model.summary import Summary
from ingest.resources.stats_summary import STATS_SUMMARY
from ingest.resources.table import BY_NAME

ErrorType: TypeAlias = Literal[
    "not_json",
    "not_yaml",
    "not_utf8",
    "too_deep",  # JSON nested deeper than any Kubernetes object
    "too_long",  # a line of more than 16 MiB
    "missing_field",
    "wrong_type",  # of a field
    "wrong_value",  # a time without a zone or not in 1970 to 2199; an unknown source or type
    "unknown_resource",
    "cut_off",  # the end of a line, or of a compressed file, is missing
    "damaged",  # compressed data that cannot be unpacked further
    "bomb",  # compressed data that unpacks to a huge size without observations
]
ERROR_TYPES: Final[frozenset[str]] = frozenset(get_args(ErrorType))
"""The possible values of `Unreadable.error_type`."""

_DECODER: Final = msgspec.json.Decoder(Observation)
_TIME_DECODER: Final = msgspec.json.Decoder(datetime)
_STRING_DECODER: Final = msgspec.json.Decoder(str)
_TS: Final = re.compile(rb'"ts"\s*:\s*("[0-9Tt:.+Zz-]{20,40}")')
_CLUSTER: Final = re.compile(rb'"cluster"\s*:\s*("(?:[^"\\]|\\.){0,253}")')


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """Fixes the order of fields in a line. `Observation`, `_Line` and `_SUMMARY` must agree."""

    ts: str
    cluster: str
    source: Origin
    resource: str
    type: Change
    node: str = ""
    object: msgspec.Raw


_SUMMARY: Final = re.compile(
    rb'\{"ts":"[^"\\]*","cluster":"[^"\\]*","source":"[^"\\]*","resource":"stats/summary","type":"SNAPSHOT",'
    rb'(?:"node":"[^"\\]*",)?"object":(?=\{)'
)
"""Start of the line of a summary, as written by `encode_line`."""
_RAW_DECODER: Final = msgspec.json.Decoder(msgspec.Raw)
_ENCODER: Final = msgspec.json.Encoder()
_FIELDS_DECODER: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def decode_line(
    line: bytes, position: Position, *, summaries: bool = False, known: Summary | None = None
) -> Observed | Unreadable:
    """Decode one line of a capture. A line that is not an observation becomes an `Unreadable`, not an exception.

    With `summaries`, a summary is decoded together with its line, if the line has the form that `encode_line` writes.
    `known` is the already decoded summary of this line; used only with `summaries`.
    """
    decoded: Summary | None = None
    try:
        if not line.isascii():
            line.decode()
        if (
            summaries
            and (start := _SUMMARY.match(line))
            and line.endswith(b"}}")
            and (decoded := known or if_decodable(STATS_SUMMARY.decode, _rest(line, start.end())))
        ):
            envelope = _DECODER.decode(b"%bnull}" % start[0])
            observation = msgspec.structs.replace(envelope, object=_rest(line, start.end()))
        else:
            observation = _DECODER.decode(line)
    except UNDECODABLE as error:
        return unreadable(*explain(error, line), line, position)
    ts = observation.ts
    if observation.resource not in BY_NAME:
        reason = f'the resource "{plain(observation.resource, 80)}" is unknown'
        return unreadable("unknown_resource", reason, line, position)
    if ts.tzinfo is None:
        return unreadable("wrong_value", "the time has no zone - at `$.ts`", line, position)
    if not EARLIEST <= ts < LATEST:
        return unreadable("wrong_value", "the time is not in 1970 to 2199 - at `$.ts`", line, position)
    if ts.tzinfo is not UTC:
        observation = msgspec.structs.replace(observation, ts=ts.astimezone(UTC))
    return Observed(observation, position, line, decoded)


def _rest(line: bytes, start: int) -> msgspec.Raw:
    """Return the bytes from `start` to before the line's closing brace."""
    return msgspec.Raw(memoryview(line)[start:-1])


def explain(error: Exception, line: bytes) -> tuple[ErrorType, str]:
    """Return the error type and the reason for an exception of the types in UNDECODABLE."""
    if isinstance(error, RecursionError):
        return "too_deep", "the JSON is nested too deep"
    if isinstance(error, UnicodeDecodeError):
        return "not_utf8", "the text is not UTF-8"
    if isinstance(error, msgspec.ValidationError):
        try:
            _RAW_DECODER.decode(line)
        except (RecursionError, msgspec.DecodeError) as syntax_error:
            # a wrong type is reported before the rest of the line is read
            return explain(syntax_error, line)
        return _invalid(str(error)), plain(error)
    return "cut_off" if "truncated" in str(error) else "not_json", plain(error)


def unreadable(error_type: ErrorType, reason: str, raw: bytes, position: Position) -> Unreadable:
    """Return the dead letter for `raw`: its first 64 KiB, with the time and cluster if they can be found."""
    kept = raw[:KEPT_BYTES]
    cluster = _CLUSTER.search(kept)
    cluster_name = if_decodable(_STRING_DECODER.decode, cluster[1]) if cluster else None
    return Unreadable(position, error_type, reason, kept, _find_ts(kept), cluster_name or "")


def encode_line(observation: Observation) -> bytes:
    """Return the line of an observation with its line break; `ts` has microseconds and `Z`.

    It drops `metadata.managedFields`, and all whitespace between tokens of an object with a line break.
    """
    ts = observation.ts.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00")
    line = _Line(
        ts=f"{ts}Z",
        cluster=observation.cluster,
        source=observation.source,
        resource=observation.resource,
        type=observation.type,
        node=observation.node,
        object=_on_one_line(_without_managed_fields(observation.object)),
    )
    return _ENCODER.encode(line) + b"\n"


def _invalid(message: str) -> ErrorType:
    if "missing required field" in message:
        return "missing_field"
    return "wrong_value" if message.startswith("Invalid") else "wrong_type"


def _on_one_line(raw: msgspec.Raw) -> msgspec.Raw:
    """Return JSON on one line, because a kubelet may indent its answers."""
    data = bytes(raw)
    return msgspec.Raw(msgspec.json.format(data, indent=-1)) if b"\n" in data or b"\r" in data else raw


def _without_managed_fields(raw: msgspec.Raw) -> msgspec.Raw:
    data = bytes(raw)
    if b'"managedFields"' not in data:
        return raw
    try:
        fields = _FIELDS_DECODER.decode(data)
        metadata = _FIELDS_DECODER.decode(fields["metadata"])
    except (*UNDECODABLE, KeyError):
        return raw
    metadata.pop("managedFields", None)
    fields["metadata"] = msgspec.Raw(_ENCODER.encode(metadata))
    return msgspec.Raw(_ENCODER.encode(fields))


def _find_ts(raw: bytes) -> datetime | None:
    match = _TS.search(raw)
    ts = if_decodable(_TIME_DECODER.decode, match[1]) if match else None
    return ts.astimezone(UTC) if ts and ts.tzinfo and EARLIEST <= ts < LATEST else None
