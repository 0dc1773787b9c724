"""Tests for a run in several processes: one process computes from the start, while the others wait for components."""

import os
from typing import Final

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadGroupScheduling
from xdist.workermanage import WorkerController

NICENESS: Final = 5
"""Niceness of the process that computes: it takes the CPU time that the others leave, and delays none of them."""


def pytest_configure() -> None:
    """Lower the priority of this process if it is the last of several."""
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if processes > 1 and os.environ["PYTEST_XDIST_WORKER"] == _last_of(processes):
        os.nice(NICENESS)


def _last_of(processes: int) -> str:
    return f"gw{processes - 1}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling | None:
    """Hand out the groups; one of a single process has its order from tests/conftest.py."""
    return Beside(config, log) if config.getoption("dist") == "loadgroup" else None


class Beside(LoadGroupScheduling):  # type: ignore[misc] # pytest-xdist has no types
    """Gives the last process a component's group only when no other is left, and the others such a group first."""

    def _assign_work_unit(self, node: WorkerController) -> None:
        waits = self.numnodes == 1 or node.gateway.id != _last_of(self.numnodes)
        chosen = next((group for group in self.workqueue if is_of_a_component(group) == waits), None)
        if chosen is not None:
            self.workqueue.move_to_end(chosen, last=False)
        super()._assign_work_unit(node)


def is_of_a_component(group: str) -> bool:
    """Report whether this group's tests wait for a real component: another is named by a file."""
    return "/" not in group
