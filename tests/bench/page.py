"""`python -m tests.bench.page`: the report and the page on a database of 1,000 nodes and a day.

The database is filled by SQL alone, which takes about 10 minutes and 3 GB; `--db DIR` keeps it, and measures one that
is kept. More than 1,000 nodes are sampled every five minutes only: their roll-ups are the same. A figure is the
median of five runs after a first one: as a reader who looks twice has it.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from leadsman.web.reading.ask import QUERIES, query_text
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, node_of, numa_of, overview_of
from sql.database.open import Database, connect
from sql.schema.migrate import migrate

from .page_fill import CLUSTER, fill, node_name

REPORT_SECONDS: Final = 5
REPORT_BYTES: Final = 5_000_000
QUERY_MILLISECONDS: Final = 300
MOST_FINE: Final = 1000
COARSE: Final = 300
"""Seconds between the samples of more nodes."""
RUNS: Final = 5
SLOWEST: Final = 5
"""Queries that are printed of each page."""
OF_THE_MAP: Final = (
    "nodes",
    "samples",
    "signals_now",
    "fit_last",
    "fit_now",
    "last_samples",
    "evictions_by_node",
    "clusters",
)
NODE: Final = node_name(50)
"""One that was under pressure and evicted."""


class Measured(NamedTuple):
    seconds: float
    size: int
    queries: dict[str, tuple[float, float]]
    """The slowest of each: milliseconds by the clock, and of CPU time."""


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
        fill(db, nodes, pods) if nodes <= MOST_FINE else fill(db, nodes, pods, COARSE, COARSE)
    print(f"filled {folder} in {time.perf_counter() - began:,.0f} s")


def _print_size(db: Database) -> None:
    tables = ("node_samples", "eviction_signals", "node_fit", "pod_samples", "node_events", "pod_bindings")
    for table in tables:
        rows = db.query(f"SELECT count() FROM {table} SETTINGS final = 0").rows[0][0]
        print(f"{table:20}{rows:14,} rows")


def _print(db: Database) -> None:
    now = datetime.now(UTC)
    pages: dict[str, Callable[[], str | None]] = {
        "report": lambda: write_report(db, RequestedRange(CLUSTER), now),
        "page of the cluster": lambda: overview_of(db, Request.of({"cluster": CLUSTER})),
        "page of NUMA nodes": lambda: numa_of(db, Request.of({"cluster": CLUSTER})),
        "page of a node": lambda: node_of(db, Request.of({"cluster": CLUSTER, "node": NODE})),
    }
    for name, make in pages.items():
        make()
        runs = [_measure(make) for _ in range(RUNS)]
        seconds = median(run.seconds for run in runs)
        print(f"\n{name:22}{seconds:7.2f} s{runs[0].size / 1e6:8.2f} MB{len(runs[0].queries):5} queries")
        medians = {
            query: (median(run.queries[query][0] for run in runs), median(run.queries[query][1] for run in runs))
            for query in runs[0].queries
        }
        for query in sorted(medians, key=lambda each: -medians[each][0])[:SLOWEST]:
            print(f"  {query:22}{medians[query][0]:7.0f} ms{medians[query][1]:7.0f} ms of CPU")
        every = sum(clock for clock, _ in medians.values())
        mapped, cpu = (sum(medians[query][part] for query in OF_THE_MAP if query in medians) for part in (0, 1))
        print(f"  {'all':22}{every:7.0f} ms;  those of the map {mapped:.0f} ms, {cpu:.0f} ms of CPU")
    print(
        f"\nwanted: the report < {REPORT_SECONDS} s and < {REPORT_BYTES / 1e6:.0f} MB, a query of 1,000 nodes", end=""
    )
    print(f" < {QUERY_MILLISECONDS} ms, the map of 5,000 < 1 s")


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _measure(make: Callable[[], str | None]) -> Measured:
    asked = [*(file.stem for file in QUERIES.glob("*.sql")), "charts_5m", "usage_5m"]
    names = {query_text(name): name for name in asked}
    queries: dict[str, tuple[float, float]] = {}
    ask = Database.query

    def timed(self: Database, sql: str, parameters: object = None) -> object:
        began, cpu = time.perf_counter(), _cpu_seconds()
        answer = ask(self, sql, parameters)  # type: ignore[arg-type]  # as it was given
        took = (time.perf_counter() - began) * 1000, (_cpu_seconds() - cpu) * 1000
        name = names.get(sql, "another")
        queries[name] = max(took, queries.get(name, (0.0, 0.0)))
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
