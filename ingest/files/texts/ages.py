"""Reads the ages that kubectl prints, and derives times from them.

An age counts back from when the text was printed: a given time, else the newest time in the text or later, else
before the file was last written. So an Event of pasted text has bounds, and seldom a lower and an upper one.
"""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from ingest.model.observation import EARLIEST, LATEST, if_decodable

_CLOCK: Final = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [+-]\d{4} [A-Z+\-\d]{1,6}"
"""Go's form, which kubectl before 1.14 prints instead of an age while it watches Events."""
AGE: Final = rf"(?:(?:\d{{1,6}}[ydhms]){{1,4}}|<unknown>|{_CLOCK})"
UNKNOWN_AGE: Final = "<unknown>"
"""The age that kubectl before 1.19 prints for a scheduler's Event: it happened at any time before the text was
printed.
"""
_PARTS: Final = re.compile(r"(\d+)([ydhms])")
_SECONDS: Final = {"y": 365 * 86_400, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PRECISE: Final = ((600, 1), (8 * 3_600, 60), (8 * 86_400, 3_600))
"""Below the first number of seconds, an age is printed in units of the second; older ages are in days."""
_NEAR: Final = timedelta(hours=12)
"""A file's time later than this is ignored: the file was saved again, or copied."""
_LONGEST: Final = 100 * _SECONDS["y"]
_WITH_ZONE: Final = Annotated[datetime, msgspec.Meta(tz=True)]
_DATE: Final = re.compile(r"\w{3}, \d\d \w{3} [12]\d{3} \d\d:\d\d:\d\d [+-]\d{4}")


class PrintTime(NamedTuple):
    """The time at which a text was printed."""

    at: datetime
    bound: Literal["", "earliest", "latest"]
    """The kind of bound that `at` is; empty for a known time."""
    saved_at: datetime | None = None
    """When the file was last written, which is not before the text was printed."""


Times: TypeAlias = dict[str, Any]


def when(age: str, printed: PrintTime, *, is_last: bool = True) -> Times:
    """Return the time fields of an Event with that age; nothing for an impossible time."""
    if age == UNKNOWN_AGE:
        saved_at = printed.saved_at if printed.bound == "earliest" else None
        is_near = saved_at is not None and timedelta() < saved_at - printed.at < _NEAR
        latest = saved_at if saved_at is not None and is_near else printed.at
        return {"lastTimestamp": _text(printed.at), "latest": _text(latest)} if is_last else {}
    if re.fullmatch(_CLOCK, age):
        own = _own(age)
        return {"lastTimestamp" if is_last else "firstTimestamp": _text(own)} if own is not None else {}
    seconds, unit = _seconds(age)
    try:
        at = printed.at - timedelta(seconds=seconds)
        earliest = at - timedelta(seconds=unit)
    except OverflowError:
        return {}
    if not EARLIEST <= earliest < LATEST:
        return {}
    if not is_last:
        return {"firstTimestamp": _text(at)}
    bounds = {
        "earliest": None if printed.bound == "latest" else earliest,
        "latest": None if printed.bound == "earliest" else at,
    }
    return {"lastTimestamp": _text(at), **{name: _text(each) for name, each in bounds.items() if each is not None}}


def _seconds(age: str) -> tuple[int, int]:
    """Return an age as printed, which rounds down, and its unit."""
    seconds = sum(int(number) * _SECONDS[unit] for number, unit in _PARTS.findall(age))
    return seconds, next((unit for below, unit in _PRECISE if seconds < below), 86_400)


def span(age: str) -> tuple[timedelta, timedelta] | None:
    """Return the shortest time that is printed as an age, and one that no longer is; None without an age."""
    seconds, unit = _seconds(age)
    return (timedelta(seconds=seconds), timedelta(seconds=seconds + unit)) if 0 < seconds < _LONGEST else None


def _own(text: str) -> datetime | None:
    """Return the time in Go's form, without fractions of a second."""
    day, clock, zone, _ = text.split(" ")
    try:
        at = datetime.fromisoformat(f"{day}T{clock.partition('.')[0]}{zone}").astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return at if EARLIEST <= at < LATEST else None


def date(text: str) -> datetime | None:
    """Return a time as `kubectl describe` prints it; None for other text, and for a time that was never set."""
    found = _DATE.match(text.strip())
    try:
        at = parsedate_to_datetime(found[0]).astimezone(UTC) if found else None
    except (ValueError, TypeError, OverflowError):
        return None
    return at if at is not None and EARLIEST <= at < LATEST else None


def time_of(given: object) -> datetime | None:
    """Return a time in a field of an object; None for anything else, and for a time that was never set."""
    at = if_decodable(lambda found: msgspec.convert(found, _WITH_ZONE), given)
    return at if at is not None and EARLIEST <= at < LATEST else None


def utc(given: object) -> str:
    """Return a time in a field of an object as Kubernetes writes it; empty for anything else."""
    return _text(at.astimezone(UTC)) if (at := time_of(given)) else ""


def with_zone(at: datetime) -> datetime:
    """Return a time with a zone: UTC, if it has none."""
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _text(at: datetime) -> str:
    return at.isoformat().replace("+00:00", "Z")
