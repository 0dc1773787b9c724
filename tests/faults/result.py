"""What came of an attack: lines of the file that `python -m faults.report` makes the document of."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

RESULTS: Final = os.environ.get("LEADSMAN_FAULTS_RESULTS")
"""Where results are appended, a JSON object a line."""


class Result(msgspec.Struct, tag="result", kw_only=True):
    """Of an attack on the pipeline, whose tables were compared."""

    fault: str
    times: int
    fault_seconds: float
    acknowledged: int
    """Observations that Kafka has."""
    rows: int
    """In all tables, equal to those of a replay without a broker."""
    caught_up_seconds: float
    """From the end of the fault until everything was stored."""
    peak_mib: int
    at: str = ""


class Watched(msgspec.Struct, tag="watched", kw_only=True):
    """Of an attack on what lies between a watcher and the API server."""

    fault: str
    fault_seconds: float
    requests: int
    """Of all streams, while it lasted."""
    told_after_seconds: float
    """From its beginning until it was visible."""
    caught_up_seconds: float
    """From its end until everything that exists was seen."""
    objects: int
    """That were seen, equal to those that the API server has."""
    at: str = ""


class Tried(msgspec.Struct, tag="tried", kw_only=True):
    """Of anything else."""

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
