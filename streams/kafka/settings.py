"""Defines the settings of work and land."""

from typing import Annotated

from pydantic import AfterValidator, PositiveFloat, PositiveInt

from common.settings import Section
from streams.rules.numa.skew import GROUP_GAP


def _known(table: str) -> str:
    from streams.kafka.messages.flat import FLAT_TABLES  # noqa: PLC0415 - not needed without flat tables

    if table not in FLAT_TABLES:
        raise ValueError(f"unknown table; known tables: {', '.join(sorted(FLAT_TABLES))}")
    return table


FlatTable = Annotated[str, AfterValidator(_known)]


class WorkSettings(Section):
    instance: str | None = None
    """The worker's name in its group; by default the host name. A worker that restarts under its name gets its
    partitions back at once. Running workers need different names.
    """
    late_joiner_gap_seconds: PositiveFloat = GROUP_GAP.total_seconds()
    """Nodes that joined at least this long after one another are different groups of `late_joiners`. A rollout
    takes minutes to a few hours; use less for a cluster that is scaled up every hour.
    """
    state_seconds: PositiveFloat = 30.0
    """States are written this long after their first change, and their messages are then acknowledged. A crash
    repeats about this much folding. Half of this doubles the state data that Kafka stores.
    """
    flat: tuple[FlatTable, ...] = ()
    """Tables whose rows are also published to `leadsman.flat.<table>`, a flat JSON object each: for Kafka Connect,
    Flink or ksqlDB.
    """


class LandSettings(Section):
    """Settings of landing. The first limit that is reached stores the waiting messages of a topic."""

    instance: str | None = None
    """Name in the group, like a worker's."""
    batch_messages: PositiveInt = 20_000
    """Number of waiting messages of a partition that starts an insert, and the most that one insert stores."""
    batch_bytes: PositiveInt = 16 * 1024 * 1024
    """Bytes of these messages. This also limits the rows: a row takes about 100 bytes of a message or more."""
    batch_seconds: PositiveFloat = 4.0
    """Seconds after which waiting messages are stored. Each time costs ClickHouse one insert for each table."""
    buffered_bytes: PositiveInt = 64 * 1024 * 1024
    """Bytes of waiting messages of all partitions at which nothing more is fetched until some are stored."""
