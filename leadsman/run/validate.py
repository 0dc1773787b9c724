"""Try every connection that the settings name; nothing is changed."""

from collections.abc import AsyncIterator
from typing import NamedTuple

from kubernetes_asyncio.client.api_client import ApiClient

from common.errors import FilesUnusable
from common.text import plain
from ingest.apiserver.connect import KubeconfigError, configuration
from ingest.apiserver.listing import pages
from ingest.apiserver.requests import TRANSPORT_ERRORS, UNAUTHORIZED, ApiError
from ingest.kafka.admin import TopicsUnusable, ensure_topics
from ingest.kafka.reaching import explain
from ingest.live.settings import LiveSettings
from ingest.resources.table import WATCHED
from leadsman.run.settings import Settings
from sql.database.errors import DatabaseError, SchemaOlder
from sql.database.open import connect
from sql.schema.migrate import check_migrated


class Checked(NamedTuple):
    """One connection; `problem` names what to do, and is empty where it can be used."""

    what: str
    problem: str
    note: str = ""
    unknown_account: bool = False
    """The API server does not know who asks."""

    @property
    def readable(self) -> bool:
        return not self.problem and not self.note


async def validate(settings: Settings) -> list[Checked]:
    """Try Kafka, the database, and each resource of the cluster."""
    return [await _kafka(settings), _database(settings), *[each async for each in check_cluster(settings.live())]]


async def _kafka(settings: Settings) -> Checked:
    kafka = settings.kafka
    what = f"Kafka {kafka.bootstrap_servers}"
    try:
        found = await ensure_topics(
            kafka.bootstrap_servers,
            kafka.every_topic(),
            replication_factor=kafka.replication_factor,
            options=kafka.client_options(),
            make=False,
        )
    except TopicsUnusable as error:
        return Checked(what, str(error))
    except FilesUnusable as error:
        return Checked(what, explain(error))
    made = [f"will make {', '.join(found.missing)}"] if found.missing else []
    return Checked(what, "", "; ".join([*made, *map(str, found.differences)]))


def _database(settings: Settings) -> Checked:
    try:
        with connect(settings.db.get_secret_value(), make=False) as database:
            check_migrated(database)
            return Checked(f"database {database}", "")
    except SchemaOlder:
        return Checked("database", "", "will be migrated")
    except DatabaseError as error:
        return Checked("database", str(error))


async def check_cluster(settings: LiveSettings) -> AsyncIterator[Checked]:
    """Whether each resource can be listed."""
    try:
        access = await configuration(settings.kubeconfig, settings.context)
    except KubeconfigError as error:
        yield Checked("cluster", str(error))
        return
    async with ApiClient(access) as client:
        for resource in WATCHED:
            if resource.name in settings.resources:
                problem, refused = await _listing(client, resource.paths[0])
                yield Checked(f"cluster: {resource.name}", "" if resource.optional else problem, problem, refused)


async def _listing(client: ApiClient, path: str) -> tuple[str, bool]:
    """Why a resource cannot be listed, and whether that is for want of an account."""
    try:
        async for _ in pages(client, path, "0"):
            return "", False
    except ApiError as error:
        if error.code == UNAUTHORIZED:
            return f"{error}. The token or certificate expired, or is another cluster's: log in again", True
        return f"{error}. Give the account `list` and `watch` of it (deploy/)", False
    except TRANSPORT_ERRORS as error:
        host = client.configuration.host
        return f"{host} does not answer: {plain(error)}. Check watch.kubeconfig and watch.context", False
    return "", False
