"""The pod to blame, in a message about a node that runs out of something."""

import pytest

from components.rows import T0, row, store, store_samples, summary
from leadsman.run.alert import first_to_go
from sql.database.errors import DatabaseUnreachable
from sql.database.open import Database, connect
from streams.fold.findings import EvictionSignal, PodBinding
from streams.kafka.messages.alerts import AlertMessage

pytestmark = pytest.mark.asyncio
GIB = 1 << 30
OWNER = {"owner_kind": "ReplicaSet", "owner_name": "pay"}


def alert(name: str = "EvictionThresholdNear", status: str = "firing", **labels: str) -> AlertMessage:
    return AlertMessage(
        status="resolved" if status == "resolved" else "firing",
        fingerprint="f",
        labels={"alertname": name, "cluster": "c", "node": "n1", **labels},
        annotations={},
        starts_at=T0,
        updated_at=T0,
    )


async def test_it_is_the_first_of_the_eviction_order_with_room_and_time(database: Database) -> None:
    store(
        database,
        row(
            EvictionSignal,
            node="n1",
            signal="memory.available",
            available=4 * GIB,
            capacity=16 * GIB,
            hard_threshold=GIB,
            soft_threshold=None,
            seconds_to_hard=720.0,
            seconds_to_soft=None,
        ),
        row(PodBinding, change="bound", node="n1", namespace="shop", pod="a", uid="a", **OWNER),
    )
    pods = [{"namespace": "shop", "pod": "a", "uid": "a", "memory_working_set_bytes": 5 * GIB}]
    memory = {"memory_available_bytes": 4 * GIB, "memory_working_set_bytes": 12 * GIB}
    store_samples(database, summary(T0, "n1", pods, **memory))

    def opened() -> Database:
        return connect(str(database), read_only=True)

    said = await first_to_go(opened, alert())
    assert said == (
        "Next to be evicted: shop/a of ReplicaSet pay. "
        "memory.available: 3.00 GiB left above the hard threshold, met in 12 min."
    )
    for other in (alert(status="resolved"), alert("NodeNotReady"), alert(node="n2"), alert(node="")):
        assert await first_to_go(opened, other) == ""


async def test_a_database_that_does_not_answer_keeps_no_message_back() -> None:
    def away() -> Database:
        raise DatabaseUnreachable("away")

    assert await first_to_go(away, alert()) == ""
