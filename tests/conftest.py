"""Fixtures of every test: the real components, and a migrated database; and the time that property tests may take."""

import fcntl
import gc
from collections.abc import Generator
from functools import cache
from types import ModuleType
from typing import Final

import pytest
from _pytest.nodeid import NodeId
from hypothesis import HealthCheck, settings

from profiles import EXAMPLES
from sql.database.open import connect

pytest_plugins = [
    "components.database",
    "components.demo",
    "components.fixtures",
    "components.schedule",
    "components.progress",
]

# how long an example takes is that of a machine which others use too
settings.register_profile(
    "shared", settings(), max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("shared")

ONE_A_MACHINE: Final = "kubelet"
"""Two kubelets would meet in the machine's cgroups, and each would see the memory that the other's pods take."""
TOGETHER: Final = frozenset({"cluster"})
"""Components that cost more to start than their tests save beside each other: one for each folder."""
LONGEST: Final = (
    "cluster:integration",
    "kafka:pipeline_under_fire",
    "kubelet",
    "kafka:exactly_once",
    "browser:states",
    "cluster:faults",
    "kafka:security",
    "kafka:receivers",
    "kafka:landing",
    "kafka:lost_progress",
    "browser:browser",
)
"""Groups that take more than a minute, longest first."""
DATABASES: Final = frozenset({"migrated_folder", "demo_folder"})
"""Fixtures that make a database."""
IN_MEMORY: Final = frozenset({"unit", "contract", "scenarios", "fuzz"})
"""Rooms whose tests call functions; those of others run programs."""


gc.disable()  # 11,000 tests are no garbage: looking through them takes four of ten seconds in each process


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    """Collect garbage from here on, of what the tests make."""
    gc.enable()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let one process import a module at a time: the first rewrites its assertions, the others read what it wrote."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    with collector.path.open() as source:
        fcntl.flock(source, fcntl.LOCK_EX)
        return (yield)


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the tests that may open the engine, and put each into a group that runs in one process, beside others."""
    assert isinstance(item, pytest.Function)
    item.add_marker(pytest.mark.xdist_group(_group(item)))
    if _may_open_the_engine(item):
        item.add_marker("engine")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the id that names its group: pytest-xdist 3.8 sets an attribute pytest 9.2 does not read. Begin
    with the groups that take long, or they would end alone, and end with those of functions, which are short.
    """
    for item in items:
        if grouped := vars(item).get("_nodeid"):
            item._id = NodeId.parse(grouped)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    marker = item.get_closest_marker("xdist_group")
    assert marker is not None
    (group,) = marker.args
    if group in LONGEST:
        return LONGEST.index(group)
    if item.get_closest_marker("components"):
        return len(LONGEST)
    return len(LONGEST) + 1 + (_room(item) in IN_MEMORY)


def _group(item: pytest.Function) -> str:
    """The component's, or the file's: what a file's tests share is made once."""
    marker = item.get_closest_marker("components")
    if marker is None:
        return f"{item.path.parent.name}/{item.path.stem}"
    (component,) = marker.args
    if "real_node" in item.fixturenames:
        return ONE_A_MACHINE
    return f"{component}:{_room(item) if component in TOGETHER else item.path.stem.removeprefix('test_')}"


def _room(item: pytest.Item) -> str:
    """The folder below tests/."""
    return item.path.relative_to(item.config.rootpath).parts[1]


def _may_open_the_engine(item: pytest.Function) -> bool:
    if not DATABASES.isdisjoint(item.fixturenames) or _room(item) not in IN_MEMORY:
        return True
    return _has_an_opener(item.module)


@cache
def _has_an_opener(module: ModuleType) -> bool:
    from components import command  # noqa: PLC0415 - pytest imports its plugins itself, to rewrite their assertions

    openers = (connect, command.leadsman, command.succeeds, command.start, command.leadsman_process)
    return not {*map(id, openers)}.isdisjoint(map(id, vars(module).values()))
