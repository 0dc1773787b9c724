"""Fixtures of every test: the real components."""

import pytest

pytest_plugins = ["components.database", "components.fixtures"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a group share a machine's one kubelet, or a broker: `make test` runs these in one process."""
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            item.add_marker("components")
