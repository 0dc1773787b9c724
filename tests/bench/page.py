"""`python -m tests.bench.page`: the report and the page on a database of 1,000 nodes and a day.

The database is filled by SQL alone, which takes about 10 minutes and 3 GB; `--db DIR` keeps it, and measures one that
is kept. A figure is the second of two runs: as a reader who looks twice has it.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from leadsman.web.reading.asked import QUERIES
from leadsman.web.reading.scope import Asked
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, node_of, overview_of
from sql.database.open import Database, connect
from sql.schema.migrate import migrate

from .page_fill import CLUSTER, fill, node_name

REPORT_SECONDS: Final = 5
REPORT_BYTES: Final = 5_000_000
QUERY_MILLISECONDS: Final = 300
NODE: Final = node_name(50)
"""One that was under pressure and evicted."""


class Measured(NamedTuple):
    seconds: float
    size: int
    queries: dict[str, float]
    """The slowest of each, in milliseconds."""


def main() -> None:
    """Fill where nothing is kept, measure, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page", description=__doc__)
    parser.add_argument("--db", type=Path, help="a folder to keep the database in")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=30, help="of each node")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leadsman-bench-") as temporary:
        folder = given.db or Path(temporary) / "db"
        if not folder.exists():
            _fill(folder, given.nodes, given.pods)
        with connect(f"chdb://{folder}", make=False, read_only=True) as db:
            _print_size(db)
            _print(db)


def _fill(folder: Path, nodes: int, pods: int) -> None:
    began = time.perf_counter()
    with connect(f"chdb://{folder}") as db:
        migrate(db)
        fill(db, nodes, pods)
    print(f"filled {folder} in {time.perf_counter() - began:,.0f} s")


def _print_size(db: Database) -> None:
    tables = ("node_samples", "eviction_signals", "node_fit", "pod_samples", "node_events", "pod_bindings")
    for table in tables:
        rows = db.query(f"SELECT count() FROM {table} SETTINGS final = 0").rows[0][0]
        print(f"{table:20}{rows:14,} rows")


def _print(db: Database) -> None:
    now = datetime.now(UTC)
    pages: dict[str, Callable[[], str | None]] = {
        "report": lambda: write_report(db, Asked(CLUSTER), now),
        "page of the cluster": lambda: overview_of(db, Request.of({"cluster": CLUSTER})),
        "page of a node": lambda: node_of(db, Request.of({"cluster": CLUSTER, "node": NODE})),
    }
    print(f"\n{'':22}{'seconds':>9}{'MB':>8}{'queries':>9}   slowest query, ms")
    for name, make in pages.items():
        make()
        found = _measure(make)
        slowest = max(found.queries, key=lambda each: found.queries[each])
        print(
            f"{name:22}{found.seconds:9.2f}{found.size / 1e6:8.2f}{len(found.queries):9}"
            f"   {found.queries[slowest]:.0f} ({slowest})"
        )
    print(f"{'wanted':22}{f'< {REPORT_SECONDS}':>9}{f'< {REPORT_BYTES / 1e6:.0f}':>8}{'':9}   < {QUERY_MILLISECONDS}")


def _measure(make: Callable[[], str | None]) -> Measured:
    names = {file.read_text("utf-8"): file.stem for file in QUERIES.glob("*.sql")}
    queries: dict[str, float] = {}
    ask = Database.query

    def timed(self: Database, sql: str, parameters: object = None) -> object:
        began = time.perf_counter()
        answer = ask(self, sql, parameters)  # type: ignore[arg-type]  # as it was given
        took = (time.perf_counter() - began) * 1000
        name = names.get(sql, "another")
        queries[name] = max(took, queries.get(name, 0.0))
        return answer

    Database.query = timed  # type: ignore[method-assign,assignment]  # measured from outside
    try:
        began = time.perf_counter()
        text = make() or ""
        return Measured(time.perf_counter() - began, len(text.encode()), queries)
    finally:
        Database.query = ask  # type: ignore[method-assign]  # as it was


if __name__ == "__main__":
    main()
