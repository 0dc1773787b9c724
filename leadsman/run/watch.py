"""Publishes a watched cluster to Kafka, while this replica holds the Lease."""

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import partial
from typing import Final

import aiohttp
import structlog
from kubernetes_asyncio.client.api_client import ApiClient
from kubernetes_asyncio.client.configuration import Configuration

from common.clock import SYSTEM
from common.errors import SourceUnusable
from common.scrub import scrub
from common.tasks import run_until
from common.telemetry import Figure, registered
from ingest.apiserver.changes import metadata_of
from ingest.apiserver.connect import SERVICE_ACCOUNT, configuration
from ingest.apiserver.leader import LeaderElection, LeadershipLostError, LeaseName, Work, new_identity
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, read_body, request
from ingest.apiserver.versions import NOT_KEPT, StoredVersions
from ingest.apiserver.watch_events import decode_list
from ingest.kafka.replay import Acknowledgements, Feed, Publish
from ingest.kafka.settings import KafkaSettings
from ingest.kafka.versions import versions_in
from ingest.live.forward import Watching
from ingest.live.run import Live
from ingest.live.settings import LiveSettings
from ingest.model.observation import UNDECODABLE
from ingest.normalize.redact import Received
from leadsman.run.kafka import make_topics, publisher

_NAMESPACE: Final = SERVICE_ACCOUNT / "namespace"
LINGER_MS: Final = 250
"""Time for which messages of a partition wait for others, because a request costs more than its content."""
_TIMEOUT: Final = aiohttp.ClientTimeout(total=10)
_KUBE_SYSTEM: Final = {"fieldSelector": "metadata.name=kube-system"}
LEADS: Final = Figure("leads", "gauge", "1 for the watcher that has the Lease")
log = structlog.get_logger(__name__)


async def run_watcher(kafka: KafkaSettings, watch: LiveSettings, stop: asyncio.Event) -> None:
    """Watch until `stop`. Raises KafkaUnusable and SourceUnusable."""
    access = await configuration(watch.kubeconfig, watch.context)  # before Kafka, because no retry fixes it
    await make_topics(kafka)
    async with publisher(kafka, linger_ms=LINGER_MS) as opened:
        publish = Feed(opened, kafka.topics(), strict=watch.strict).publish

        async def work(publish: Publish = publish) -> None:
            log.info("watching begins", cluster=watch.cluster)
            async with _kept(kafka, watch, await _cluster_uid(access)) as kept:
                await Watching(await Live.connect(watch, kept), publish).run(stop)

        if not watch.election.enabled:
            await work()
            return
        async with ApiClient(access) as client:
            identity = watch.election.identity or new_identity()
            election = LeaderElection(client, lease_name(kafka, watch), identity, SYSTEM)

            async def publish_as_leader(received: Received) -> Acknowledgements:
                """Publish only as the leader: while this process was suspended, another watcher may have become the
                leader.
                """
                election.check()
                return await publish(received)

            await lead(election, partial(work, publish_as_leader), stop)


def _kept(kafka: KafkaSettings, watch: LiveSettings, cluster_uid: str) -> AbstractAsyncContextManager[StoredVersions]:
    """Keep resource versions in Kafka, from where the next watcher resumes. `Live` handles a file itself."""
    if watch.versions_file:
        return nullcontext(NOT_KEPT)
    group = f"{kafka.topic_prefix}-watch-{watch.scope}"
    topic = kafka.topics().cluster.name
    return versions_in(kafka.bootstrap_servers, kafka.client_options(), group, topic, cluster_uid)


async def _cluster_uid(access: Configuration) -> str:
    """Return the UID of the namespace kube-system, which distinguishes clusters with the same name.

    If it cannot be read for any reason, return the API server's address.
    """
    try:
        async with (
            ApiClient(access) as client,
            request(client, "GET", "/api/v1/namespaces", timeouts=_TIMEOUT, query=_KUBE_SYSTEM) as response,
        ):
            (found,) = decode_list(await read_body(response)).items or []
            return metadata_of(found).uid or str(access.host)
    except (ApiError, ValueError, *UNDECODABLE, *TRANSPORT_ERRORS):
        return str(access.host)


async def lead(election: LeaderElection, work: Work, stop: asyncio.Event) -> None:
    """Do the work whenever this replica is the leader, until `stop`, at which the work must end itself.

    Raises SourceUnusable, and errors of the work.
    """
    while not stop.is_set():
        log.info("waiting for the lease")
        try:
            with registered({LEADS: lambda: {(): 0.0}}, tuple):
                await run_until(stop, election.acquire())
            if not stop.is_set():
                with registered({LEADS: lambda: {(): 1.0}}, tuple):
                    await election.hold(work)
        except LeadershipLostError as error:
            log.warning("another replica may watch now", reason=str(error))
        except ApiError as error:
            raise SourceUnusable(
                f"leader election: {scrub(str(error))}: allow get, create and update on leases (coordination.k8s.io) "
                "in the namespace of watch.election, or turn it off where no second watcher runs"
            ) from None


def lease_name(kafka: KafkaSettings, watch: LiveSettings) -> LeaseName:
    """Return the name of the Lease that all replicas of one installation (with one topic prefix) share, unless it is
    configured.
    """
    namespace = watch.election.namespace
    if namespace is None:
        namespace = _NAMESPACE.read_text(encoding="ascii").strip() if _NAMESPACE.is_file() else "default"
    name = watch.election.name or f"{kafka.topic_prefix}-watch".lower().replace("_", "-")
    return LeaseName(namespace, name)
