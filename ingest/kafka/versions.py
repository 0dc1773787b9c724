"""Keeps a watcher's versions in Kafka: in the metadata of a group's commit, beside what they cover.

A commit goes with its topic, and with its Kafka. The versions of another Kafka, or of topics that were recreated, are
never taken for those of this one: the streams are listed again.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from ingest.apiserver.versions import NOT_KEPT, Kept
from ingest.kafka.aiokafka_fixes import Options, committed, started
from ingest.kafka.reaching import explain
from ingest.model.observation import UNDECODABLE

SAVE_SECONDS: Final = 5.0
"""Longest time for one commit. It is tried again with the next versions."""
_ALONE: Final = {"enable_auto_commit": False, "auto_offset_reset": "latest"}
log = structlog.get_logger(__name__)
_decoder: Final = msgspec.json.Decoder(dict[str, str])


@asynccontextmanager
async def versions_in(bootstrap_servers: str, options: Options, group: str, topic: str) -> AsyncIterator[Kept]:
    """Read the versions that the group committed to the topic, and keep newer ones there within the block.

    Nothing is kept while Kafka does not answer, or if the user may not use the group: the next start lists again.
    """
    partition = TopicPartition(topic, 0)
    servers = {"bootstrap_servers": bootstrap_servers, **options}
    async with AsyncExitStack() as stack:
        try:
            admin = await stack.enter_async_context(started(AIOKafkaAdminClient(**servers)))
            before = (await committed(admin, group, {partition}))[partition]
            # a group without members: nothing is fetched, and Kafka takes commits from anyone
            consumer = await stack.enter_async_context(started(AIOKafkaConsumer(group_id=group, **servers, **_ALONE)))
            end = (await consumer.end_offsets([partition]))[partition]
        except KafkaError as error:
            log.warning("versions cannot be kept: the next start lists again", group=group, reason=explain(error))
            yield NOT_KEPT
            return
        consumer.assign([partition])
        consumer.pause(partition)

        async def save(versions: Mapping[str, str]) -> None:
            try:
                async with asyncio.timeout(SAVE_SECONDS):
                    end = (await consumer.end_offsets([partition]))[partition]
                    metadata = msgspec.json.encode(versions).decode()
                    await consumer.commit({partition: OffsetAndMetadata(end, metadata)})
            except KafkaError as error:
                raise OSError(explain(error)) from error

        if not 0 <= before.offset <= end:
            yield Kept({}, save)  # never committed, or the topic was cut back or recreated since
        else:
            yield Kept(_versions(before.metadata), save)


def _versions(metadata: str) -> Mapping[str, str]:
    """Return none where somebody else committed for the group."""
    try:
        return _decoder.decode(metadata)
    except UNDECODABLE as error:
        log.warning("committed versions cannot be read: everything is listed again", reason=str(error))
        return {}
