"""Cards that rest on no row of their own are over with what they rest on, and what only happened never lasts.

The pairs of rows are in `test_over`; with these every card has one, and with their own tests every alert.
"""

import inspect
from collections.abc import Iterator
from datetime import timedelta
from types import ModuleType
from typing import Any, Final, get_type_hints

import pytest

from leadsman.web.attention import attention as first_module
from leadsman.web.attention import findings, nodes, pods
from leadsman.web.attention.attention import attention
from leadsman.web.attention.item import Item
from leadsman.web.reading.overview import Overview
from paths import ROOT
from unit.leadsman.web.attention.test_attention import (
    NOTHING,
    T0,
    eviction,
    fires,
    margin,
    node,
    rejection,
    view,
    warning,
)
from unit.leadsman.web.attention.test_over_elsewhere import ALERTS

LATE: Final = view().scope._replace(now=T0 + timedelta(hours=9))
SILENT: Final = view(node(stale=True, sample_age="1 h ago"), scope=LATE)
WAITS: Final = {"namespace": "shop", "owner": "", "node": "", "why": "1 Insufficient cpu", "event": "", "pods": 1,
                "autoscaler": "", "first_since": T0, "or_earlier": 0, "pod": "a", "uids": ["u"]}  # fmt: skip
LOST: Final = fires("NodeNotReady", firing=False, unknown=True)
SAVED: Final = margin(seconds_to_hard=600.0, gc_first=True)
PAIRS: Final[dict[str, tuple[str, Overview, Overview]]] = {
    "_without_statistics": ("No recent statistics", view(node(stale=True)), view(node())),
    "_without_news": ("1 alert without data", view(node(stale=True), alerts=(LOST,)), view(node(), alerts=(LOST,))),
    "_silence": (
        "No current data",
        SILENT._replace(evidence=SILENT.evidence._replace(scope=LATE)),
        view(node()),
    ),
    "waiting": (
        "The scheduler contradicts the API",
        view(node(), waiting=(WAITS,), contradicted={"u": "n"}),
        view(node()),
    ),
    "_nearing": ("Image GC will act", view(node(margins=(SAVED,))), view(node(margins=(margin(),)))),
    "_of_alerts": (
        "Alert Whatever",
        view(node(), alerts=(fires("Whatever"),)),
        view(node(), alerts=(fires("Whatever", firing=False, ends_at=T0),)),
    ),
}
"""A card by its rule: its title, an overview in which it holds, and one in which it is over."""


@pytest.mark.parametrize(("title", "holds", "over"), PAIRS.values(), ids=PAIRS)
def test_a_card_is_over_with_what_it_rests_on(title: str, holds: Overview, over: Overview) -> None:
    assert [item.now for item in attention(holds) if item.title.startswith(title)] == [True]
    assert [item.title for item in attention(over)] == []


_SWINGS: Final = node(times_under_pressure=3, under_pressure=(T0, T0 + timedelta(minutes=5)))
_SILENT_FOR: Final = {"kind": "silent", "resource": "pods", "longest_silence_seconds": 60, "last_error": "silent",
                      "nodes": [], "first_at": T0, "last_at": T0}  # fmt: skip
_BLIND: Final = {"verdict": "lost_node", "evidence": "it is missing", "node": "n", "ts": T0}
PAST: Final[dict[str, dict[str, Any]]] = {
    "evicted": {"evicted": (eviction(2), eviction(1, cause="limit"))},
    "rejected": {"killed": (rejection("OutOfcpu", 2),)},
    "out_of_memory": {"killed": (rejection("", 1, cause="oom_kill", container="a"),)},
    "_blind_spots": {"blind_spots": (_BLIND,)},
    "_warnings": {"warnings": (warning("SystemOOM", 1), *(warning(reason, 2) for reason in "abcdefg"))},
    "_sources": {"unknown": NOTHING._replace(source_errors=(_SILENT_FOR,))},
    "_pressure": {"nodes": (_SWINGS,)},
}
"""Things that happen and do not last, by rule."""


@pytest.mark.parametrize("given", PAST.values(), ids=PAST)
def test_past_events_are_never_described_in_the_present_tense(given: dict[str, Any]) -> None:
    items = attention(view(node())._replace(**given))
    assert [(item.now, item.until is not None) for item in items] == [(False, True)] * len(items) != []


IN_ROWS: Final = frozenset(
    {"_thresholds_met", "_unguarded", "_image_gc", "_overcommitted", "_numa", "not_ready", "problems", "resizes"}
    | {"terminating", "cordoned_by_event"}
)
"""Rules whose pairs of rows are in `test_over`."""


def _rules(module: ModuleType) -> set[str]:
    """The functions that take an overview and yield cards."""
    of_view = {"view": Overview, "return": Iterator[Item]}
    functions = inspect.getmembers(module, inspect.isfunction)
    return {
        name for name, each in functions if each.__module__ == module.__name__ and get_type_hints(each) == of_view
    }


def test_every_rule_of_a_card_has_a_pair() -> None:
    rules = set().union(*map(_rules, (first_module, findings, nodes, pods))) - {"findings"}
    assert rules <= IN_ROWS | PAST.keys() | PAIRS.keys()


def test_every_alert_has_a_test_that_it_resolves() -> None:
    folder = ROOT / "tests/unit/streams/alerting/alerts"
    ends = {file.stem.removeprefix("test_") for file in folder.glob("test_*.py") if "resolved " in file.read_text()}
    paired = {name.lower() for name in ALERTS.values()}
    alerts = {file.stem for file in (ROOT / "streams/alerting/alerts").glob("[a-z]*.py")}
    assert {each for each in alerts - ends if each.replace("_", "") not in paired} == set()
