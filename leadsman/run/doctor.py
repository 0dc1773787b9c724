"""Checks a running Leadsman, and names the command that fixes each problem. It changes nothing."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime, timedelta
from functools import partial
from importlib.metadata import version
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeAlias

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.amounts import counted
from common.clock import SYSTEM
from common.durations import in_words
from common.errors import FilesUnusable, KafkaUnusable, KubeconfigUnusable
from common.skew import MEND, TOLERATED
from common.tasks import in_thread
from common.text import plain
from ingest.apiserver.connect import configuration
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, answered_at, get, read_body
from ingest.kafka.admin import dated_after
from leadsman.run.permissions import Checked, check_cluster
from leadsman.run.settings import Settings
from leadsman.run.up import PARTS
from leadsman.run.validate import check_database, check_kafka, check_kubelet
from leadsman.run.watch import lease_name
from sql.database.errors import DatabaseError, DatabaseHeld
from sql.database.held import connect_to_read
from sql.database.open import Database
from sql.schema.migrate import check_migrated

State: TypeAlias = Literal["ok", "wrong", "unknown"]


class Diagnosis(NamedTuple):
    what: str
    state: State
    """`unknown` if the check could not run."""
    detail: str
    mend: str = ""
    """A command, or advice; empty if nothing is wrong."""


COMMITS: Final = "__consumer_offsets"
"""The topic in which a group's coordinator stores its commits."""


def compared(what: str, there: datetime, here: datetime) -> Diagnosis:
    skew = there - here
    if abs(skew) <= TOLERATED:
        return Diagnosis(what, "ok", "as this machine's")
    direction = "ahead of" if skew > timedelta() else "behind"
    detail = f"{in_words(abs(skew).total_seconds())} {direction} this machine's: times and ages are off by that much"
    return Diagnosis(what, "wrong", detail, MEND)


async def kafka_clocks(settings: Settings, here: datetime) -> AsyncIterator[Diagnosis]:
    """Report brokers that dated a message later than `here`.

    A clock that is behind leaves no such trace, and Kafka returns its time only to producers.
    """
    kafka = settings.kafka
    topics = [topic.name for topic in kafka.every_topic()]
    try:
        dates = await dated_after(
            here + TOLERATED, kafka.bootstrap_servers, [*topics, COMMITS], kafka.client_options()
        )
    except (KafkaUnusable, FilesUnusable):
        return  # check_kafka reports the reason
    if dates:
        topic, dated = max(dates.items(), key=itemgetter(1))
        ahead = in_words((dated - here).total_seconds())
        yield Diagnosis(
            "clock of a broker",
            "wrong",
            f"at least {ahead} ahead of this machine's: the time of a message in {plain(topic)} shows it",
            MEND,
        )
    else:
        yield Diagnosis(
            "clocks in Kafka",
            "ok",
            "no message has a future time; a broker's clock that is behind cannot be detected",
        )


