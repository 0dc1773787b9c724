"""Topics as they are, against what they ought to be, and the command that mends a difference."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

from common.text import plain
from ingest.model.topics import Topic

_AT_LEAST: Final = frozenset({"max.message.bytes", "min.compaction.lag.ms"})
_REPLICAS: Final = "min.insync.replicas"


class Difference(NamedTuple):
    """One topic that is not as it ought to be, or whose settings Kafka does not show."""

    topic: str
    what: str
    mend: str
    """A command line, or what to do."""

    def __str__(self) -> str:
        return f"topic {self.topic}: {self.what}. {self.mend}"


async def differences(
    admin: AIOKafkaAdminClient, bootstrap_servers: str, topics: Sequence[Topic], replicas: Mapping[str, int]
) -> list[Difference]:
    """Return the differences of existing topics. `replicas` is the current number of each. Raises KafkaError."""
    if not topics:
        return []
    known = {topic.name: topic for topic in topics}
    found: list[Difference] = []
    async for error, name, settings in _described(admin, known):
        if error:
            what = f"its settings cannot be read: {plain(for_code(error).__name__)}"
            found.append(Difference(name, what, "Give the user DescribeConfigs of it"))
        else:
            found += _compare(known[name], settings, replicas[name], bootstrap_servers)
    return found


async def settings_of(admin: AIOKafkaAdminClient, names: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """Return the settings by topic, without topics whose settings Kafka does not show. Raises KafkaError."""
    return {name: settings async for error, name, settings in _described(admin, names) if not error}


async def _described(
    admin: AIOKafkaAdminClient, names: Collection[str]
) -> AsyncIterator[tuple[int, str, Mapping[str, Any]]]:
    """Error code, topic and settings."""
    answers: list[Any] = await admin.describe_configs(
        [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    )
    for answer in answers:
        for error, _, _, name, entries in answer.resources:
            yield error, name, {entry[0]: entry[1] for entry in entries}


def _compare(topic: Topic, found: Mapping[str, Any], replicas: int, servers: str) -> list[Difference]:
    wanted = topic.config()
    # a topic with fewer replicas than it was to have would take nothing, or stand still with the first broker
    wanted[_REPLICAS] = str(min(topic.min_insync_replicas, max(1, replicas - 1)))
    wrong = {name: value for name, value in wanted.items() if not _holds(name, str(found.get(name)), value, replicas)}
    if not wrong:
        return []
    what = ", ".join(f"{name} is {plain(found.get(name))}, not {value}" for name, value in wrong.items())
    settings = ",".join(f"{name}={value}" for name, value in wrong.items())
    mend = (
        f"kafka-configs.sh --bootstrap-server {servers} --alter --entity-type topics --entity-name {topic.name} "
        f"--add-config {settings}"
    )
    return [Difference(topic.name, what, mend)]


def _holds(name: str, found: str, wanted: str, replicas: int) -> bool:
    if name == _REPLICAS:
        return int(wanted) <= int(found) <= replicas
    if name in _AT_LEAST:
        return int(found) >= int(wanted)
    return found == wanted
