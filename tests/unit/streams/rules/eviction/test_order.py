"""The eviction order, against a naive model that compares two pods at a time (rules: eviction-loop,
eviction-order).
"""

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import EXAMPLES
from streams.rules.eviction.order import RankedPod, SignalUse, rank, signal_use, tied
from streams.rules.eviction.signals import SIGNALS, Layout

MI = 2**20


def _pod(name: str = "a", **amounts: Any) -> RankedPod:
    fields: dict[str, Any] = {
        "namespace": "default",
        "name": name,
        "uid": f"uid-{name}",
        "priority": 0,
        "memory_request_bytes": 0,
        "ephemeral_request_bytes": 0,
        "has_stats": True,
    }
    return RankedPod(**(fields | amounts))


def _names(signal: str, layout: Layout, pods: list[RankedPod], version: str = "v1.36.3") -> list[str]:
    return [pods[index].name for index in rank(signal, layout, pods, version)]


def test_memory_ranks_by_missing_stats_then_excess_then_priority_then_amount() -> None:
    pods = [
        _pod("within-low-priority", priority=-5, memory_working_set_bytes=100, memory_request_bytes=100),
        _pod("exceeds-high-priority", priority=9, memory_working_set_bytes=10**9),
        _pod("exceeds-little", memory_working_set_bytes=600, memory_request_bytes=500),
        _pod("exceeds-much", memory_working_set_bytes=300, memory_request_bytes=0),
        _pod("no-stats", priority=10**9, has_stats=False),
    ]
    assert _names("memory.available", Layout.SINGLE, pods) == [
        "no-stats",
        "exceeds-much",
        "exceeds-little",
        "exceeds-high-priority",
        "within-low-priority",
    ]


def test_the_recorded_memory_eviction_took_the_first_of_the_order() -> None:
    # Capture, 04:19:28: the hog at 5098905600 of 128Mi; the others' use as sampled, requests 0.
    pods = [
        _pod("best", memory_working_set_bytes=21536768),
        _pod("pinned", memory_working_set_bytes=458752),
        _pod("burst", memory_working_set_bytes=211427328),
        _pod("hog-775668d95b-wcnzb", memory_working_set_bytes=5098905600, memory_request_bytes=128 * MI),
    ]
    assert _names("memory.available", Layout.SINGLE, pods)[0] == "hog-775668d95b-wcnzb"


def test_use_equal_to_the_request_does_not_exceed_it() -> None:
    equal = _pod(memory_working_set_bytes=5, memory_request_bytes=5)
    above = _pod(memory_working_set_bytes=6, memory_request_bytes=5)
    assert signal_use("memory.available", Layout.SINGLE, equal) == SignalUse(5, 5, exceeds_request=False)
    assert signal_use("memory.available", Layout.SINGLE, above) == SignalUse(6, 5, exceeds_request=True)


def test_allocatable_memory_ranks_as_memory() -> None:
    pods = [_pod(f"p{i}", memory_working_set_bytes=i * 7 % 5, memory_request_bytes=2) for i in range(9)]
    assert rank("allocatableMemory.available", Layout.SINGLE, pods) == rank("memory.available", Layout.SINGLE, pods)


def test_inodes_always_exceed_and_are_compared_minus_the_ephemeral_storage_request() -> None:
    # The kubelet takes bytes from inodes: 10 inodes less 100 bytes come after 1 inode less 0.
    pods = [_pod("many", rootfs_inodes_used=10, ephemeral_request_bytes=100), _pod("one", rootfs_inodes_used=1)]
    assert _names("nodefs.inodesFree", Layout.SINGLE, pods) == ["one", "many"]
    assert signal_use("nodefs.inodesFree", Layout.SINGLE, pods[0]) == SignalUse(10, 0, exceeds_request=True)


def test_a_pod_without_inodes_does_not_exceed() -> None:
    assert not signal_use("nodefs.inodesFree", Layout.SINGLE, _pod()).exceeds_request


def test_processes_rank_by_priority_then_number() -> None:
    pods = [
        _pod("important", priority=1, processes=1000),
        _pod("few", processes=1),
        _pod("many", processes=50),
    ]
    assert _names("pid.available", Layout.SINGLE, pods) == ["many", "few", "important"]


