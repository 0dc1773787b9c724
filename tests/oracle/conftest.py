"""How many cases each oracle is asked: 200, or what LEADSMAN_ORACLE_CASES says (`make oracle`)."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "oracle",
    max_examples=int(os.environ.get("LEADSMAN_ORACLE_CASES", "200")),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
