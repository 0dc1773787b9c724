"""Messages that are missing: reported in the log, as a metric, by /readyz, and as rows of `source_errors`."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog
from aiokafka import TopicPartition

from ingest.kafka.publish import Publisher
from ingest.model.records import Problem, SourceErrorRecord
from ingest.model.topics import Topics, cluster_of, encode_record, headers_of, key_of
from streams.kafka.changelog import Changelog
from streams.kafka.takeover import Gap, start

SHOWN_SECONDS: Final = 600.0
"""How long /readyz shows a gap as a reason."""
log = structlog.get_logger(__name__)


class Reported(Protocol):
    """A report about messages of a partition that becomes a row of `source_errors`."""

    @property
    def kind(self) -> str: ...
    @property
    def problem(self) -> Problem: ...
    @property
    def resource(self) -> str: ...
    @property
    def error(self) -> str: ...
    @property
    def first(self) -> int: ...
    @property
    def end(self) -> int: ...


class Gaps:
    """The gaps that a process has found, with the clusters that they may concern."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        """Messages by topic and kind."""
        self._reported: set[Gap] = set()
        self._shown: list[tuple[float, Gap]] = []
        self._found: asyncio.Queue[tuple[Reported, list[str]]] = asyncio.Queue()

    def add(self, gap: Gap, clusters: Iterable[str] = ()) -> None:
        """Report it at once, except its rows, which `publish` makes; without a cluster where none is known. Until
        something behind it is committed it is found repeatedly, and reported once.
        """
        if gap in self._reported:
            return
        self._reported.add(gap)
        log.error("messages are missing", resource=gap.resource, messages=gap.message_count, reason=gap.error)
        self.counts[gap.topic, gap.kind] += gap.message_count
        self._shown.append((time.monotonic(), gap))
        self.publish_soon(gap, clusters)

    def publish_soon(self, found: Reported, clusters: Iterable[str]) -> None:
        """Its rows alone, which `publish` makes."""
        self._found.put_nowait((found, sorted(set(clusters)) or [""]))

    def why_not(self) -> Iterator[str]:
        """For /readyz."""
        self._shown = [each for each in self._shown if time.monotonic() - each[0] < SHOWN_SECONDS]
        for _, gap in self._shown:
            yield f"{gap.resource}: {gap.error}"

    async def found(self) -> None:
        """Return when there is something to publish."""
        self._found.put_nowait(await self._found.get())

    async def publish(self, publisher: Publisher, topics: Topics) -> None:
        """Publish found gaps as records on the clusters' logs, until cancelled."""
        while True:
            gap, clusters = await self._found.get()
            for cluster in clusters:
                now = datetime.now(UTC)
                record = SourceErrorRecord(
                    ts=now, cluster=cluster, resource=gap.resource, error=gap.error, problem=gap.problem
                )
                headers = headers_of(record, f"{gap.kind} {gap.resource} {gap.first}-{gap.end}")
                key, value = key_of(cluster, ""), encode_record(record)
                await (await publisher.send(topics.cluster.name, key, value, headers))


class Takeovers:
    """Starting offsets of a worker's partitions, from the recovered states."""

    def __init__(self) -> None:
        self.gaps = Gaps()
        self.changelogs: dict[str, Changelog] = {}
        """Changelogs by source topic."""

    def start_of(self, topic: str, partition: int, committed: int, earliest: int, end: int) -> int:
        """The offset to read from; as committed, while the states are not there."""
        changelog = self.changelogs[topic]
        if partition not in changelog.owned:
            return committed
        begin = start(topic, partition, committed, changelog.covered(partition), earliest, end)
        for gap in begin.gaps:
            self.gaps.add(gap, self.clusters(TopicPartition(topic, partition)))
        return begin.offset

    def clusters(self, partition: TopicPartition) -> Iterable[str]:
        """Return the clusters whose logs are known in a partition."""
        return map(cluster_of, self.changelogs[partition.topic].logs(partition.partition))
