"""A soft threshold that acts at once is a concern whether or not there is a hard one (rules: kubelet-warnings)."""

from datetime import UTC, datetime

import pytest

from ingest.model.objects.node import KubeletConfiguration
from streams.rules.kubelet.settings import Kubelet, concerns


@pytest.mark.parametrize(
    ("hard", "grace", "found"), [({}, "0s", 1), ({"pid.available": "5"}, "0s", 1), ({}, "1m", 0)]
)
def test_a_soft_threshold_without_grace_acts_at_once(hard: dict[str, str], grace: str, found: int) -> None:
    config = KubeletConfiguration(
        eviction_hard=hard,
        eviction_soft={"pid.available": "10"},
        eviction_soft_grace_period={"pid.available": grace},
    )
    now = datetime(2026, 11, 23, tzinfo=UTC)
    kubelet = Kubelet(now, config, "v1.36.3", {}, {}, False, False, {}, frozenset(), {})
    problems = [each.problem for (rule, _), each in concerns(kubelet).items() if rule == "soft_threshold"]
    assert sum("it acts at once" in problem for problem in problems) == found
