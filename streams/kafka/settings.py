"""Settings with which work and land use Kafka."""

from typing import Annotated

from pydantic import AfterValidator, PositiveFloat, PositiveInt

from common.settings import Section
from streams.rules.numa.skew import GROUP_GAP


def _known(table: str) -> str:
    from streams.kafka.messages.flat import FLAT_TABLES  # noqa: PLC0415 - a start without flat tables needs none of it

    if table not in FLAT_TABLES:
        raise ValueError(f"there is no such table; known are {', '.join(sorted(FLAT_TABLES))}")
    return table


FlatTable = Annotated[str, AfterValidator(_known)]


class WorkSettings(Section):
    instance: str | None = None
    """Its name among the workers, the host's where it is not given: it takes up its partitions at once after a
    restart. Two workers that run have different ones.
    """
    late_joiner_gap_seconds: PositiveFloat = GROUP_GAP.total_seconds()
    """Nodes that joined at least so long after one another are different groups of `late_joiners`. A rollout or a
    delivery of machines takes minutes to a few hours; a cluster that is scaled up every hour wants less.
    """
    state_seconds: PositiveFloat = 30.0
    """States are written so long after they first changed, and what they cover is acknowledged then: a crash has so
    much folded again. Half of it doubles what Kafka stores of states.
    """
    flat: tuple[FlatTable, ...] = ()
    """Tables whose rows are also published to `leadsman.flat.<table>`, a flat JSON object each: for Kafka Connect,
    Flink or ksqlDB.
    """


class LandSettings(Section):
    """Landing: what was received is inserted when the first of these is reached."""

    instance: str | None = None
    """Name in the group, like a worker's."""
    batch_messages: PositiveInt = 20_000
    """Messages of a partition, and of the partitions of a topic that are stored together."""
    batch_bytes: PositiveInt = 16 * 1024 * 1024
    """Bytes of the same."""
    batch_seconds: PositiveFloat = 4.0
    """A portion costs ClickHouse one insert a table, however few rows it has."""
    buffered_bytes: PositiveInt = 64 * 1024 * 1024
    """Bytes of all partitions: nothing more is fetched until some of it is stored."""
