"""Signals that nothing guards (rules: unguarded-signals)."""

import pytest

from streams.rules.eviction.signals import CONSEQUENCES, RESOURCES, Reading, unguarded_of


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (Reading("imagefs.available", 50, 100, True), frozenset()),  # the same file system
        (Reading("imagefs.available", 51, 100, True), frozenset()),  # the same, read some seconds later
        (Reading("imagefs.available", 52, 100, True), {"nodefs.available"}),
        (Reading("imagefs.available", 50, 101, True), {"nodefs.available"}),
        (Reading("imagefs.inodesFree", 50, 100, True), {"nodefs.available"}),  # bytes and inodes run out apart
        (Reading("imagefs.available", 50, 100, False), {"nodefs.available", "imagefs.available"}),
    ],
)
def test_a_signal_is_guarded_by_another_of_its_file_system(other: Reading, expected: frozenset[str]) -> None:
    assert unguarded_of([Reading("nodefs.available", 50, 100, False), other]) == expected


def test_its_own_threshold_guards_a_signal() -> None:
    assert unguarded_of([Reading("pid.available", 5, 100, True)]) == frozenset()


def test_a_signal_whose_threshold_cannot_be_set_is_not_named() -> None:
    assert unguarded_of([Reading("allocatableMemory.available", 5, 100, False)]) == frozenset()


def test_every_resource_without_a_threshold_has_a_consequence() -> None:
    assert CONSEQUENCES.keys() == set(RESOURCES.values())
