"""A failure of image GC leaves the present tense of cards when its alert is resolved: one time for both."""

from datetime import timedelta

import pytest

from streams.alerting.rules_file import default_rules
from streams.fold.findings import gc_counts_for


@pytest.mark.parametrize(
    ("verdict", "reason", "alert"),
    [
        ("persistent", "invalid_capacity", "ImageGCInvalidCapacity"),
        ("persistent", "delete_error", "ImageGCInsufficientFreed"),
        ("insufficient_freed", "insufficient_freed", "ImageGCInsufficientFreed"),
        ("restart_loop", "invalid_capacity", "ImageGCRestartLoop"),
        ("restart_loop", "delete_error", "ImageGCRestartLoop"),
    ],
)
def test_a_card_lasts_as_long_as_its_alert_by_default(verdict: str, reason: str, alert: str) -> None:
    kept = default_rules().of(alert).keep_firing_seconds
    assert gc_counts_for(verdict, reason) == timedelta(seconds=kept)
