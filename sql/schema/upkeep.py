"""Maintains a lander's database: computes dependent rows, renews current rows, and warns of a full disk.

Rows that are still current, such as a running pod, a firing alert or the last change, are stored again before their
retention ends. Such a row replaces itself, so renewal can be repeated, by several processes at once.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from threading import Event, Thread
from types import TracebackType
from typing import Final, NamedTuple, Self

import structlog

from common.scrub import scrub
from common.telemetry import Figure, registered
from common.text import plain
from sql.database.errors import DatabaseError
from sql.database.open import Database
from sql.schema.retention import retention_of
from sql.schema.views import CHANGE_SORT_KEY

MEMORY_BYTES: Final = 1 << 30
"""Memory that one query may use before it continues on disk."""

_OLD: Final = "landed_at < now() - toIntervalSecond({seconds:UInt32})"


class _Current(NamedTuple):
    """A table in which the last row of each subject is its current state, if `holds` is true."""

    subject: str
    holds: str = "1"
    of_nodes: bool = True
    """True if it ends with the deletion of its node."""


_LAST_CHANGE: Final = f"argMax(change, {CHANGE_SORT_KEY})"
CURRENT: Final = {
    "alerts": _Current("cluster, fingerprint, starts_at", "NOT has(groupArray(status), 'resolved')"),
    "image_gc": _Current("cluster, node, reason"),
    "late_joiners": _Current("cluster", of_nodes=False),
    "numa_allocations": _Current("cluster, node, numa_node"),
    "numa_alignment": _Current("cluster, node, namespace, pod, container", "argMax(explanation, ts) != 'gone'"),
    "numa_disagreements": _Current("cluster, node, numa_node, source_a, source_b"),
    "numa_pods": _Current("cluster, node, namespace, pod, uid, container", "argMax(cpus, ts) > 0"),
    "numa_resources": _Current("cluster, node, numa_node, resource, source"),
    "numa_skew": _Current("cluster, scope, node"),
    "pod_bindings": _Current("cluster, namespace, pod, uid", f"{_LAST_CHANGE} NOT IN ('finished', 'deleted')"),
    "pressure_changes": _Current("cluster, node, condition"),
    "scheduled_lists": _Current("cluster, resource, after", of_nodes=False),
    "scheduled_objects": _Current(
        "cluster, resource, namespace, name, uid", "NOT argMax(deleted, ts)", of_nodes=False
    ),
    "settings_warnings": _Current("cluster, node, rule, subject", "argMax(holds, ts)"),
}


def renew(db: Database) -> None:
    """Store current states again after half of their table's retention. Raises DatabaseError."""
    for table, current in CURRENT.items():
        days = retention_of(db, table)
        if days is not None:
            since = {"seconds": days * 86_400 // 2}
            if db.query(f"SELECT 1 FROM {table} WHERE {_OLD} LIMIT 1", since).rows:
                db.command(_renewal(table, current), since)


def _renewal(table: str, current: _Current) -> str:
    gone = "SELECT cluster, node FROM nodes GROUP BY cluster, node HAVING argMax(deleted, ts)"
    return f"""
        INSERT INTO {table}
        SELECT * FROM {table} FINAL
        WHERE {_OLD}
            AND ({current.subject}, ts) IN
                (SELECT {current.subject}, max(ts) FROM {table} GROUP BY {current.subject} HAVING {current.holds})
            {f"AND (cluster, node) NOT IN ({gone})" if current.of_nodes else ""}
        SETTINGS insert_deduplicate = 0, max_bytes_before_external_group_by = {MEMORY_BYTES}
    """


PAUSE_SECONDS: Final = 10.0
SHARE: Final = 20
"""Pause after each round, as a multiple of its duration."""
DISK_SECONDS: Final = 60.0
RENEWAL_SECONDS: Final = 86_400.0
CLOSING_SECONDS: Final = 5.0
LOW_PERCENT: Final = 10
"""Percentage of free disk space below which every further percent lost is logged."""
DISK_FREE: Final = Figure(
    "database_disk_free_ratio", "gauge", "Free share of a disk of the database, 0 to 1", ("disk",)
)
_DISKS: Final = "SELECT name, free_space / total_space FROM system.disks WHERE total_space > 0"
log = structlog.get_logger(__name__)


class Upkeep:
    """A block with upkeep beside it, on a thread that does not keep a process alive if its database hangs.

    When the block ends, the database is closed if it answers within CLOSING_SECONDS.
    """

    def __init__(
        self, connect: Callable[[], Database], calculate: Callable[[Database], None] = lambda _: None
    ) -> None:
        self._connect = connect
        self._calculate = calculate
        self._free: Mapping[tuple[str, ...], float] = {}
        self._logged: dict[str, int] = {}
        self._trouble = ""
        self._once_at = self._renew_at = 0.0
        self._ended = Event()
        self._thread = Thread(target=self._run, name="upkeep", daemon=True)
        self._registration: AbstractContextManager[None] = registered({DISK_FREE: lambda: self._free})

    def __enter__(self) -> Self:
        self._registration.__enter__()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join(CLOSING_SECONDS)
        self._registration.__exit__(kind, error, trace)

    def once(self, database: Database) -> None:
        """Check the disks and, once a day, renew current rows. Raises DatabaseError."""
        self._free = {(str(name),): float(free) for name, free in database.query(_DISKS).rows}
        for (disk,), free in self._free.items():
            percent = int(100 * free)
            if percent < LOW_PERCENT and percent < self._logged.get(disk, LOW_PERCENT):
                log.error("a disk of the database is nearly full", disk=disk, free_percent=percent)
            self._logged[disk] = percent
        if time.monotonic() >= self._renew_at:
            renew(database)
            self._renew_at = time.monotonic() + RENEWAL_SECONDS

    def _run(self) -> None:
        while not self._ended.is_set():
            began, trouble = time.monotonic(), ""
            try:
                with self._connect() as database:
                    if began >= self._once_at:
                        self._once_at = began + DISK_SECONDS
                        self.once(database)
                    self._calculate(database)
            except Exception as error:  # noqa: BLE001  # nobody would notice that the thread has ended
                trouble = str(error) if isinstance(error, DatabaseError) else scrub(plain(repr(error)))
                if trouble != self._trouble:
                    log.warning("the upkeep of the database failed", reason=trouble)
            self._trouble = trouble
            self._ended.wait(max(PAUSE_SECONDS, SHARE * (time.monotonic() - began)))
