"""Rows and samples for tests of the database: what a test does not name is empty, zero or null."""

from collections.abc import Sequence
from datetime import UTC, datetime
from types import NoneType
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

from ingest.model.records import SummaryRecord
from ingest.model.samples import NodeSample, PodColumns, pack
from sql.database.open import Database
from sql.landing.batches import node_samples, pod_samples, to_arrow
from sql.schema.story import story
from streams.fold.batch import Batch
from streams.fold.findings import TABLES, NodeRow, Row

T0: Final = datetime(2026, 7, 1, 12, tzinfo=UTC)
"""A time on a full hour."""
_USUAL: Final[dict[type[Row], dict[str, Any]]] = {NodeRow: {"capacity": {"cpu": 4000}}}
"""Columns that only a table of nodes lacks."""
_EMPTY: Final[dict[Any, Any]] = {str: "", int: 0, float: 0.0, bool: False, datetime: T0}
R = TypeVar("R", bound=Row)


def row(row_type: type[R], **values: Any) -> R:
    """A row of cluster `c` at T0, with the named values."""
    given = {"cluster": "c", **_USUAL.get(row_type, {}), **values}
    return row_type(**{name: given.get(name, _empty(hint)) for name, hint in get_type_hints(row_type).items()})


def store(db: Database, *rows: Row) -> None:
    """Inserts rows of any types, each type into its table."""
    for row_type, table in TABLES.items():
        if of_type := [one for one in rows if type(one) is row_type]:
            db.insert(table, to_arrow(row_type, of_type))


def summary(ts: datetime, node: str, pods: Sequence[dict[str, Any]] = (), **sample: Any) -> SummaryRecord:
    """A sample of a node, with its pods by column names."""
    columns = {
        name: [pod.get(name, _empty(get_args(hint)[0])) for pod in pods]
        for name, hint in get_type_hints(PodColumns).items()
    }
    return SummaryRecord(ts=ts, cluster="c", node=node, sample=NodeSample(**sample), pods=PodColumns(**columns))


def add_sample(batch: Batch, record: SummaryRecord) -> None:
    """Store samples as both runtimes do."""
    batch.add_sample(record.folded(), pack(record.pods))


def store_samples(db: Database, *records: SummaryRecord) -> None:
    batch = Batch()
    for record in records:
        add_sample(batch, record)
    db.insert("node_samples", node_samples(batch.keys, batch.samples))
    db.insert("pod_samples", pod_samples(batch.keys, batch.texts, batch.numbers))


def lose_newest(db: Database, table: str) -> None:
    """Sets the newest part of a table aside, as ClickHouse does with one that it cannot read."""
    newest = "SELECT name FROM system.parts WHERE database = currentDatabase() AND table = {t:String} AND active"
    ((name,),) = db.query(f"{newest} ORDER BY min_block_number DESC LIMIT 1", {"t": table}).rows
    db.command(f"ALTER TABLE {table} DETACH PART '{name}'")


def dicts(db: Database, sql: str, **parameters: Any) -> list[dict[str, Any]]:
    """The rows of a query, each by column name; of the story, only branches that can have lines are planned."""
    if "FROM story " in sql:
        sql = sql.replace("FROM story ", f"FROM {story(db) or 'story'} ")
    found = db.query(sql, parameters)
    return [dict(zip(found.column_names, one, strict=True)) for one in found.rows]


def _empty(hint: Any) -> Any:
    if NoneType in get_args(hint):
        return None
    return {list: [], dict: {}}.get(get_origin(hint), _EMPTY.get(hint))
