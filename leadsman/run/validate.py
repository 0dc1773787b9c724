"""Try every connection that the settings name; nothing is changed."""

from common.errors import FilesUnusable
from ingest.kafka.admin import TopicsUnusable, ensure_topics
from ingest.kafka.reaching import explain
from leadsman.run.permissions import Checked, check_cluster
from leadsman.run.settings import Settings
from leadsman.run.watch import lease_name
from sql.database.errors import DatabaseError, SchemaOlder
from sql.database.open import connect
from sql.schema.migrate import check_migrated


async def validate(settings: Settings) -> list[Checked]:
    """Try Kafka and the database, and ask the cluster for each permission."""
    watch = settings.live()
    lease = lease_name(settings.kafka, watch) if watch.election.enabled else None
    return [
        await check_kafka(settings),
        check_database(settings),
        *[each async for each in check_cluster(watch, lease)],
    ]


async def check_kafka(settings: Settings) -> Checked:
    """Whether it answers, and how its topics are."""
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


def check_database(settings: Settings) -> Checked:
    """Whether it answers, and has this schema."""
    try:
        with connect(settings.db.get_secret_value(), make=False) as database:
            check_migrated(database)
            return Checked(f"database {database}", "")
    except SchemaOlder:
        return Checked("database", "", "will be migrated")
    except DatabaseError as error:
        return Checked("database", str(error))