FRESH: Final = timedelta(minutes=10)
"""Nodes report at least every 5 minutes."""
DISK_FREE: Final = 0.1
_GRANT: Final = "If you use Helm, upgrade the release. Otherwise: kubectl apply -f deploy/kubernetes/10-rbac.yaml"
_SPACE: Final = (
    "Add disk space. To delete raw samples older than 3 days instead (this cannot be undone): "
    "leadsman migrate --keep-samples-days 3"
)
_HELD: Final = (
    "See what that process is (ps -ef), and wait for it. If it is leadsman up, leave it running, and query it: "
    "leadsman query source_errors"
)
_WATCHED: Final = (
    "Check that watch, work and land run: kubectl -n leadsman get pods. "
    "If you run Leadsman on this machine, start it: leadsman up"
)
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_STREAMS: Final = """
SELECT cluster, groupArray((stream, last)) AS streams
FROM
(
    SELECT 'nodes' AS stream, cluster, max(ts) AS last FROM nodes GROUP BY cluster
    UNION ALL SELECT 'pods' AS stream, cluster, max(ts) AS last FROM pod_bindings GROUP BY cluster
    UNION ALL SELECT 'Events' AS stream, cluster, max(observed_at) AS last FROM node_events GROUP BY cluster
    UNION ALL SELECT 'statistics' AS stream, cluster, max(last_at) AS last FROM node_samples_5m GROUP BY cluster
    UNION ALL SELECT 'NUMA' AS stream, cluster, max(ts) AS last FROM numa_allocations GROUP BY cluster
)
GROUP BY cluster ORDER BY cluster
SETTINGS final = 0
"""
_SILENT: Final = """
SELECT cluster, count() AS nodes, countIf(silent_seconds > 600) AS silent
FROM node_evidence GROUP BY cluster HAVING silent > 0 ORDER BY cluster
"""
_SOURCES: Final = """
SELECT cluster, resource, kind, uniqExactIf(node, node != '') AS nodes, argMax(error, (ts, error)) AS last
FROM source_errors FINAL
WHERE ts >= now64() - toIntervalHour(1) AND kind IN ('silent', 'unreadable', 'behind')
GROUP BY cluster, resource, kind ORDER BY cluster, resource, kind LIMIT 5
"""
_LETTERS: Final = "SELECT count() FROM dead_letters FINAL WHERE ts >= now64() - toIntervalDay(1)"
_DISKS: Final = "SELECT name, free_space / total_space FROM system.disks WHERE total_space > 0 ORDER BY name"


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str = ""


async def diagnose(settings: Settings) -> list[Diagnosis]:
    """Check the cluster, Kafka if configured, the database, and parts that answer `/readyz`."""
    found = [Diagnosis("leadsman", "ok", f"version {version('leadsman')}")]
    found += [each async for each in _cluster(settings)]
    if settings.kafka.is_given:
        found += _judged([await check_kafka(settings)], "leadsman validate")
        found += [each async for each in kafka_clocks(settings, SYSTEM.now())]
    found += await in_thread(partial(_database, settings))
    if settings.telemetry.port:
        found += await _parts(settings)
    return found


def _judged(checked: Sequence[Checked], mend: str) -> Iterator[Diagnosis]:
    """Convert the results of `leadsman validate`: a line for each problem, and one line for everything that works."""
    for each in checked:
        detail = plain(each.problem or each.note, 1000)
        if each.problem or (each.note and each.needed):
            yield Diagnosis(each.what, "wrong", detail, mend)
    usable = [each.what for each in checked if each.usable]
    if len(usable) > 1:
        yield Diagnosis("permissions", "ok", f"{len(usable)} of {len(checked)} allowed")
    elif usable:
        yield Diagnosis(usable[0], "ok", "answers")


async def _cluster(settings: Settings) -> AsyncIterator[Diagnosis]:
    watch = settings.live()
    try:
        access = await configuration(watch.kubeconfig, watch.context)
        async with ApiClient(access) as client:
            asked_at = SYSTEM.now()
            async with get(client, "/version", {}, _TIMEOUT) as response:
                there = answered_at(response)
                body = await read_body(response)
    except (KubeconfigUnusable, ApiError, *TRANSPORT_ERRORS) as error:
        yield Diagnosis("cluster", "unknown", plain(error, 1000), "leadsman validate")
        return
    yield Diagnosis("cluster", "ok", f"{plain(access.host)}, {_version(body)}")
    if there is not None:
        yield compared("clock of the API server", there, asked_at)
    lease = lease_name(settings.kafka, watch) if watch.election.enabled and settings.kafka.is_given else None
    checked = [each async for each in check_cluster(watch, lease)]
    for each in _judged(checked, _GRANT):
        yield each
    for each in _judged([each async for each in check_kubelet(watch)], "leadsman validate"):
        yield each


def _version(body: bytes) -> str:
    try:
        return plain(msgspec.json.decode(body, type=_Version).git_version)
    except msgspec.MsgspecError:
        return "version unknown"