def test_before_1_20_processes_are_not_counted() -> None:
    pods = [_pod("a", processes=1), _pod("b", processes=50), _pod("c", priority=-1)]
    assert _names("pid.available", Layout.SINGLE, pods, "v1.19.16") == ["c", "a", "b"]
    assert _names("pid.available", Layout.SINGLE, pods, "v1.20.0") == ["c", "b", "a"]
    assert _names("pid.available", Layout.SINGLE, pods, "") == ["c", "b", "a"]


def test_processes_have_no_request_to_exceed() -> None:
    assert signal_use("pid.available", Layout.SINGLE, _pod(processes=7)) == SignalUse(7, 0, exceeds_request=False)


def test_a_pod_without_stats_has_no_known_usage() -> None:
    pod = _pod(has_stats=False, memory_working_set_bytes=5, memory_request_bytes=1)
    assert signal_use("memory.available", Layout.SINGLE, pod) == SignalUse(None, 1, exceeds_request=False)


PARTS = {"root": 1, "logs": 10, "volumes": 100}
EVERYTHING, PODS_DATA, WRITABLE_LAYERS, NOTHING = 111, 110, 1, 0


@pytest.mark.parametrize(
    ("layout", "nodefs", "imagefs", "containerfs"),
    [
        (Layout.SINGLE, EVERYTHING, EVERYTHING, EVERYTHING),
        (Layout.SEPARATE_IMAGEFS, PODS_DATA, WRITABLE_LAYERS, WRITABLE_LAYERS),
        (Layout.SPLIT, EVERYTHING, NOTHING, EVERYTHING),
    ],
)
def test_a_signal_measures_the_content_of_its_file_system(
    layout: Layout, nodefs: int, imagefs: int, containerfs: int
) -> None:
    pod = _pod(
        rootfs_used_bytes=PARTS["root"],
        logs_used_bytes=PARTS["logs"],
        volumes_used_bytes=PARTS["volumes"],
        rootfs_inodes_used=PARTS["root"] * 3,
        logs_inodes_used=PARTS["logs"] * 3,
        volumes_inodes_used=PARTS["volumes"] * 3,
    )
    for name, amount in (("nodefs", nodefs), ("imagefs", imagefs), ("containerfs", containerfs)):
        assert signal_use(f"{name}.available", layout, pod).usage == amount
        assert signal_use(f"{name}.inodesFree", layout, pod).usage == amount * 3


@pytest.mark.parametrize("signal", SIGNALS)
def test_critical_pods_are_never_ranked(signal: str) -> None:
    pods = [_pod("critical", critical=True, has_stats=False), _pod("other")]
    assert rank(signal, Layout.SINGLE, pods) == [1]
    assert rank(signal, Layout.SINGLE, pods, "v1.15.0") == [1]


def test_equal_pods_are_sorted_by_namespace_name_and_uid() -> None:
    pods = [_pod("b", namespace="z"), _pod("b", uid="2"), _pod("b", uid="1"), _pod("a", namespace="default")]
    assert rank("memory.available", Layout.SINGLE, pods) == [3, 2, 1, 0]


def test_pods_that_the_kubelet_compares_as_equal_are_tied() -> None:
    # As recorded at 04:20:22: each uses as much above its request, so which goes first is open.
    pods = [_pod(name, rootfs_used_bytes=20480) for name in ("best", "burst", "pinned")]
    pods += [_pod("more", rootfs_used_bytes=20481), _pod("critical", rootfs_used_bytes=20480, critical=True)]
    assert tied("nodefs.available", Layout.SINGLE, pods, "uid-pinned") == 3
    assert tied("nodefs.available", Layout.SINGLE, pods, "uid-more") == 1
    assert tied("nodefs.available", Layout.SINGLE, pods, "uid-critical") == 0
    assert tied("nodefs.available", Layout.SINGLE, pods, "unknown") == 0


def test_an_unknown_signal_is_refused() -> None:
    with pytest.raises(KeyError):
        rank("disk.available", Layout.SINGLE, [])


