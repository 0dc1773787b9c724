"""State that a delivering process leaves to the next one, in the metadata of a commit. Pure."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Final, Self

import msgspec

MOST: Final = 200
"""Alerts that are remembered: Kafka takes 4,096 bytes of metadata."""


class Remembered(msgspec.Struct, frozen=True, omit_defaults=True):
    judged_seconds: int = 0
    """Since 1970: what had no news then for too long was delivered as unknown."""
    parked: list[str] = []
    """Fingerprints of alerts that the receiver has not taken."""
    withheld: list[str] = []
    """Fingerprints of alerts that it was not sent because they were silenced."""

    more: bool = False
    """More are withheld than are named: any alert that fires may be one of them."""

    @classmethod
    def of(
        cls, judged_at: datetime, parked: Collection[str], withheld: Collection[str] = (), *, more: bool = False
    ) -> Self:
        kept = sorted(parked)[:MOST]
        named = sorted(withheld)[: MOST - len(kept)]
        return cls(int(judged_at.timestamp()), kept, named, more or len(named) < len(withheld))

    @classmethod
    def parse(cls, metadata: str) -> Self:
        """Nothing if it is of an older version, or of nobody."""
        try:
            return msgspec.json.decode(metadata, type=cls)
        except msgspec.MsgspecError:
            return cls()

    @property
    def judged_at(self) -> datetime:
        return datetime.fromtimestamp(self.judged_seconds, UTC)

    def metadata(self) -> str:
        return msgspec.json.encode(self).decode()
