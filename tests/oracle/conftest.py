"""Number of cases of an oracle: 200, or LEADSMAN_ORACLE_CASES; `make oracle` writes the result."""

import os
import platform
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

from components.cluster.kubernetes import NEWEST
from components.programs.cache import ComponentMissing, refuse
from oracle.programs import Oracles

PAGE: Final = os.environ.get("LEADSMAN_ORACLE_PAGE")
"""Page in which the table of a run replaces the last one."""
TABLE: Final = re.compile(r"(?<=<!-- make oracle -->\n).*?(?=<!-- end -->)", re.DOTALL)
COUNTED: Final = pytest.StashKey[Oracles]()

settings.register_profile(
    "oracle",
    max_examples=int(os.environ.get("LEADSMAN_ORACLE_CASES", "200")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@pytest.fixture(scope="session")
def kubernetes(request: pytest.FixtureRequest) -> Iterator[Oracles]:
    try:
        oracles = Oracles()
    except ComponentMissing as missing:
        refuse(str(missing))
    request.session.stash[COUNTED] = oracles
    yield oracles
    oracles.close()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    oracles = session.stash.get(COUNTED, None)
    if PAGE is None or oracles is None or exitstatus:
        return
    path = Path(PAGE)
    path.write_text(TABLE.sub(lambda _: _table(session.items, oracles), path.read_text("utf-8")), "utf-8")


def _table(tests: list[pytest.Item], oracles: Oracles) -> str:
    """Each module's first sentence, its rules linked, and how often its oracle was asked."""
    rows = []
    for test in tests:
        module = test.getparent(pytest.Module)
        assert module is not None
        what, _, rules = " ".join(module.obj.__doc__.split()).rstrip(".)").partition(" (rules: ")
        links = ", ".join(f"[{rule}](kubernetes-rules.md#{rule})" for rule in rules.split(", "))
        rows.append(f"| {what} | {links} | {oracles.asked[test.path.stem.removeprefix('test_')]:,} | 0 |\n")
    head = f"{datetime.now(UTC):%Y-%m-%d}, Kubernetes {NEWEST}, {platform.machine()}:\n\n"
    return f"{head}| compared | rules | cases | not the same |\n|---|---|--:|--:|\n{''.join(sorted(rows))}"
