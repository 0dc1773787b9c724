"""The identity of an observation, so that the same one is not taken twice."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

import xxhash

from ingest.model.observation import Observation, Unreadable

_HOURS: Final = 4
_SECONDS_PER_HOUR: Final = 3600


def digest(item: Observation | Unreadable) -> int:
    """64 bits that identify an observation within its cluster."""
    if isinstance(item, Unreadable):
        return xxhash.xxh3_64_intdigest(item.raw, seed=1)
    envelope = f"{item.ts.isoformat()}\0{item.source}\0{item.resource}\0{item.type}\0{item.node}"
    return xxhash.xxh3_64_intdigest(memoryview(item.object), seed=xxhash.xxh3_64_intdigest(envelope.encode()))


def hour_of(ts: datetime | None) -> str:
    """The hour of event time that digests are kept by; empty for what has no time."""
    return str(int(ts.timestamp()) // _SECONDS_PER_HOUR) if ts else ""


class Digests:
    """Digests of what came already, by cluster and hour; `load` gives those of an hour that is not in memory."""

    def __init__(self, load: Callable[[str, str], Iterable[int]] = lambda _cluster, _hour: ()) -> None:
        self._load = load
        self._hours: OrderedDict[tuple[str, str], set[int]] = OrderedDict()

    def add(self, cluster: str, ts: datetime | None, value: int) -> bool:
        """Remember a digest; False where it was known already."""
        known = self.of(cluster, hour_of(ts))
        if value in known:
            return False
        known.add(value)
        return True

    def of(self, cluster: str, hour: str) -> set[int]:
        """All of an hour."""
        key = (cluster, hour)
        if key not in self._hours:
            self._hours[key] = set(self._load(cluster, hour))
        elif len(self._hours) > 1:
            self._hours.move_to_end(key)
        return self._hours[key]

    def forget_past(self) -> None:
        """Keep in memory only the hours that were needed last."""
        while len(self._hours) > _HOURS:
            self._hours.popitem(last=False)
