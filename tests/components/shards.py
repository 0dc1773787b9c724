"""A cluster of ClickHouse with one shard, and one with two, in one engine (chDB), beside the tables of one server.

A shard whose address is this very process is read and written in it, without a network. Both shards of `two` see the
database in FOLDER, each through views that show its share of the rows; into `one` every table is copied, as
docs/sql.md has it. Run as `python -m components.shards FOLDER`; prints JSON, as Outcome.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from clickhouse_connect import get_client

from sql.database.client import EMBEDDED_SETTINGS, SETTINGS
from sql.database.dsn import Server
from sql.database.replicated import sharding_key, spread
from sql.landing.portions import TABLES, lost_parts
from sql.questions.queries import values, with_forms
from sql.schema.migrate import load_migrations
from sql.schema.views import load_views

_ITSELF: Final = "<shard><replica><host>127.0.0.1</host><port>9000</port></replica></shard>"
CONFIGURATION: Final = f"""<clickhouse>
    <tcp_port>9000</tcp_port>
    <remote_servers><one>{_ITSELF}</one><two>{_ITSELF}{_ITSELF}</two></remote_servers>
</clickhouse>"""
"""A port makes the engine the shard of that port; nothing listens there."""
ONE: Final = Server("127.0.0.1", 8123, secure=False, database="one", cluster="one", sharded=True)
TWO: Final = Server("127.0.0.1", 8123, secure=False, database="two", cluster="two", sharded=True)
PLAIN: Final = "default"
INSERTED: Final = "node_samples"
_COLUMNS: Final = """
SELECT table, name, type, comment FROM system.columns
WHERE database = {database:String} AND table IN ({tables:Array(String)}) ORDER BY table, position
"""
_KEYS: Final = {
    word: sharding_key(statement)
    for migration in load_migrations()
    for statement in migration.statements
    if statement.startswith("CREATE TABLE") and (word := statement.split()[5])
}


class Outcome(NamedTuple):
    columns: Sequence[Sequence[str]]
    """Table, column, type, comment, where what a cluster has is not what one server has."""
    shares: Sequence[int]
    """Rows of samples on each shard of `two`."""
    answers: dict[str, Sequence[str]]
    """Answers to a question that differ: that of one server, of two shards and of the copy."""
    copied: Sequence[str]
    """Tables of which `one` has other rows than one server has."""
    inserted: Sequence[int]
    """Samples there are, then those in `one` after they were inserted twice with one token; and so of the roll-up."""
    lost: Sequence[str]
    """Tables of which `one` has lost parts, after INSERTED lost all."""


def opened(folder: Path) -> Any:
    configuration = folder.with_suffix(".xml")
    configuration.write_text(CONFIGURATION)
    settings = {**SETTINGS, **EMBEDDED_SETTINGS, **TWO.settings}
    options = {"config-file": str(configuration)}
    return get_client(interface="chdb", path=str(folder), chdb_options=options, settings=settings, tz_mode="aware")


def made(client: Any, server: Server) -> None:
    """The schema as `leadsman migrate` makes it there, but for ON CLUSTER and replicas."""
    for database in (server.database, server.holder):
        client.command(f"CREATE DATABASE {database}")
    migrations = [each for migration in load_migrations() for each in migration.statements]
    for statement in (*migrations, *(view.statement for view in load_views())):
        for sql, client.database in spread(statement, server):
            client.command(sql.replace("PREWHERE", "WHERE"))  # the shares are views, which know no PREWHERE


def shared(client: Any) -> Iterator[int]:
    """Puts a share of the plain tables into the place of each table of a shard."""
    for table, key in _KEYS.items():
        columns = ", ".join(name for name, *_ in client.query(f"DESCRIBE {PLAIN}.{table}").result_rows)
        client.command(f"DROP TABLE {TWO.holder}.{table}")
        client.command(
            f"CREATE VIEW {TWO.holder}.{table} AS "
            f"SELECT {columns} FROM {PLAIN}.{table} WHERE {key} % 2 = shardNum() - 1"
        )
    for shard in (1, 2):
        only = f"SELECT count() FROM {TWO.database}.{INSERTED} WHERE shardNum() = {shard}"
        yield client.query(only).result_rows[0][0]


def copied(client: Any) -> Iterator[int]:
    for _ in range(2):
        client.command(
            f"INSERT INTO {ONE.database}.{INSERTED} SELECT * FROM {PLAIN}.{INSERTED}",
            settings={"insert_deduplication_token": "of this range"},
        )
    for table in (INSERTED, f"{INSERTED}_5m"):
        for database in (PLAIN, ONE.database):
            yield client.query(f"SELECT count() FROM {database}.{table}").result_rows[0][0]
    for table in _KEYS.keys() - {INSERTED}:
        client.command(f"INSERT INTO {ONE.database}.{table} SELECT * FROM {PLAIN}.{table}")


def differing(client: Any) -> Iterator[tuple[str, list[str]]]:
    for question in with_forms():
        answers = []
        for client.database in (PLAIN, TWO.database, ONE.database):
            answers.append(repr(client.query(question.sql, parameters=values(question, {})).result_rows))
        if len(set(answers)) > 1:
            yield question.name, [answer[:2000] for answer in answers]


def differing_copies(client: Any) -> list[str]:
    sql = "SELECT count(), sum(cityHash64(*)) FROM {}.{}"
    return [
        table
        for table in _KEYS
        if len({client.query(sql.format(each, table)).result_rows[0] for each in (PLAIN, ONE.database)}) > 1
    ]


def lost(client: Any) -> list[str]:
    client.command(f"ALTER TABLE {ONE.holder}.{INSERTED} DETACH PARTITION ALL")
    parameters = {"database": ONE.holder, "tables": TABLES}
    parts = client.query(lost_parts(ONE.cluster), parameters=parameters).result_rows
    return sorted({part.split()[0] for part, _ in parts})


def outcome(client: Any) -> Outcome:
    made(client, ONE)
    made(client, TWO)
    one, two, plain = (
        {
            tuple(row)
            for row in client.query(_COLUMNS, parameters={"database": name, "tables": list(_KEYS)}).result_rows
        }
        for name in (ONE.database, TWO.database, PLAIN)
    )
    shares, inserted = list(shared(client)), list(copied(client))
    columns, copies = sorted((plain ^ one) | (plain ^ two)), differing_copies(client)
    return Outcome(columns, shares, dict(differing(client)), copies, inserted, lost(client))


if __name__ == "__main__":
    print(msgspec.json.encode(outcome(opened(Path(sys.argv[1])))).decode(), flush=True)  # noqa: T201
    os._exit(0)  # no need to wait for the engine's threads
