"""Reads findings of a database as metrics for Prometheus."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from common.telemetry import Figure, Values
from leadsman.web.reading.overview import read_spans
from sql.database.open import Database
from streams.fold.figures import GC_RECENT, SILENT, Figures
from streams.fold.findings import TABLES, Alert, EvictionSignal, ImageGc, NumaSkew

UNKNOWN: Final = timedelta(hours=1)
"""A live cluster without an observation for this long has no metrics, because its state is unknown."""
_WHERE: Final[Mapping[type[Any], str]] = {
    EvictionSignal: "ts > {signals:DateTime64(6)} ORDER BY ts DESC LIMIT 1 BY node, signal",
    ImageGc: "last_at > {gc:DateTime64(6)} ORDER BY updated_at",
    NumaSkew: "scope = 'node' ORDER BY ts DESC LIMIT 1 BY node",
    Alert: "true ORDER BY ts DESC, status = 'resolved' DESC LIMIT 1 BY fingerprint",
}
_GONE: Final = """
SELECT node FROM nodes WHERE cluster = {cluster:String} GROUP BY node HAVING argMax(deleted, ts)
"""


def read_figures(db: Database, now: datetime | None) -> Mapping[Figure, Values]:
    """Read the last finding of each node; without `now`, at the last observation. Raises DatabaseError."""
    figures = Figures()
    for span in read_spans(db):
        if now is not None and now - span.last_at > UNKNOWN:
            continue
        given = {"cluster": span.cluster, "signals": span.last_at - SILENT, "gc": span.last_at - GC_RECENT}
        gone = {node for (node,) in db.query(_GONE, given, described=False).rows}
        for kind, where in _WHERE.items():
            sql = (
                f"SELECT {', '.join(kind._fields)} FROM {TABLES[kind]} WHERE cluster = {{cluster:String}} AND {where}"
            )
            for row in db.query(sql, given, described=False).rows:
                found = kind(*row)
                if found.node not in gone or kind is Alert:
                    figures.take(found)
    return figures.values()
