"""A live database has the rows that a replay of its capture gives, though a sign of life may be a minute old.

Live folding takes observations as they are emitted, and a replay by their times. `Live` itself decides here which
signs of life are sent.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, Final

from hypothesis import given, settings
from hypothesis import strategies as st
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM
from components.captures import CLUSTER, Json, node, observed, pod
from contract.given import dead_letter, records_of
from contract.test_order import identity
from ingest.apiserver.changes import Changes, Step
from ingest.live.run import WATCH_SILENCE_SECONDS, Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import Observation, Observed, Position
from ingest.model.records import Record
from ingest.resources.table import WATCHED
from streams.analytics.registry import REDUCERS
from streams.fold.findings import Row, has_version, version
from streams.fold.fold import Fold, LogKey, LogState, Rejected
from streams.fold.reducer import Withdrawal

BEGAN: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
STREAMS: Final = {each.name: each for each in WATCHED if each.name in {"nodes", "pods", "events"}}
ACTS: Final = ("heard", "restarted", "listed", "gap", "broken", "node", "cordoned", "gone", "pending", "silence")
UNPLACED: Final = {
    "conditions": [
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/2 nodes are available: 2 Insufficient cpu.",
        }
    ]
}


class Sources:
    """Three watches of a cluster, whose code is replaced by acts, and what `Live` emits of them."""

    def __init__(self) -> None:
        self.now = BEGAN
        self.emitted: list[Observation] = []
        self._clock = SYSTEM._replace(now=lambda: self.now)
        self._start()

    def _start(self) -> None:
        self._live = Live(LiveSettings(cluster=CLUSTER), Configuration(), clock=self._clock)
        for name, resource in STREAMS.items():
            self._live._freshness.expect(name, WATCH_SILENCE_SECONDS, self.now)
            changes = Changes(resource, CLUSTER, self._clock, self._live.tally, lambda *_: None)
            watch: Any = SimpleNamespace(
                resource=resource,
                changes=changes,
                listed=False,
                complete_at=None,
                absent=False,
                failure=SimpleNamespace(text=""),
            )
            self._live._watches[name] = watch

    async def run(self, acts: Sequence[tuple[str, str, float]]) -> None:
        beat_at = BEGAN + timedelta(minutes=1)
        for act, stream, seconds in [*acts, ("heard", "nodes", 60.0)]:
            until = self.now + timedelta(seconds=seconds)
            while beat_at <= until:
                self.now = beat_at
                for each in [*self._live._silences(self.now), *self._live._bookmarks()]:
                    self.emitted.append(each)
                beat_at += timedelta(minutes=1)
            self.now = until
            await self._do(act, self._live._watches[stream], timedelta(seconds=seconds))

    async def _do(self, act: str, watch: Any, lasted: timedelta) -> None:
        stream = watch.resource.name
        if act == "silence":
            return  # so the stream is not heard
        if act == "restarted":
            self._start()
        elif act == "heard":
            watch.complete_at = watch.complete_at and self.now
        elif act in {"listed", "gap"}:
            began = self.now - lasted / 2
            await self._follow(watch, [*watch.changes.inventory()])
            if act == "gap":
                await self._follow(watch, [watch.changes.gap(f"gap: {stream}", watch.complete_at)])
            if not watch.listed:
                await self._follow(watch, [watch.changes.began(began)])
            watch.listed, watch.complete_at = True, began
        elif act == "broken":
            watch.complete_at = None
            await self._follow(watch, [watch.changes.error(f"{stream} cannot be read: 403")])
        else:
            name = f"n-{lasted.microseconds % 2}"
            at = f"{self.now:%H:%M:%S.%f}"
            (seen,) = observed([_object(act, at, name)])
            owner = self._live._watches[seen.observation.resource]
            await self._follow(owner, [Step(owner.resource.name, "", seen.observation)])
        self._live._freshness.saw(stream, self.now)

    async def _follow(self, watch: Any, steps: Sequence[Step]) -> None:
        async def follow() -> AsyncIterator[Step]:
            for step in steps:
                yield step

        watch.follow = follow
        leases: Any = SimpleNamespace(gone=lambda _: None, changed=lambda _: None)
        self._live._nodes_known.set()
        await self._live._follow(watch, leases)
        while not self._live._queue.empty():
            self.emitted.append(self._live._queue.get_nowait().observation)


def _object(act: str, at: str, name: str) -> Json:
    if act == "pending":
        return pod(at, f"web-{name}", phase="Pending", status=UNPLACED)
    spec = {"unschedulable": True} if act == "cordoned" else {}
    return node(at, name, type_="DELETED" if act == "gone" else "MODIFIED", spec=spec)


def folded(observations: Sequence[Observation]) -> dict[tuple[Any, ...], Row]:
    """The last version of each row."""
    found: dict[tuple[Any, ...], Row] = {}
    fold, logs = Fold(REDUCERS), defaultdict[LogKey, LogState](LogState)

    def take(record: Record) -> None:
        for output in fold.step(logs[LogKey(record.cluster, record.node)], record):
            emitted = dead_letter(record, output.error) if isinstance(output, Rejected) else output
            if isinstance(emitted, Record):
                take(emitted)
            elif not isinstance(emitted, Withdrawal):
                key = (type(emitted), *(str(getattr(emitted, each)) for each in identity(type(emitted))[0]))
                if key not in found or not has_version(type(emitted)) or version(emitted) >= version(found[key]):
                    found[key] = emitted

    for record in records_of(Observed(each, Position("live", "1"), b"") for each in observations):
        take(record)
    return found


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(ACTS), st.sampled_from(sorted(STREAMS)), st.floats(0, 400)),
        max_size=30,
    )
)
def test_replay_in_time_order_gives_the_same_rows_as_emission_order(
    acts: list[tuple[str, str, float]],
) -> None:
    sources = Sources()
    asyncio.run(sources.run(acts))
    by_time = sorted(sources.emitted, key=lambda each: each.ts)
    assert folded(by_time) == folded(sources.emitted)
