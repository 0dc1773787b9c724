"""Tries every connection that the settings name, without changing anything."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Final

import aiohttp
from kubernetes_asyncio.client.api_client import ApiClient

from common.clock import SYSTEM
from common.errors import FilesUnusable, KafkaUnusable, KubeconfigUnusable
from common.settings import SettingsError
from common.text import plain
from ingest.apiserver.changes import metadata_of
from ingest.apiserver.connect import configuration
from ingest.apiserver.requests import TRANSPORT_ERRORS, ApiError, TooLargeError, get, read_body
from ingest.apiserver.watch_events import decode_list
from ingest.kafka.admin import ensure_topics
from ingest.kafka.reaching import explain
from ingest.kubelet.access import kubelet_address
from ingest.kubelet.poll import kubelet_client
from ingest.live.scheduler import CacheUnknown, cache_line, host_of, scheduler_client
from ingest.live.settings import LiveSettings
from ingest.model.observation import UNDECODABLE
from ingest.resources.nodes import NODES
from ingest.resources.stats_summary import STATS_SUMMARY
from leadsman.run.permissions import Checked, check_cluster
from leadsman.run.settings import Settings
from leadsman.run.watch import lease_name
from sql.database.errors import DatabaseError, SchemaOlder
from sql.database.open import connect
from sql.schema.migrate import check_migrated

TIMEOUT: Final = aiohttp.ClientTimeout(total=15)


async def validate(settings: Settings) -> list[Checked]:
    """Try Kafka, the database, a kubelet and the schedulers, and check each permission in the cluster."""
    watch = settings.live()
    lease = lease_name(settings.kafka, watch) if watch.election.enabled else None
    checks = (check_cluster(watch, lease), check_kubelet(watch), check_schedulers(watch))
    cluster = [each for part in checks async for each in part]
    return [await check_kafka(settings), check_database(settings), *cluster]


async def check_kafka(settings: Settings) -> Checked:
    kafka = settings.kafka
    what = f"Kafka {kafka.bootstrap_servers}"
    try:
        found = await ensure_topics(
            kafka.bootstrap_servers,
            kafka.every_topic(settings.work.flat),
            replication_factor=kafka.replication_factor,
            options=kafka.client_options(),
            make=False,
        )
    except KafkaUnusable as error:
        return Checked(what, str(error))
    except FilesUnusable as error:
        return Checked(what, explain(error))
    changes = [f"will create {', '.join(found.missing)}"] if found.missing else []
    changes += [f"will add partitions to {', '.join(found.small)}"] if found.small else []
    return Checked(what, "", "; ".join([*changes, *map(str, found.differences)]))


def check_database(settings: Settings) -> Checked:
    try:
        with connect(settings.db.get_secret_value(), make=False) as database:
            check_migrated(database)
            return Checked(f"database {database}", "")
    except SchemaOlder:
        return Checked(
            "database",
            "",
            "its schema is missing or older; land, replay and up upgrade it when they start, leadsman migrate now",
        )
    except DatabaseError as error:
        return Checked("database", str(error))


async def check_kubelet(settings: LiveSettings) -> AsyncIterator[Checked]:
    """Check that the kubelet of one node answers with the configured access; yield nothing if no node is listed."""
    if settings.kubelet.access == "off" or settings.namespace:
        return
    async with AsyncExitStack() as stack:
        try:
            access = await configuration(settings.kubeconfig, settings.context)
            client = await stack.enter_async_context(ApiClient(access))
            async with get(client, NODES.paths[0], {"limit": "1"}, TIMEOUT) as response:
                node = (decode_list(await read_body(response)).items or [])[0]
        except (KubeconfigUnusable, ApiError, IndexError, *UNDECODABLE, *TRANSPORT_ERRORS):
            return  # `check_cluster` reports errors there
        name = metadata_of(node).name
        try:
            fetch = await kubelet_client(settings.kubelet, access, lambda _: kubelet_address(node), stack)
            await fetch(name, STATS_SUMMARY.name)
        except (ApiError, TooLargeError, *TRANSPORT_ERRORS) as error:
            yield Checked(f"kubelet of {name}", plain(error) or "it does not answer in time")
        else:
            yield Checked(f"kubelet of {name}", "")


async def check_schedulers(settings: LiveSettings) -> AsyncIterator[Checked]:
    async with AsyncExitStack() as stack:
        for url in settings.schedulers:
            what = f"scheduler {host_of(url)}"
            try:
                https = scheduler_client(settings, await configuration(settings.kubeconfig, settings.context), stack)
                await cache_line(https, url, SYSTEM.now())
            except KubeconfigUnusable:
                return  # `check_cluster` reports errors there
            except (CacheUnknown, SettingsError) as error:
                yield Checked(what, str(error))
            else:
                yield Checked(what, "")
