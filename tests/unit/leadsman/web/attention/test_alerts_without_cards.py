"""An alert that fires is in a card, unless a row about the same thing shows that only `keep_firing` holds it."""

from typing import Any

import pytest

from leadsman.web.attention.attention import attention
from leadsman.web.reading.nodes import NodeLine
from unit.leadsman.web.attention.test_attention import GIB, T0, fires, margin, node, view

FAR = node(margins=(margin(),))
BARE = margin(available=GIB, capacity=16 * GIB, hard=None)
"""Six percent are left, which is little by a larger `unguarded_percent` only."""


def shown(name: str, of: NodeLine, labels: dict[str, str], verdict: str = "") -> bool:
    last: dict[str, Any] = {"node": "n", "reason": "invalid_capacity", "verdict": verdict, "ts": T0, "last_at": T0}
    alert = fires(name, labels=labels, resource=labels.get("resource", ""))
    items = attention(view(of, alerts=(alert,), image_gc=(last,) if verdict else ()))
    return name in {name for item in items for name in item.alerts}


@pytest.mark.parametrize(
    ("of", "is_shown"),
    [
        (FAR, False),
        (node(margins=(BARE,)), True),
        (node(margins=(BARE, margin(signal="allocatableMemory.available", available=GIB))), False),
        (node(margins=(margin(seconds_to_hard=7200.0),)), True),
        (node(margins=(margin(signal="pid.available"),)), True),
        (node(), True),
        (FAR._replace(stale=True), True),
    ],
    ids=("far", "by unguarded_percent", "guarded by another", "by earliest", "another signal", "no sample", "stale"),
)
def test_the_alert_of_a_threshold_is_shown_unless_the_last_sample_is_far_from_any(
    of: NodeLine, is_shown: bool
) -> None:
    assert shown("EvictionThresholdNear", of, {"resource": "memory"}) is is_shown


@pytest.mark.parametrize(
    ("verdict", "reason", "is_shown"),
    [
        ("recovered", "invalid_capacity", False),
        ("recovered", "insufficient_freed", True),
        ("benign_startup", "invalid_capacity", True),
        ("", "invalid_capacity", True),
    ],
)
def test_the_alert_of_image_gc_is_shown_unless_its_own_trouble_recovered(
    verdict: str, reason: str, is_shown: bool
) -> None:
    """It fires for a start, which has no card, with `every_invalid_disk_capacity`."""
    assert shown("ImageGCInvalidCapacity", node(), {"reason": reason}, verdict) is is_shown


@pytest.mark.parametrize(
    ("name", "of", "is_shown"),
    [
        ("NodeNotReady", node(), False),
        ("NodeNotReady", node(ready=None, ready_reported=False), True),
        ("NodePressureLasting", node(), False),
        ("NodePressureLasting", node(known=False, ready=None), True),
    ],
)
def test_the_alert_of_a_condition_is_shown_unless_the_condition_is_seen_to_be_over(
    name: str, of: NodeLine, is_shown: bool
) -> None:
    assert shown(name, of, {"condition": "DiskPressure"}) is is_shown
