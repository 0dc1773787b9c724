"""Fixtures of every test: the real components, and a migrated database; and the time that property tests may take."""

from typing import Final

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["components.database", "components.fixtures", "components.progress"]

# how long an example takes is that of a machine which others use too
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

ONE_A_MACHINE: Final = "kubelet"
"""Two kubelets would meet in the machine's cgroups, and each would see the memory that the other's pods take."""
TOGETHER: Final = frozenset({"cluster"})
"""Components that cost more to start than their tests save beside each other."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put the tests of one component, or of one file, into a group that runs in one process, beside other groups."""
    if (marker := item.get_closest_marker("components")) is not None:
        item.add_marker(pytest.mark.xdist_group(_group(item, *marker.args)))


def _group(item: pytest.Item, component: str) -> str:
    if "real_node" in getattr(item, "fixturenames", ()):
        return ONE_A_MACHINE
    return component if component in TOGETHER else f"{component}:{item.path.stem.removeprefix('test_')}"
