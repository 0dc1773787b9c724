"""SchedulerBlindSpot: one alert for each verdict and node."""

from typing import Any

from components.alert_log import AlertLog, at
from components.rows import row
from streams.fold.findings import SchedulerBlindSpot


def blind(seconds: float, verdict: str, node: str = "", pod: str = "p", **values: Any) -> SchedulerBlindSpot:
    given = {"test": "text"} | values
    return row(SchedulerBlindSpot, ts=at(seconds), verdict=verdict, node=node, pod=pod, **given)


def test_a_blind_spot_is_one_alert_for_each_verdict_and_node() -> None:
    log = AlertLog(node="")
    assert log(0, blind(0, "lost_node", "a"), blind(0, "lost_node", "a", "q")) == ["firing SchedulerBlindSpot"]
    assert log(60, blind(60, "lost_node", "b"), blind(60, "inconclusive")) == ["firing SchedulerBlindSpot"]
    assert [alert.node for alert in log.emitted] == ["a", "b"]
    assert log(1800) == ["resolved SchedulerBlindSpot"]


def test_an_old_failure_raises_nothing_but_an_old_placement_is_seen_now() -> None:
    assert AlertLog(node="")(3600, blind(0, "stale_view")) == []
    assert AlertLog(node="")(3600, blind(0, "stale_view", test="placement")) == ["firing SchedulerBlindSpot"]
