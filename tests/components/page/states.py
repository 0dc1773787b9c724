"""Databases in the states that the pages are looked at in: quiet, in trouble, stale, empty, and of 5,000 nodes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from re import search
from typing import Final

from bench.page_fill import CLUSTER as FLEET
from bench.page_fill import SLICES, fill, node_name
from components.clickhouse import ClickHouseHttp
from components.command import start, succeeds
from components.rows import T0, row, store, store_samples, summary
from paths import LATE_JOINERS, NODE_PRESSURE
from sql.database.open import Database, connect
from sql.schema.migrate import migrate
from streams.fold.findings import EvictionSignal, NodeEvent, NodeFit, NodeRow, PodBinding
from waiting import PATIENCE_SECONDS

QUIET: Final = "c"
"""The cluster in which nothing happens."""
STATES: Final = (
    "quiet",
    "trouble",
    "stale",
    "stale-node",
    "no-samples",
    "empty",
    "fleet",
    "fleet-filtered",
    "numa",
    "numa-none",
    "numa-fleet",
    "node",
    "node-trouble",
    "ask",
    "runbook",
)
FLEET_NODES: Final = 5000
_GIB: Final = 1 << 30
_EVERY: Final = 900
"""Seconds between two samples of a node of the fleet."""


def fill_states(folder: Path) -> None:
    """`folder/states` holds the captures, a quiet cluster and the fleet; `folder/empty` nothing."""
    succeeds("replay", NODE_PRESSURE, LATE_JOINERS, db=folder / "states")
    with connect(f"chdb://{folder / 'states'}") as db:
        _quiet(db)
        fill(db, FLEET_NODES, pods=1, every=_EVERY, pods_every=_EVERY, events=5, first_slice=SLICES - 4)
    with connect(f"chdb://{folder / 'empty'}") as db:
        migrate(db)


@contextmanager
def served(folder: Path) -> Iterator[dict[str, str]]:
    """The address of the page in each state."""
    with ExitStack() as stack:
        states, empty = (stack.enter_context(_site(folder / name)) for name in ("states", "empty"))
        server = stack.enter_context(ClickHouseHttp(folder / "live")).dsn("live")
        with connect(server) as db:
            _stale(db)
        live = stack.enter_context(_site(server))
        fleet = f"cluster={FLEET}&since=2026-11-20T00:00:00Z&until=2026-11-20T23:46:00Z"
        quiet = f"cluster={QUIET}&since=2026-07-01T11:00:00Z&until=2026-07-01T12:00:05Z"
        yield {
            "quiet": f"{states}/?{quiet}",
            "trouble": f"{states}/?cluster=lab&since=2026-11-21T04:00:00Z&until=2026-11-21T04:30:00Z",
            "stale": f"{live}/",
            "stale-node": f"{live}/node?node=node-1",
            "no-samples": f"{states}/?cluster=lab&since=2026-11-21T05:00:00Z&until=2026-11-21T06:00:00Z",
            "empty": f"{empty}/",
            "fleet": f"{states}/?{fleet}",
            "fleet-filtered": f"{states}/?{fleet}&room=memory&by=both&level=2",
            "numa": f"{states}/numa?cluster=late-joiners&last=all",
            "numa-none": f"{states}/numa?{quiet}",
            "numa-fleet": f"{states}/numa?{fleet}",
            "node": f"{states}/node?{fleet}&node={node_name(50)}",
            "node-trouble": f"{states}/node?cluster=lab&node=real-node-1"
            "&since=2026-11-21T04:15:00Z&until=2026-11-21T04:25:00Z",
            "ask": f"{states}/ask?cluster=lab&name=evicted_pods",
            "runbook": f"{states}/runbooks/PodsEvicted?cluster=lab&node=real-node-1&last=1h",
        }


@contextmanager
def _site(db: Path | str) -> Iterator[str]:
    process = start("serve", "--port", "0", db=db)
    try:
        assert process.stderr is not None
        found = search(r"http://127\.0\.0\.1:[0-9]+", process.stderr.readline())
        assert found
        yield found.group()
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def _quiet(db: Database) -> None:
    """Six nodes with room in every signal, sampled until the end, and an Event of a pull."""
    pulled = {"type": "Normal", "reason": "Pulled", "object_kind": "Pod", "object_name": "web-0", "namespace": "shop"}
    store(db, row(NodeEvent, name="e", observed_at=T0, occurrences=1, **pulled))
    names = [f"node-{number}" for number in range(1, 7)]
    for nth, node in enumerate(names):
        store(
            db,
            row(NodeRow, node=node, ready=True, kubelet_version="v1.36.3", zone_key=f"r:\0:r-{'ab'[nth % 2]}",
                pool="general", created_at=T0 - timedelta(days=9)),
            *(row(NodeFit, node=node, resource=resource, capacity=has, allocatable=has, requested=has // 3, free=has)
              for resource, has in (("cpu", 16_000), ("memory", 64 * _GIB))),
            row(PodBinding, change="bound", phase="Running", node=node, namespace="shop", pod=f"web-{nth}",
                uid=f"u{nth}"),
            *(row(EvictionSignal, node=node, signal=signal, available=(40 - nth) * _GIB, capacity=64 * _GIB,
                  hard_threshold=_GIB) for signal in ("memory.available", "nodefs.available", "imagefs.available")),
        )  # fmt: skip
        sample = {"memory_available_bytes": 40 * _GIB, "memory_working_set_bytes": 24 * _GIB}
        store_samples(db, summary(T0, node, (), **sample))


def _stale(db: Database) -> None:
    """Six nodes that were last heard of 20 minutes ago, when a pod filled the memory of the first."""
    migrate(db)
    last = datetime.now(UTC) - timedelta(minutes=20)
    for nth in range(6):
        node, left = f"node-{nth + 1}", (1, 3, 8, 20, 40, 50)[nth] * _GIB
        pod = {"namespace": "shop", "pod": f"leaky-{nth}", "uid": f"u{nth}"}
        store(
            db,
            row(NodeRow, ts=last, node=node, ready=True, zone_key=f"r:\0:r-{'ab'[nth % 2]}", pool="general"),
            row(PodBinding, ts=last, change="bound", phase="Running", node=node, owner_kind="ReplicaSet",
                owner_name="leaky", **pod),
            row(EvictionSignal, ts=last, node=node, signal="memory.available", available=left, capacity=64 * _GIB,
                hard_threshold=2 * _GIB, hard_met=nth == 0),
        )  # fmt: skip
        for minute in range(11):
            grown = {"memory_working_set_bytes": _GIB * (1 + minute if nth == 0 else 1)}
            sample = {"memory_available_bytes": left, "memory_working_set_bytes": 64 * _GIB - left}
            at = last - timedelta(minutes=10 - minute)
            store_samples(db, summary(at, node, [pod | grown], **sample))
