"""Clocks that differ from this machine's, by which times and silences are wrong."""

from collections.abc import AsyncIterator
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Final

from common.durations import in_words
from common.errors import FilesUnusable
from common.skew import MEND, TOLERATED
from common.text import plain
from ingest.kafka.admin import TopicsUnusable, dated_after
from leadsman.run.diagnosis import Diagnosis
from leadsman.run.settings import Settings

COMMITS: Final = "__consumer_offsets"
"""Topic to which the broker that coordinates a group writes its commits."""


def compared(what: str, there: datetime, here: datetime) -> Diagnosis:
    skew = there - here
    if abs(skew) <= TOLERATED:
        return Diagnosis(what, "ok", "as this machine's")
    direction = "ahead of" if skew > timedelta() else "behind"
    detail = f"{in_words(abs(skew).total_seconds())} {direction} this machine's: times and silences are wrong by that"
    return Diagnosis(what, "wrong", detail, MEND)


async def kafka_clocks(settings: Settings, here: datetime) -> AsyncIterator[Diagnosis]:
    """Report each broker that dated a message after `here`.

    A clock that is behind leaves no such trace, and Kafka returns its time only to writers.
    """
    kafka = settings.kafka
    topics = [topic.name for topic in kafka.every_topic()]
    try:
        dates = await dated_after(
            here + TOLERATED, kafka.bootstrap_servers, [*topics, COMMITS], kafka.client_options()
        )
    except (TopicsUnusable, FilesUnusable):
        return  # what is wrong there is Kafka's, and reported
    if dates:
        topic, dated = max(dates.items(), key=itemgetter(1))
        ahead = in_words((dated - here).total_seconds())
        yield Diagnosis(
            "clock of a broker",
            "wrong",
            f"at least {ahead} ahead of this machine's: a message of {plain(topic)} is dated so",
            MEND,
        )
    else:
        yield Diagnosis(
            "clocks in Kafka", "ok", "no message is dated ahead of this machine's; a clock that is behind is not seen"
        )
