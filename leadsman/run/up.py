"""Runs watch, work and land as one process tree on one machine."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, Final

import pydantic

from common.supervise import Part, Supervisor
from ingest.apiserver.leader import new_identity
from leadsman.run.settings import PREFIX, Settings

PORT: Final = f"{PREFIX}TELEMETRY__PORT"
PARTS: Final = ("land", "work", "watch")
"""Commands of `leadsman` that run as parts."""
ALERT: Final = "alert"
"""The part that also runs if receivers are configured."""


async def run_together(settings: Settings, lasting: frozenset[int], stop: asyncio.Event) -> None:
    """Run all parts until `stop`.

    Raises FilesUnusable at once, and PartFailedError if a part ends with a status of `lasting`.
    """
    settings.kafka.client_options()  # a restart fixes none of these; a file that breaks later may be repaired
    settings = with_identity(settings, new_identity())
    port = settings.telemetry.port
    parts = [
        Part(name, (sys.executable, "-P", "-m", "leadsman", name), {PORT: str(port + number if port else 0)})
        for number, name in enumerate((*PARTS, *([ALERT] if settings.alerts.to else ())), start=1)
    ]
    await Supervisor(parts, lasting=lasting, environment=environment_of(settings)).run(stop)


def with_identity(settings: Settings, identity: str) -> Settings:
    """Return the settings with an identity, so that a restarted watcher gets its Lease back at once."""
    watch = settings.live()
    election = watch.election.model_copy(update={"identity": watch.election.identity or identity})
    return settings.model_copy(update={"watch": watch.model_copy(update={"election": election})})


def environment_of(settings: Settings) -> dict[str, str]:
    """Return this process's environment with exactly these settings, because arguments would reveal passwords."""
    others = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    given = {name: value for name, value in settings if value is not None}
    return {**others, **{f"{PREFIX}{name.upper()}": _text(value) for name, value in given.items()}}


def _text(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else json.dumps(plain, default=_plain)


def _plain(value: Any) -> Any:
    match value:
        case pydantic.SecretStr():
            return value.get_secret_value()
        case pydantic.BaseModel():
            return {name: each for name, each in value if each is not None}
        case Path():
            return str(value.absolute())
        case _:
            return value
