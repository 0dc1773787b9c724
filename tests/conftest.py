"""Fixtures of every test: the real components, and a migrated database; and the time that property tests may take."""

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["components.database", "components.fixtures"]

# how long an example takes is that of a machine which others use too
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a group share a machine's one kubelet, or a broker: `make test` runs these in one process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            item.add_marker("components")
