"""Signals and layouts from a summary (rules: eviction-signals, eviction-loop)."""

import re

import pytest
from msgspec.structs import replace

from ingest.model.samples import NodeSample
from streams.rules.eviction.signals import (
    CONDITIONS,
    RESOURCES,
    SIGNALS,
    Layout,
    Observed,
    describe_signal,
    layout_of,
    observe,
)

GI = 2**30

# Of the capture's first summary, 04:17:07 (rules: recorded-behaviour).
RECORDED = NodeSample(
    memory_available_bytes=22029869056,
    memory_working_set_bytes=3246645248,
    pods_memory_available_bytes=25042997248,
    pods_memory_working_set_bytes=233517056,
    nodefs_available_bytes=72898576384,
    nodefs_capacity_bytes=270553174016,
    nodefs_inodes_free=16130405,
    nodefs_inodes=16777216,
    imagefs_available_bytes=72898576384,
    imagefs_capacity_bytes=270553174016,
    imagefs_inodes_free=16130405,
    imagefs_inodes=16777216,
    pids_max=32768,
    pids_current=401,
)


def test_memory_capacity_is_available_plus_working_set() -> None:
    # Both views add up to the machine's memory, 24684096Ki (rules: recorded-behaviour).
    observed = observe(RECORDED)
    assert observed["memory.available"] == Observed(22029869056, 24684096 * 1024)
    assert observed["allocatableMemory.available"] == Observed(25042997248, 24684096 * 1024)


def test_file_systems_are_observed_as_in_the_summary() -> None:
    observed = observe(RECORDED)
    assert observed["nodefs.available"] == Observed(72898576384, 270553174016)
    assert observed["nodefs.inodesFree"] == Observed(16130405, 16777216)
    assert observed["imagefs.available"] == Observed(72898576384, 270553174016)
    assert observed["imagefs.inodesFree"] == Observed(16130405, 16777216)


def test_free_processes_are_the_limit_minus_running_ones() -> None:
    assert observe(RECORDED)["pid.available"] == Observed(32768 - 401, 32768)


def test_a_signal_with_any_missing_input_is_not_observed() -> None:
    sample = NodeSample(
        memory_working_set_bytes=1,
        pods_memory_available_bytes=1,
        nodefs_available_bytes=1,
        imagefs_capacity_bytes=1,
        imagefs_inodes_free=1,
        containerfs_inodes=1,
        pids_max=1,
    )
    assert observe(sample) == {}


def test_zero_left_is_observed() -> None:
    assert observe(NodeSample(nodefs_available_bytes=0, nodefs_capacity_bytes=GI)) == {
        "nodefs.available": Observed(0, GI)
    }


def test_containerfs_is_observed_if_the_summary_has_it() -> None:
    sample = NodeSample(
        containerfs_available_bytes=1,
        containerfs_capacity_bytes=2,
        containerfs_inodes_free=3,
        containerfs_inodes=4,
    )
    assert observe(sample) == {
        "containerfs.available": Observed(1, 2),
        "containerfs.inodesFree": Observed(3, 4),
    }


def test_memory_comes_first_among_the_signals() -> None:
    assert [RESOURCES[signal] for signal in SIGNALS[:2]] == ["memory", "memory"]
    assert list(observe(RECORDED)) == [signal for signal in SIGNALS if not signal.startswith("containerfs")]


@pytest.mark.parametrize(
    ("prefix", "condition"),
    [
        ("memory", "MemoryPressure"),
        ("allocatableMemory", "MemoryPressure"),
        ("nodefs", "DiskPressure"),
        ("imagefs", "DiskPressure"),
        ("containerfs", "DiskPressure"),
        ("pid", "PIDPressure"),
    ],
)
def test_each_signal_sets_its_condition(prefix: str, condition: str) -> None:
    of_prefix = [signal for signal in SIGNALS if signal.startswith(f"{prefix}.")]
    assert of_prefix
    assert {CONDITIONS[signal] for signal in of_prefix} == {condition}


