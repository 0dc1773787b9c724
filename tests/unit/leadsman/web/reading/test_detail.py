"""The detail view of nodes: eviction orders, and the growth of pods (rules: eviction-order)."""

from datetime import timedelta
from typing import Any

from components.node_lines import node_line
from components.rows import T0, row, store, store_samples, summary
from leadsman.web.reading.detail import read_details
from leadsman.web.reading.margins import Margin
from leadsman.web.reading.nodes import Evicted
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from streams.fold.findings import Eviction, PodBinding

GIB = 1 << 30
MIB = 1 << 20
MINUTE = timedelta(minutes=1)
SCOPE = Scope("c", T0, T0 + timedelta(hours=24))
CAPACITY: dict[str, Any] = {
    "memory_available_bytes": GIB,
    "memory_working_set_bytes": 3 * GIB,
    "nodefs_capacity_bytes": 100 * GIB,
    "nodefs_inodes": 1000,
}


def bound(node: str) -> PodBinding:
    return row(PodBinding, change="bound", node=node, namespace="shop", pod=f"{node}-pod", uid=f"{node}-uid")


def sample(db: Database, node: str, minute: int, **used: int) -> None:
    pod = {"namespace": "shop", "name": f"{node}-pod", "uid": f"{node}-uid", **used}
    store_samples(db, summary(T0 + minute * MINUTE, node, [pod], **CAPACITY))


def margin(signal: str, available: int) -> Margin:
    return Margin(signal, available, 1000, 10, None, False, False, None, None, False, False)


def test_a_node_that_fell_silent_does_not_lengthen_the_growth_of_others(database: Database) -> None:
    """Node `silent` was sampled at 0 h, `busy` until 20 h: it grew by 1 MiB in each of the last 10 minutes, so
    60 MiB an hour. Over 20 hours the mean is 0.5 MiB an hour, which counts as none.
    """
    store(database, bound("silent"), bound("busy"))
    sample(database, "silent", 5, memory_working_set_bytes=MIB)
    sample(database, "busy", 5, memory_working_set_bytes=GIB)
    for minute in range(11):
        sample(database, "busy", 20 * 60 + minute, memory_working_set_bytes=GIB + minute * MIB)
    memory = margin("memory.available", 50)
    ends = {"silent": 5, "busy": 20 * 60 + 10}
    nodes = [node_line(name, sampled_at=T0 + end * MINUTE, margins=(memory,)) for name, end in ends.items()]
    _, busy = read_details(database, SCOPE, nodes)
    assert [place.growth for order in busy.orders for place in order.places] == ["+60.0 MiB/h"]


def test_of_signals_with_the_same_order_the_one_nearest_to_its_threshold_is_shown_in_its_place(
    database: Database,
) -> None:
    """The node has one file system. So `nodefs.available` and `imagefs.available` have the same order, and inodes
    have another one.
    """
    store(database, bound("n"))
    sample(database, "n", 5, rootfs_used_bytes=GIB, rootfs_inodes_used=7)
    signals = ("nodefs.available", "nodefs.inodesFree", "imagefs.available")
    margins = tuple(margin(each, 50 + place) for place, each in enumerate(signals))
    (detail,) = read_details(database, SCOPE, [node_line("n", sampled_at=T0 + 5 * MINUTE, margins=margins)])
    assert [order.signal for order in detail.orders] == ["nodefs.available", "nodefs.inodesFree"]


def test_the_first_eviction_is_the_first_of_more_than_are_listed(database: Database) -> None:
    """60 pods are evicted, one a minute; the page lists the last 50. The first of all is before minute 20."""
    store(database, bound("n"))
    for minute in (5, 25):
        sample(database, "n", minute, memory_working_set_bytes=minute * MIB)
    evicted = {"node": "n", "cause": "pressure", "resource": "memory", "signal": "memory.available"}
    store(
        database,
        *(
            row(Eviction, ts=T0 + minute * MINUTE, namespace="shop", pod=f"p{minute}", uid=f"u{minute}", **evicted)
            for minute in range(10, 70)
        ),
        row(Eviction, ts=T0 + 6 * MINUTE, namespace="shop", pod="own", uid="own", **evicted | {"cause": "limit"}),
    )
    line = node_line("n", sampled_at=T0 + 25 * MINUTE, evicted=Evicted(pressure=60, own_limit=1))
    (detail,) = read_details(database, SCOPE, [line])
    assert len(detail.evicted) == 50
    assert detail.first_order is not None
    assert detail.first_order.at == T0 + 10 * MINUTE
    assert [place.usage for place in detail.first_order.order.places] == ["5.00 MiB"]
