"""Causes of a full disk, by hand: kinds, slopes, limits, and null where the evidence is missing."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple, TypeAlias

import pytest
from msgspec.structs import replace

from components.database import EmptyDatabase
from components.rows import T0, dicts, row, store, store_samples, summary
from ingest.model.records import SummaryRecord
from streams.fold.findings import EvictionSignal, StorageLimit

MIB = 1 << 20
GIB = 1 << 30


def sample(minute: float, *, pods: bool = True, **node: Any) -> SummaryRecord:
    """One file system, on which a pod's logs grow by 1 MiB a second, a volume by 2, and images not at all."""
    seconds = int(minute * 60)
    pod = {
        "namespace": "ns",
        "pod": "p",
        "uid": "u",
        "rootfs_used_bytes": 10 * MIB,
        "logs_used_bytes": seconds * MIB,
        "volumes_used_bytes": 2 * seconds * MIB,
        "volumes": f"data:{2 * seconds * MIB}:5",
    }
    usual = {
        "nodefs_capacity_bytes": 100 * GIB,
        "imagefs_capacity_bytes": 100 * GIB,
        "nodefs_used_bytes": 30 * GIB + 3 * seconds * MIB,
        "imagefs_used_bytes": 20 * GIB,
    }
    return summary(T0 + timedelta(seconds=seconds), "n", [pod] if pods else [], **(usual | node))


def signal() -> EvictionSignal:
    return row(
        EvictionSignal,
        node="n",
        signal="nodefs.available",
        available=40 * GIB,
        capacity=100 * GIB,
        hard_threshold=10 * GIB,
    )


LIMITS = row(
    StorageLimit,
    node="n",
    uid="u",
    volume_limits={"data": GIB},
    log_limit_bytes=100 * MIB,
    ephemeral_limit_bytes=4 * GIB,
)


class Case(NamedTuple):
    samples: Sequence[SummaryRecord]
    rows: Sequence[EvictionSignal | StorageLimit] = ()


CASES: Final = {
    "each kind": Case([sample(minute) for minute in range(5)], [signal(), LIMITS]),
    "without": Case([sample(minute, imagefs_used_bytes=None) for minute in range(3)]),
    "two disks": Case([sample(minute, imagefs_capacity_bytes=50 * GIB) for minute in range(5)]),
    "gone": Case([sample(minute, pods=minute < 4) for minute in range(5)]),
    "older": Case([sample(minute) for minute in (0, 1, 2, 3, 60, 61)]),
    "slow": Case(
        [
            summary(
                T0 + timedelta(minutes=minute),
                "n",
                nodefs_capacity_bytes=100 * GIB,
                imagefs_capacity_bytes=100 * GIB,
                nodefs_used_bytes=30 * GIB + minute * 60,
                imagefs_used_bytes=20 * GIB,
            )
            for minute in range(11)
        ],
        [signal()],
    ),
}
"""Clusters of one database, which one query answers."""
Growth: TypeAlias = dict[str, dict[str, dict[str, Any]]]


@pytest.fixture(scope="module")
def growth(empty_database: EmptyDatabase) -> Growth:
    """Return what is told of each kind, by case."""
    found: Growth = {name: {} for name in CASES}
    with empty_database() as database:
        for name, case in CASES.items():
            store(database, *(each._replace(cluster=name) for each in case.rows))
            store_samples(database, *(replace(each, cluster=name) for each in case.samples))
        for each in dicts(database, "SELECT * FROM disk_growth"):
            found[each["cluster"]][each["kind"]] = each
    return found


def test_each_kind_has_its_use_slope_limit_and_the_time_to_both_limits(growth: Growth) -> None:
    found = growth["each kind"]
    assert {kind: each["used_bytes"] for kind, each in found.items()} == {
        "logs": 240 * MIB,
        "volume": 480 * MIB,
        "writable_layer": 10 * MIB,
        "pod": 730 * MIB,
        # writable layers lie with the images (rules: disk-growth)
        "images": 20 * GIB - 10 * MIB,
        # 30 GiB and 720 MiB, less the pod's logs and volume, less images and writable layers
        "everything_else": 10 * GIB,
    }
    volume, logs = found["volume"], found["logs"]
    assert volume["bytes_per_second"] == pytest.approx(2 * MIB)
    assert (volume["volume"], volume["limit_bytes"], volume["over_limit"]) == ("data", GIB, 0)
    assert volume["seconds_to_limit"] == pytest.approx((1024 - 480) / 2)
    assert volume["seconds_to_threshold"] == pytest.approx(30 * 1024 / 2)
    assert (logs["over_limit"], logs["seconds_to_limit"]) == (1, 0)
    assert found["pod"]["seconds_to_limit"] == pytest.approx((4096 - 730) / 3)
    assert found["writable_layer"]["seconds_to_threshold"] is None
    assert found["images"]["bytes_per_second"] == 0


def test_without_limits_thresholds_or_samples_nothing_is_forecast(growth: Growth) -> None:
    found = growth["without"]
    # of images nothing is known, so neither of what lies beside them
    assert found.keys() == {"logs", "volume", "writable_layer", "pod"}
    unknown = ("bytes_per_second", "limit_bytes", "over_limit", "seconds_to_limit", "seconds_to_threshold")
    assert {each[name] for each in found.values() for name in unknown} == {None}


def test_images_on_a_disk_of_their_own_are_no_part_of_the_nodes(growth: Growth) -> None:
    assert growth["two disks"]["everything_else"]["used_bytes"] == 30 * GIB


def test_a_pod_that_is_gone_fills_nothing(growth: Growth) -> None:
    assert growth["gone"].keys() == {"images", "everything_else"}


def test_what_is_older_than_half_an_hour_does_not_count(growth: Growth) -> None:
    assert growth["older"]["logs"]["bytes_per_second"] is None


def test_minutes_support_no_forecast_of_years(growth: Growth) -> None:
    """60 bytes in a minute, and 30 GiB to go."""
    found = growth["slow"]["everything_else"]
    assert found["bytes_per_second"] == pytest.approx(1)
    assert found["seconds_to_threshold"] is None
