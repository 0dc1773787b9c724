"""A card and the alert about the same problem have the same limits, so that they do not disagree."""

from typing import Any

import pytest

from leadsman.web.attention.badges import OFTEN
from leadsman.web.reading.nodes import UNEVEN
from streams.alerting.rules_file import PACKAGED
from streams.rules.eviction.signals import LOW_PERCENT


@pytest.mark.parametrize(
    ("limit", "alert", "setting"),
    [
        (OFTEN, "PressureOscillation", "times"),
        (UNEVEN, "NUMASkewHigh", "node_skew_ratio"),
        (LOW_PERCENT, "EvictionThresholdNear", "unguarded_percent"),
    ],
)
def test_a_card_and_its_alert_begin_at_the_same_limit(limit: float, alert: str, setting: str) -> None:
    alerts: Any = PACKAGED["alerts"]
    assert alerts[alert][setting] == limit
