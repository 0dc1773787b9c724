"""Appends the result of an attack: `python -m faults.report` makes the document from these lines."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

RESULTS: Final = os.environ.get("LEADSMAN_FAULTS_RESULTS")
"""File to which results are appended, a JSON object a line."""


class Result(msgspec.Struct, tag="result", kw_only=True):
    """The result of an attack on the pipeline, whose tables were compared."""

    fault: str
    times: int
    fault_seconds: float
    acknowledged: int
    """Observations that Kafka has."""
    rows: int
    """In all tables, equal to those of a replay without a broker."""
    caught_up_seconds: float
    """Time from the end of the fault until everything was stored."""
    peak_mib: int
    at: str = ""


class Watched(msgspec.Struct, tag="watched", kw_only=True):
    """The result of an attack between a watcher and the API server."""

    fault: str
    fault_seconds: float
    requests: int
    """Requests of all streams while it lasted."""
    told_after_seconds: float
    """Time from its beginning until it was visible."""
    caught_up_seconds: float
    """Time from its end until everything that exists was seen."""
    objects: int
    """Objects seen that equal those of the API server."""
    at: str = ""


class Tried(msgspec.Struct, tag="tried", kw_only=True):
    """The result of any other attack."""

    fault: str
    outcome: str
    at: str = ""


Noted: TypeAlias = Result | Watched | Tried


def note(result: Noted) -> None:
    """Append it, where results are wanted."""
    result.at = datetime.now(UTC).isoformat(timespec="seconds")
    if RESULTS:
        with Path(RESULTS).open("ab") as results:
            results.write(msgspec.json.encode(result) + b"\n")
