"""How many cases each oracle is asked: 200, or what LEADSMAN_ORACLE_CASES says (`make oracle`)."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from components.programs.cache import ComponentMissing, refuse
from oracle.programs import Oracles

settings.register_profile(
    "oracle",
    max_examples=int(os.environ.get("LEADSMAN_ORACLE_CASES", "200")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(scope="session")
def kubernetes() -> Iterator[Oracles]:
    try:
        oracles = Oracles()
    except ComponentMissing as missing:
        refuse(str(missing))
    yield oracles
    oracles.close()
