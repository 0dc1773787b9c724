"""Fixtures of every test: the real components, and a migrated database; and the time that property tests may take."""

from functools import cache
from types import ModuleType

import pytest
from hypothesis import HealthCheck, settings

from sql.database.open import connect

pytest_plugins = ["components.database", "components.demo", "components.fixtures"]

# how long an example takes is that of a machine which others use too
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

DATABASES = frozenset({"migrated_folder", "demo_folder"})
"""Fixtures that make a database."""
IN_MEMORY = frozenset({"unit", "contract", "scenarios", "fuzz"})
"""Rooms whose tests call functions; those of others run programs."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a group share a machine's one kubelet, or a broker: `make test` runs these in one process.

    Tests that may open the embedded engine are marked for it: `make quick` runs the others.
    """
    for item in items:
        if item.get_closest_marker("xdist_group") is not None:
            item.add_marker("components")
        if _may_open_the_engine(item):
            item.add_marker("engine")


def _may_open_the_engine(item: pytest.Item) -> bool:
    assert isinstance(item, pytest.Function)
    if not DATABASES.isdisjoint(item.fixturenames) or item.nodeid.split("/")[1] not in IN_MEMORY:
        return True
    return _has_an_opener(item.module)


@cache
def _has_an_opener(module: ModuleType) -> bool:
    from components import command  # noqa: PLC0415 - pytest imports its plugins itself, to rewrite their assertions

    openers = (connect, command.leadsman, command.succeeds, command.start, command.leadsman_process)
    return not {*map(id, openers)}.isdisjoint(map(id, vars(module).values()))
