"""An object that a live source received, including secrets; everything that leaves it is without them."""

from typing import Any

from common.errors import BadRecord
from ingest.model.observation import Change, Observation
from ingest.model.records import Record
from ingest.normalize.normalize import normalized
from ingest.normalize.redact import redact


class Received:
    """An observation and what was decoded of its object, where that was needed to receive it."""

    __slots__ = ("_decoded", "_observation")

    def __init__(self, observation: Observation, decoded: Any = None) -> None:
        self._observation = observation
        self._decoded = decoded

    @property
    def resource(self) -> str:
        return self._observation.resource

    @property
    def type(self) -> Change:
        return self._observation.type

    def records(self, *, strict: bool = False) -> list[Record]:
        """Return the records like `normalize`, without decoding again."""
        return self.normalized(strict=strict)[0]

    def normalized(self, *, strict: bool = False) -> tuple[list[Record], BadRecord | None]:
        """The same, with the complaint about statistics that were left out."""
        return normalized(self._observation, self._decoded, strict=strict)

    def redacted(self, *, strict: bool = False) -> Observation:
        """Redact it for a capture or a dead letter: many times the work of `records`."""
        return redact(self._observation, strict=strict)