small = st.integers(0, 3)
pods_of = st.lists(
    st.builds(
        RankedPod,
        namespace=st.sampled_from("xy"),
        name=st.sampled_from("abc"),
        uid=st.uuids().map(str),
        priority=st.integers(-1, 1),
        memory_request_bytes=small,
        ephemeral_request_bytes=small,
        has_stats=st.booleans(),
        memory_working_set_bytes=small,
        rootfs_used_bytes=small,
        rootfs_inodes_used=small,
        logs_used_bytes=small,
        logs_inodes_used=small,
        volumes_used_bytes=small,
        volumes_inodes_used=small,
        processes=small,
        critical=st.sampled_from([False, False, False, True]),
    ),
    max_size=8,
)

Comparator = Callable[[RankedPod, RankedPod], int]


def _first(one: bool, other: bool) -> int:
    return int(other) - int(one)


def _missing_stats(one: RankedPod, other: RankedPod) -> int | None:
    if one.has_stats and other.has_stats:
        return None
    return _first(not one.has_stats, not other.has_stats)


def _by_stats(of_both: Comparator) -> Comparator:
    def compare(one: RankedPod, other: RankedPod) -> int:
        missing = _missing_stats(one, other)
        return of_both(one, other) if missing is None else missing

    return compare


def _by_priority(one: RankedPod, other: RankedPod) -> int:
    return one.priority - other.priority


def _in_use(signal: str, layout: Layout, pod: RankedPod) -> int:
    if "emory" in signal:
        return pod.memory_working_set_bytes
    kind = "inodes_used" if signal.endswith("inodesFree") else "used_bytes"
    file_system = signal.split(".", maxsplit=1)[0]
    if layout is Layout.SINGLE:
        parts = ["rootfs", "logs", "volumes"]
    elif layout is Layout.SPLIT:
        parts = [] if file_system == "imagefs" else ["rootfs", "logs", "volumes"]
    else:
        parts = ["logs", "volumes"] if file_system == "nodefs" else ["rootfs"]
    return sum(int(getattr(pod, f"{part}_{kind}")) for part in parts)


def _model(signal: str, layout: Layout) -> list[Comparator]:
    """The comparators in their order, then the tie-break that is ours (rules: eviction-order)."""

    def used(pod: RankedPod) -> int:
        return _in_use(signal, layout, pod)

    def request(pod: RankedPod) -> int:
        if signal.endswith("inodesFree"):
            return 0
        return pod.memory_request_bytes if "emory" in signal else pod.ephemeral_request_bytes

    def above(pod: RankedPod) -> int:
        return used(pod) - (pod.memory_request_bytes if "emory" in signal else pod.ephemeral_request_bytes)

    def by_name(one: RankedPod, other: RankedPod) -> int:
        left, right = one[:3], other[:3]
        return (left > right) - (left < right)

    if signal == "pid.available":
        return [_by_priority, _by_stats(lambda one, other: other.processes - one.processes), by_name]
    return [
        _by_stats(lambda one, other: _first(used(one) > request(one), used(other) > request(other))),
        _by_priority,
        _by_stats(lambda one, other: above(other) - above(one)),
        by_name,
    ]


@settings(max_examples=EXAMPLES * 2)
@given(pods=pods_of, signal=st.sampled_from(SIGNALS), layout=st.sampled_from(Layout))
def test_the_order_equals_that_of_the_kubelets_comparators(
    pods: list[RankedPod], signal: str, layout: Layout
) -> None:
    comparators = _model(signal, layout)

    def compare(one: int, other: int) -> int:
        return next((found for each in comparators if (found := each(pods[one], pods[other]))), 0)

    candidates = [index for index, pod in enumerate(pods) if not pod.critical]
    assert rank(signal, layout, pods) == sorted(candidates, key=cmp_to_key(compare))


@given(pods=pods_of, signal=st.sampled_from(SIGNALS), layout=st.sampled_from(Layout), seed=st.randoms())
def test_the_order_does_not_depend_on_the_order_of_the_input(
    pods: list[RankedPod], signal: str, layout: Layout, seed: Any
) -> None:
    shuffled = list(pods)
    seed.shuffle(shuffled)
    ordered = [pods[index] for index in rank(signal, layout, pods)]
    assert [shuffled[index] for index in rank(signal, layout, shuffled)] == ordered
