"""Fixtures of every test: the real components, and a migrated database; and the time that property tests may take."""

from functools import cache
from types import ModuleType
from typing import Final

import pytest
from _pytest.nodeid import NodeId
from hypothesis import HealthCheck, settings

from sql.database.open import connect

pytest_plugins = ["components.database", "components.demo", "components.fixtures", "components.progress"]

# how long an example takes is that of a machine which others use too
settings.register_profile("shared", settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared")

ONE_A_MACHINE: Final = "kubelet"
"""Two kubelets would meet in the machine's cgroups, and each would see the memory that the other's pods take."""
TOGETHER: Final = frozenset({"cluster"})
"""Components that cost more to start than their tests save beside each other."""
DATABASES: Final = frozenset({"migrated_folder", "demo_folder"})
"""Fixtures that make a database."""
IN_MEMORY: Final = frozenset({"unit", "contract", "scenarios", "fuzz"})
"""Rooms whose tests call functions; those of others run programs."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that may open the engine, and put those with components into groups.

    A group, the tests of one component or of one file, runs in one process, beside other groups.
    """
    assert isinstance(item, pytest.Function)
    if (marker := item.get_closest_marker("components")) is not None:
        item.add_marker(pytest.mark.xdist_group(_group(item, *marker.args)))
    if _may_open_the_engine(item):
        item.add_marker("engine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the id that names its group: pytest-xdist 3.8 sets an attribute pytest 9.2 does not read."""
    for item in items:
        if grouped := vars(item).get("_nodeid"):
            item._id = NodeId.parse(grouped)


def _group(item: pytest.Function, component: str) -> str:
    if "real_node" in item.fixturenames:
        return ONE_A_MACHINE
    return component if component in TOGETHER else f"{component}:{item.path.stem.removeprefix('test_')}"


def _may_open_the_engine(item: pytest.Function) -> bool:
    if not DATABASES.isdisjoint(item.fixturenames) or item.nodeid.split("/")[1] not in IN_MEMORY:
        return True
    return _has_an_opener(item.module)


@cache
def _has_an_opener(module: ModuleType) -> bool:
    from components import command  # noqa: PLC0415 - pytest imports its plugins itself, to rewrite their assertions

    openers = (connect, command.leadsman, command.succeeds, command.start, command.leadsman_process)
    return not {*map(id, openers)}.isdisjoint(map(id, vars(module).values()))
