"""Keeps a watcher's versions in Kafka: in the metadata of a group's commit, together with the data that they cover.

A commit is deleted with its topic and its Kafka. Versions of another Kafka, or of topics that were recreated, are
never mistaken for the current ones: the streams are then listed again.
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

from ingest.apiserver.versions import StoredVersions
from ingest.kafka.aiokafka_fixes import Options, committed, started
from ingest.kafka.reaching import explain
from ingest.model.observation import UNDECODABLE

LOAD_SECONDS: Final = 15.0
"""Maximum wait before a watcher starts with lists."""
MOST_CHARACTERS: Final = 64
"""Maximum length of a version that is kept; a stream with a longer one is listed again. Kafka accepts 4 KiB in
all.
"""
SAVE_SECONDS: Final = 5.0
"""Maximum time for one commit. It is tried again with the next versions."""
_ALONE: Final = {"enable_auto_commit": False, "auto_offset_reset": "latest"}
log = structlog.get_logger(__name__)


class _Committed(msgspec.Struct, frozen=True):
    cluster_uid: str
    versions: dict[str, str]


_decoder: Final = msgspec.json.Decoder(_Committed)


@asynccontextmanager
async def versions_in(
    bootstrap_servers: str, options: Options, group: str, topic: str, cluster_uid: str
) -> AsyncIterator[StoredVersions]:
    """Read the versions that the group committed to the topic, and store newer ones there during the block.

    Versions of another cluster are ignored. It finds none while Kafka does not answer, or if the user may not use the
    group; `save` then raises OSError.
    """
    partition = TopicPartition(topic, 0)
    servers = {"bootstrap_servers": bootstrap_servers, **options}
    versions: Mapping[str, str] = {}
    async with AsyncExitStack() as stack:
        opened: list[AIOKafkaConsumer] = []

        async def consumer() -> AIOKafkaConsumer:
            """Build a consumer in a group without members: it fetches nothing, and Kafka accepts commits from any
            client.
            """
            if not opened:
                alone = AIOKafkaConsumer(group_id=group, **servers, **_ALONE)
                opened.append(await stack.enter_async_context(started(alone)))
                opened[0].assign([partition])
                opened[0].pause(partition)
            return opened[0]

        async def end() -> int:
            found: Mapping[TopicPartition, int] = await (await consumer()).end_offsets([partition])
            return found[partition]

        async def save(versions: Mapping[str, str]) -> None:
            kept = {name: version for name, version in versions.items() if len(version) <= MOST_CHARACTERS}
            metadata = msgspec.json.encode(_Committed(cluster_uid, kept)).decode()
            try:
                async with asyncio.timeout(SAVE_SECONDS):
                    offset = await end()
                    await (await consumer()).commit({partition: OffsetAndMetadata(offset, metadata)})
            except (KafkaError, TimeoutError) as error:
                raise OSError(f"versions are not kept in Kafka: {explain(error)}") from error

        try:
            async with asyncio.timeout(LOAD_SECONDS), started(AIOKafkaAdminClient(**servers)) as admin:
                before = (await committed(admin, group, {partition}))[partition]
            if 0 <= before.offset <= await end():  # otherwise the topic was truncated or recreated since
                versions = _versions(before.metadata, cluster_uid)
        except (KafkaError, TimeoutError) as error:
            log.warning("versions cannot be read: everything is listed", group=group, reason=explain(error))
        yield StoredVersions(versions, save)


def _versions(metadata: str, cluster_uid: str) -> Mapping[str, str]:
    """Return no versions if another program committed for the group."""
    try:
        kept = _decoder.decode(metadata)
    except UNDECODABLE as error:
        log.warning("committed versions cannot be read: everything is listed again", reason=str(error))
        return {}
    return kept.versions if kept.cluster_uid == cluster_uid else {}
