"""Names the pod that an eviction would end first, for messages about a node that runs out of something."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

from common.durations import in_words
from common.tasks import in_thread
from leadsman.web.reading.words import amount
from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.questions.queries import run, saved_query
from streams.kafka.messages.alerts import AlertMessage

ABOUT: Final = frozenset({"EvictionThresholdNear", "EvictionTooLate", "NodePressureLasting", "PodsEvicted"})
_OWNER: Final = """
SELECT owner_kind, owner_name FROM pod_bindings
WHERE cluster = {cluster:String} AND namespace = {namespace:String} AND pod = {pod:String} AND owner_name != ''
ORDER BY ts DESC LIMIT 1
"""
More: TypeAlias = Callable[[AlertMessage], Awaitable[str]]


async def first_to_go(open_database: Callable[[], Database], alert: AlertMessage) -> str:
    """Return a sentence about the pod, its workload, the room and the time; empty if none is known."""
    node = alert.labels.get("node", "")
    if alert.status != "firing" or not node or alert.labels.get("alertname") not in ABOUT:
        return ""
    try:
        return await in_thread(partial(_read, open_database, alert.labels.get("cluster", ""), node))
    except DatabaseError:
        return ""


def _read(open_database: Callable[[], Database], cluster: str, node: str) -> str:
    with open_database() as database:
        found = run(database, saved_query("next_eviction"), {"cluster": cluster, "node": node})
        if not found.rows:
            return ""
        row = dict(zip(found.column_names, found.rows[0], strict=True))
        owner = database.query(_OWNER, row).rows if row["pod"] else []
    return sentences(row, owner[0] if owner else ())


def sentences(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    """Return sentences on a row of `next_eviction`, whose pod has an owner of this kind and name."""
    return " ".join(filter(None, (_pod(row, owner), _room(row))))


def _pod(row: dict[str, Any], owner: tuple[str, ...]) -> str:
    if not row["pod"]:
        return ""
    of = f" of {' '.join(owner)}" if owner else ""
    growth = row["growth_per_hour"]
    grows = f", which grows {amount(growth, row['signal'])}/h" if growth is not None and growth > 0 else ""
    return f"Evicted first: {row['namespace']}/{row['pod']}{of}{grows}."


def _room(row: dict[str, Any]) -> str:
    room, seconds = row["room"], row["seconds_to_threshold"]
    if room is None:
        return ""
    at = f" in {in_words(seconds)}" if seconds else ""
    state = f"{amount(room, row['signal'])} left above" if room > 0 else f"{amount(-room, row['signal'])} below"
    return f"{row['signal']}: {state} the {row['meets']} threshold{f', met{at}' if at and room > 0 else ''}."
