"""Types that the kept objects of the API share."""

from datetime import UTC, datetime
from typing import Final, TypeAlias

import msgspec

from ingest.model.numbers import Int64

UNKNOWN_NAME: Final = "(unknown)"
"""Placeholder for a node or a namespace that a text lacks; no real one can have this name."""

Quantity: TypeAlias = str | Int64 | float
"""A resource quantity as the API prints it ("100m", "2Gi"), or a number in a manifest (2)."""
ResourceList: TypeAlias = dict[str, Quantity]


def in_utc(time: datetime | None) -> datetime | None:
    """Return a time with its zone; a time that a person or an exporter wrote without a zone is in UTC."""
    return time.replace(tzinfo=UTC) if time is not None and time.tzinfo is None else time


class KeptObject(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base class of all kept objects."""


class Resources(KeptObject, frozen=True):
    requests: ResourceList | None = None
    limits: ResourceList | None = None


class Condition(KeptObject, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
