"""A node's sizing, by hand; unknown if it was not measured."""

from datetime import timedelta
from typing import Any

from msgspec.structs import replace

from components.rows import T0, dicts, row, store, store_samples, summary
from ingest.model.records import SummaryRecord
from sql.database.open import Database
from streams.fold.findings import EvictionSignal, NodeRow

GIB = 1 << 30
MIB = 1 << 20
HOUR = 3600
CORE = 10**9


def sample(
    seconds: int, node: str, *, outside: int | None = 800 * MIB, left: int = 8 * GIB, cores: float = 2.0
) -> SummaryRecord:
    """A node with 16 GiB, of which pods use 4, and whose pods use one core."""
    return summary(
        T0 + timedelta(seconds=seconds),
        node,
        [{"namespace": "ns", "pod": "p", "uid": "u", "cpu_usage_core_nanoseconds": seconds * CORE}],
        memory_available_bytes=left,
        memory_working_set_bytes=4 * GIB + (outside or 0),
        pods_memory_working_set_bytes=None if outside is None else 4 * GIB,
        cpu_usage_core_nanoseconds=int(seconds * cores * CORE),
    )


def node(name: str) -> tuple[NodeRow, EvictionSignal]:
    """924 MiB and 1 CPU reserved, and a hard threshold of 100 MiB."""
    return (
        row(
            NodeRow,
            ts=T0,
            node=name,
            capacity={"cpu": 4000, "memory": 18 * GIB, "hugepages-2Mi": 2 * GIB},
            allocatable={"cpu": 3000, "memory": 15 * GIB},
        ),
        row(EvictionSignal, ts=T0, node=name, signal="memory.available", available=8 * GIB, hard_threshold=100 * MIB),
    )


def sizing(db: Database) -> dict[tuple[str, str], dict[str, Any]]:
    return {(each["node"], each["resource"]): each for each in dicts(db, "SELECT * FROM node_sizing")}


def test_a_reservation_is_compared_with_what_is_used_outside_of_pods(database: Database) -> None:
    store(database, *node("well"), *node("tight"))
    times = (0, 240, HOUR)
    store_samples(database, *[sample(at, "well") for at in times])
    store_samples(database, *[sample(at, "tight", outside=2 * GIB, cores=3.0) for at in times])
    found = sizing(database)
    memory, cpu = found["well", "memory"], found["well", "cpu"]
    # 18 GiB less 15 allocatable, less 2 of huge pages, less the threshold
    assert (memory["verdict"], memory["reserved"], memory["outside_pods"]) == ("enough", 924 * MIB, 800 * MIB)
    # 800 MiB and a quarter, up to 64 MiB
    assert memory["advised_reserved"] == 1024 * MIB
    assert memory["arithmetic"].startswith(
        "Reserve: at most 800 MiB was used outside of pods; times 1.25, rounded up to a multiple of 64 MiB, is"
    )
    assert cpu["arithmetic"] == (
        "Reserve: at most 1,000m was used outside of pods; times 1.25, rounded up to a multiple of 50m, is 1,250m."
    )
    # two cores in 240 s, of which the pod had one; and a quarter more
    assert (cpu["verdict"], cpu["reserved"], cpu["outside_pods"], cpu["advised_reserved"]) == (
        "enough",
        1000,
        1000,
        1250,
    )
    assert found["tight", "memory"]["verdict"] == "too_little"
    assert found["tight", "memory"]["advised_reserved"] == 2560 * MIB
    assert found["tight", "cpu"]["verdict"] == "too_little"


def test_the_last_day_is_each_cluster_s_own(database: Database) -> None:
    """A cluster that was recorded a month before the other has its own answer, without what is older than its day."""
    before = 30 * 24 * HOUR
    store(database, *node("n"))
    store_samples(database, *[sample(at, "n") for at in (0, 240, HOUR)])
    peak = sample(-25 * HOUR, "n", outside=9 * GIB, cores=4.0)
    for each in [peak, *[sample(at, "n", outside=2 * GIB) for at in (0, 240, HOUR)]]:
        earlier = replace(each, cluster="old", ts=each.ts - timedelta(seconds=before))
        store_samples(database, earlier)
    found = {
        (each["cluster"], each["resource"]): (each["outside_pods"], each["measured_seconds"])
        for each in dicts(database, "SELECT * FROM node_sizing WHERE resource != 'ephemeral-storage'")
    }
    name = next(cluster for cluster, _ in found if cluster != "old")
    assert found == {
        (name, "memory"): (800 * MIB, HOUR),
        (name, "cpu"): (1000, HOUR),
        ("old", "memory"): (2 * GIB, HOUR),
        ("old", "cpu"): (1000, HOUR),
    }


def test_a_cluster_that_ended_long_ago_makes_nobody_read_more_than_a_day(database: Database) -> None:
    """Roll-ups of 90 days times 30,000 pods: neither memory nor time suffice."""
    store_samples(database, replace(sample(-40 * 24 * HOUR, "n"), cluster="old"))
    store_samples(database, *[sample(-30 * 24 * HOUR + 300 * each, "n") for each in range(60)])
    store_samples(database, *[sample(at, "n") for at in (0, 240, HOUR)])
    few = {"max_rows_to_group_by": 40, "group_by_overflow_mode": "throw"}
    assert database.query("SELECT DISTINCT cluster, node FROM node_sizing", settings=few).rows != []


def test_a_threshold_outlasts_two_loops_at_the_fastest_fall(database: Database) -> None:
    store(database, *node("n"))
    left = {0: 8 * GIB, 20: 6 * GIB, 30: 6 * GIB, HOUR: 1 * GIB}
    store_samples(database, *[sample(at, "n", left=each) for at, each in left.items()])
    memory = sizing(database)["n", "memory"]
    # 2 GiB in 20 s; the fall over most of an hour does not count
    assert (memory["fastest_fall"], memory["advised_threshold"]) == (GIB, 2 * GIB)
    assert (
        "fell by at most 1.00 GiB in 10 s; times 2, rounded up to a multiple of 16 MiB, at least 100 MiB, is 2.00 GiB"
        in (memory["arithmetic"])
    )


def test_an_unmeasured_value_is_unknown(database: Database) -> None:
    store(database, *node("short"), *node("no-pods"))
    store_samples(database, *[sample(at, "short") for at in (0, 600)])
    store_samples(database, *[sample(at, "no-pods", outside=None) for at in (0, HOUR)])
    store_samples(database, *[sample(at, "no-node") for at in (0, HOUR)])
    found = sizing(database)
    assert {key: each["verdict"] for key, each in found.items() if each["verdict"] != "unknown"} == {}
    assert found["short", "memory"]["advised_reserved"] is None
    assert found["short", "memory"]["arithmetic"] == "Unknown: measured for 10 min, which is less than an hour."
    assert found["short", "memory"]["advised_threshold"] is None
    assert found["no-pods", "memory"]["outside_pods"] is None
    assert found["no-node", "memory"]["reserved"] is None