def _database(settings: Settings) -> list[Diagnosis]:
    dsn = settings.db.get_secret_value()
    try:
        with connect_to_read(dsn) as database:
            check_migrated(database)
            return list(_stored(database))
    except DatabaseHeld as error:
        return [Diagnosis("database", "unknown", str(error), _HELD)]
    except DatabaseError:
        checked = check_database(settings)
        found = "Check the address of the database (--db). To make a new one there: leadsman migrate"
        return list(_judged([checked], found if checked.problem else "leadsman migrate"))


def _stored(database: Database) -> Iterator[Diagnosis]:
    ((engine, there),) = database.query("SELECT version(), now64(3, 'UTC')").rows
    now = SYSTEM.now()
    yield Diagnosis(f"database {database}", "ok", f"ClickHouse {engine}")
    if not database.embedded:
        yield compared("clock of ClickHouse", there, now)
    for name, free in database.query(_DISKS).rows:
        state: State = "ok" if free >= DISK_FREE else "wrong"
        mend = "" if state == "ok" else _SPACE
        yield Diagnosis(f"disk {plain(name)}", state, f"{100 * free:.0f} % free", mend)
    yield from _streams(database, now)
    for cluster, resource, kind, nodes, last in database.query(_SOURCES).rows:
        where = f" on {counted(nodes, 'node')}" if nodes > 1 else ""
        detail = f"{kind}{where} within the last hour: {plain(last, 200)}"
        yield Diagnosis(
            f"{plain(cluster, 60)}: {plain(resource, 60)}", "wrong", detail, "leadsman query source_errors"
        )
    ((letters,),) = database.query(_LETTERS).rows
    if letters:
        detail = f"{letters} within the last day could not be decoded"
        yield Diagnosis("dead letters", "wrong", detail, "leadsman query dead_letters")


def _streams(database: Database, now: datetime) -> Iterator[Diagnosis]:
    """Report the age of each cluster's streams. In a quiet cluster some streams are quiet, but never all of them."""
    found = database.query(_STREAMS).rows
    if not found:
        yield Diagnosis("streams", "wrong", "nothing was stored yet", _WATCHED)
    for cluster, newest in found:
        ages = sorted((max(now - last, timedelta()), stream) for stream, last in newest)
        fresh = ages[0][0] <= FRESH
        detail = ", ".join(f"{stream} {in_words(age.total_seconds())}" for age, stream in ages)
        mend = "" if fresh else _WATCHED
        yield Diagnosis(
            f"streams of {plain(cluster, 60)}", "ok" if fresh else "wrong", f"last observed: {detail} ago", mend
        )
    for cluster, nodes, silent in database.query(_SILENT).rows:
        detail = f"{silent} of {counted(nodes, 'node')} sent none for over 10 min"
        yield Diagnosis(f"{plain(cluster, 60)}: statistics", "wrong", detail, "leadsman query source_errors")


class _Ready(msgspec.Struct, frozen=True):
    part: str = ""
    reasons: tuple[str, ...] = ()


async def _parts(settings: Settings) -> list[Diagnosis]:
    """Report the reasons from this machine's parts: `up` has the configured port, and its parts the next ones."""
    host, first = settings.telemetry.host, settings.telemetry.port
    async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
        answers = await asyncio.gather(*(_ready(session, host, first + number) for number in range(len(PARTS) + 1)))
    found = [
        Diagnosis(
            f"part {plain(each.part)}",
            "wrong" if each.reasons else "ok",
            "; ".join(each.reasons) or "ready",
            "leadsman validate" if each.reasons else "",
        )
        for each in answers
        if each is not None
    ]
    return found or [Diagnosis("parts", "wrong", f"no part answers at {host}:{first}", _WATCHED)]


async def _ready(session: aiohttp.ClientSession, host: str, port: int) -> _Ready | None:
    try:
        async with session.get(f"http://{host}:{port}/readyz") as response:
            return msgspec.json.decode(await response.read(), type=_Ready)
    except (aiohttp.ClientError, TimeoutError, OSError, msgspec.MsgspecError):
        return None
