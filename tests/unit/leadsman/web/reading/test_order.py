"""The eviction order with its reasons (rules: eviction-order), and that it agrees with the view `eviction_order`."""

from datetime import timedelta
from typing import Any

from components.rows import T0, dicts, row, store, store_samples, summary
from leadsman.web.reading.ask import ask
from leadsman.web.reading.order import orders
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from streams.fold.findings import PodBinding

GIB = 1 << 30
MIB = 1 << 20
SCOPE = Scope("c", T0 - timedelta(hours=1), T0 + timedelta(hours=1))
SAMPLE: dict[str, Any] = {
    "memory_available_bytes": GIB,
    "memory_working_set_bytes": 3 * GIB,
    "nodefs_available_bytes": 10 * GIB,
    "nodefs_capacity_bytes": 100 * GIB,
    "nodefs_inodes_free": 900,
    "nodefs_inodes": 1000,
    "pids_max": 32768,
    "pids_current": 300,
}


def binding(pod: str, **values: Any) -> PodBinding:
    return row(PodBinding, change="bound", node="n", namespace="shop", pod=pod, uid=f"uid-{pod}", **values)


def stats(pod: str, **values: Any) -> dict[str, Any]:
    return {"namespace": "shop", "name": pod, "uid": f"uid-{pod}", **values}


def fill(db: Database) -> None:
    store(
        db,
        binding("over", eviction_memory_request_bytes=64 * MIB),
        binding("within", eviction_memory_request_bytes=GIB),
        binding("none", priority=5),
        binding("silent", priority=9),
        binding("critical", critical=True),
    )
    pods = [
        stats("over", memory_working_set_bytes=512 * MIB, processes=4),
        stats("within", memory_working_set_bytes=512 * MIB, processes=9),
        stats("none", memory_working_set_bytes=8 * MIB, processes=1),
        stats("critical", memory_working_set_bytes=2 * GIB, processes=1),
    ]
    store_samples(db, summary(T0, "n", pods, **SAMPLE))


def found(db: Database, *signals: str) -> dict[str, list[tuple[str, str]]]:
    (sample,) = ask(db, "last_sample", SCOPE, nodes=["n"])
    pods = ask(db, "order_pods", SCOPE, nodes=["n"])
    return {
        order.signal: [(place.pod, place.reason) for place in order.places]
        for order in orders(signals, sample, pods, "v1.36.3")
    }


def test_each_place_has_its_reason(database: Database) -> None:
    """No stats first, then over the request by priority, then within it (rules: eviction-order)."""
    fill(database)
    assert found(database, "memory.available") == {
        "memory.available": [
            ("silent", "no statistics: evicted before all pods with statistics"),
            ("over", "448 MiB over its request"),
            ("none", "requests none"),
            ("within", "within its request"),
        ]
    }


def test_the_order_is_that_of_the_view(database: Database) -> None:
    fill(database)
    signals = ("memory.available", "nodefs.available", "nodefs.inodesFree", "pid.available")
    viewed = dicts(database, "SELECT signal, pod FROM eviction_order ORDER BY signal, rank")
    for signal, places in found(database, *signals).items():
        assert [pod for pod, _ in places] == [each["pod"] for each in viewed if each["signal"] == signal], signal
