"""Progress of a run in several processes: a line for each failure and each group that ended, with its seconds."""

import time
from collections import Counter, defaultdict

import pytest

from components.schedule import is_of_a_component


def pytest_configure(config: pytest.Config) -> None:
    """The process that hands out the tests prints; the others have none to hand out."""
    if config.getoption("dist", "no") == "loadgroup" and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(config))


class Progress:
    """Counts what is left of each group."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._left: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._known = False
        self._began = time.monotonic()

    @pytest.hookimpl(trylast=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        if not self._known:
            self._known = True
            self._left.update(map(_group, ids))
            self._say(f"{len(ids)} tests, {len(self._left)} groups")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        group = _group(report.nodeid)
        self._seconds[group] += report.duration
        if report.failed:
            self._say(f"FAILED {report.nodeid}")
        if report.when == "teardown":
            self._left[group] -= 1
            if not self._left[group]:
                self._say(f"{group}: ended, {self._seconds[group]:.0f} s in its tests")

    def _say(self, message: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
            reporter.ensure_newline()
            reporter.write_line(f"{minutes:02}:{seconds:02} {message}")


def _group(nodeid: str) -> str:
    """Folder of the test; a component's has its name after the test's."""
    group = nodeid.rpartition("@")[2] if nodeid.rfind("@") > nodeid.rfind("]") else ""
    if group and is_of_a_component(group):
        return group
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(folders[:3])
