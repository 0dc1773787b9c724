"""What tells an observation from every other, so that the same one is not taken twice."""

from collections import OrderedDict
from datetime import datetime
from typing import Final

import xxhash

from ingest.model.observation import Observation, Observed, Unreadable

_HOURS: Final = 4
_SECONDS_PER_HOUR: Final = 3600


def digest(item: Observation | Unreadable) -> int:
    """64 bits that tell an observation from every other of its cluster."""
    if isinstance(item, Unreadable):
        return xxhash.xxh3_64_intdigest(item.raw, seed=1)
    envelope = f"{item.ts.isoformat()}\0{item.source}\0{item.resource}\0{item.type}\0{item.node}"
    return xxhash.xxh3_64_intdigest(memoryview(item.object), seed=xxhash.xxh3_64_intdigest(envelope.encode()))


class Repeated:
    """Knows what came already, within the last hours of event time: a capture may hold a line twice."""

    def __init__(self) -> None:
        self._hours: OrderedDict[tuple[str, int], set[int]] = OrderedDict()

    def __call__(self, item: Observed | Unreadable) -> bool:
        """Whether the item came before; it is remembered."""
        if isinstance(item, Unreadable):
            return self._known(item.cluster, item.ts, digest(item))
        observation = item.observation
        return self._known(observation.cluster, observation.ts, digest(observation))

    def _known(self, cluster: str, ts: datetime | None, value: int) -> bool:
        hour = (cluster, int(ts.timestamp()) // _SECONDS_PER_HOUR if ts else 0)
        if hour not in self._hours:
            self._hours[hour] = set()
            if len(self._hours) > _HOURS:
                self._hours.popitem(last=False)
        known = self._hours[hour]
        if value in known:
            return True
        known.add(value)
        return False
