"""An assignor whose metadata is too old to have a changelog assigns a worker's partitions."""

from typing import Any

import pytest

from ingest.model.topics import changelogs, topics
from streams.analytics.registry import REDUCERS
from streams.kafka.app import Worker

PARTITIONS = {0, 1, 2, 3}
SOURCES = {"x.nodes", "x.cluster"}
CHANGELOGS = {topic.name for topic in changelogs("g", topics("x"))}


class Metadata:
    """Metadata of a cluster that has these topics."""

    def __init__(self, known: set[str]) -> None:
        self._known = known

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return PARTITIONS if topic in self._known else None


@pytest.mark.asyncio
@pytest.mark.parametrize("unknown", [set(), set(sorted(CHANGELOGS)[:1]), CHANGELOGS])
async def test_the_changelog_of_every_log_is_assigned_with_it(unknown: set[str]) -> None:
    """A worker that came back under its own name, and was given a log without its changelog, began with no states."""
    worker = Worker(REDUCERS, topics("x", partitions=4), "127.0.0.1:1", group="g", instance="0")
    app: Any = worker._app  # what Kafka's client asks
    app.finalize()
    member = app.assignor.metadata(SOURCES | CHANGELOGS)
    given = app.assignor.assign(Metadata((SOURCES | CHANGELOGS) - unknown), {"member": member})
    assert dict(given["member"].assignment) == {topic: sorted(PARTITIONS) for topic in SOURCES | CHANGELOGS}