def test_each_signal_starves_its_resource() -> None:
    assert {
        signal: resource for signal, resource in RESOURCES.items() if resource not in {"memory", "ephemeral-storage"}
    } == {
        "nodefs.inodesFree": "inodes",
        "imagefs.inodesFree": "inodes",
        "containerfs.inodesFree": "inodes",
        "pid.available": "pids",
    }
    assert set(RESOURCES) == set(SIGNALS) == set(CONDITIONS)


def _sample(
    nodefs: tuple[int | None, int | None],
    imagefs: tuple[int | None, int | None],
    containerfs: tuple[int | None, int | None] = (None, None),
) -> NodeSample:
    return NodeSample(
        nodefs_capacity_bytes=nodefs[0],
        nodefs_inodes=nodefs[1],
        nodefs_available_bytes=1,
        imagefs_capacity_bytes=imagefs[0],
        imagefs_inodes=imagefs[1],
        imagefs_available_bytes=2,
        containerfs_capacity_bytes=containerfs[0],
        containerfs_inodes=containerfs[1],
        containerfs_available_bytes=3,
    )


NODE_DISK, IMAGE_DISK = (100 * GI, 1000), (50 * GI, 500)


def test_equal_capacity_and_inodes_are_one_file_system_although_available_differs() -> None:
    assert layout_of(_sample(NODE_DISK, NODE_DISK, NODE_DISK)) is Layout.SINGLE


def test_images_and_writable_layers_on_another_disk_are_a_separate_imagefs() -> None:
    assert layout_of(_sample(NODE_DISK, IMAGE_DISK, IMAGE_DISK)) is Layout.SEPARATE_IMAGEFS


def test_a_kubelet_without_containerfs_can_show_a_separate_imagefs() -> None:
    assert layout_of(_sample(NODE_DISK, IMAGE_DISK)) is Layout.SEPARATE_IMAGEFS


def test_writable_layers_beside_the_nodes_data_with_images_elsewhere_are_split() -> None:
    assert layout_of(_sample(NODE_DISK, IMAGE_DISK, NODE_DISK)) is Layout.SPLIT


def test_equal_capacity_with_different_inodes_are_two_file_systems() -> None:
    assert layout_of(_sample(NODE_DISK, (NODE_DISK[0], 7))) is Layout.SEPARATE_IMAGEFS


def test_different_capacity_without_inodes_are_two_file_systems() -> None:
    # btrfs has no fixed number of inodes and tells 0.
    assert layout_of(_sample((100 * GI, 0), (50 * GI, 0))) is Layout.SEPARATE_IMAGEFS


@pytest.mark.parametrize("imagefs", [(None, None), (0, None), (0, 0)])
def test_an_unknown_imagefs_counts_as_nodefs(imagefs: tuple[int | None, int | None]) -> None:
    assert layout_of(_sample(NODE_DISK, imagefs)) is Layout.SINGLE


def test_inodes_that_only_one_side_reports_do_not_separate() -> None:
    assert layout_of(_sample(NODE_DISK, (NODE_DISK[0], None))) is Layout.SINGLE


def test_the_recorded_node_has_a_single_file_system() -> None:
    assert layout_of(RECORDED) is Layout.SINGLE


def test_every_signal_is_reported_without_the_kubelet_s_spelling() -> None:
    reported = [describe_signal(signal) for signal in SIGNALS]
    assert len(set(reported)) == len(SIGNALS)
    assert [text for text in reported if re.search(r"[a-z][A-Z]|\.|fs", text)] == []
    assert describe_signal("of.tomorrow") == "of.tomorrow"


def test_a_node_with_a_maximum_of_0_processes_has_no_pid_signal() -> None:
    """A share of nothing is none: an alert divided by it."""
    assert "pid.available" not in observe(replace(RECORDED, pids_max=0, pids_current=1))
