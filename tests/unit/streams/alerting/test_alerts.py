"""Every alert keeps the same promises: one file, defaults, a runbook and a test of one name, and a pure condition."""

import inspect
import re
import sys
from importlib import import_module
from typing import get_args

import msgspec
import pytest
import yaml

from components.rows import T0
from generate.alert_coverage import VIEW
from paths import ROOT, TESTS
from streams.alerting import alerts
from streams.alerting.definition import AnyAlert, Input, Now
from streams.alerting.rules_file import ALERT_NAMES, ALERTS, DEFAULTS, PACKAGED, default_rules, discover, module_name
from streams.alerting.runbook import runbooks
from streams.rules.pod_ends.causes import Cause

MODULES = {file.stem for file in (ROOT / "streams/alerting/alerts").glob("*.py")} - {"__init__"}
UNIT_TESTS = TESTS / "unit/streams/alerting/alerts"
every_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


def test_the_alerts_are_those_with_defaults_in_their_order() -> None:
    assert list(ALERT_NAMES) == list(yaml.safe_load(DEFAULTS.read_text("utf-8"))["alerts"])
    assert discover() == ALERTS


def test_every_module_is_an_alert_with_defaults() -> None:
    assert {module_name(name) for name in ALERT_NAMES} == MODULES


@pytest.mark.parametrize(
    ("alertname", "module"),
    [
        ("PodsEvicted", "pods_evicted"),
        ("NUMASkewHigh", "numa_skew_high"),
        ("ImageGCInvalidCapacity", "image_gc_invalid_capacity"),
    ],
)
def test_a_module_is_named_for_its_alert(alertname: str, module: str) -> None:
    assert module_name(alertname) == module


def test_no_test_is_about_an_alert_that_there_is_not() -> None:
    assert {file.stem.removeprefix("test_") for file in UNIT_TESTS.glob("test_*.py")} == MODULES


@every_alert
def test_an_alert_has_a_runbook_with_what_to_look_at_and_to_do(alert: AnyAlert) -> None:
    text = runbooks()[alert.name].text
    assert "## Look" in text
    assert "## Do" in text


def test_the_runbook_of_evictions_asks_for_the_end_of_each_cause() -> None:
    text = runbooks()["PodsEvicted"].text
    for cause, end in (("pressure", "node_pressure"), ("limit", "own_limit"), ("unknown", "kubelet_eviction")):
        assert re.search(f"pod_ends --param cause={end} *# for `{cause}`", text)
        assert end in get_args(Cause)


def test_no_runbook_is_about_an_alert_that_there_is_not() -> None:
    assert set(runbooks()) == set(ALERT_NAMES)


def test_a_runbook_is_on_the_page_that_is_served_by_default() -> None:
    page = "http://127.0.0.1:8420"
    assert default_rules().runbook_url("PodsEvicted") == f"{page}/runbooks/PodsEvicted"


@every_alert
def test_an_alert_looks_at_something_and_nothing_raises_nothing(alert: AnyAlert) -> None:
    assert alert.node_rows or alert.cluster_rows
    state = alert.state()
    after, changes = alert.step(default_rules().of(alert.name), state, [], Now(T0, {}, {}))
    assert after == state
    assert not changes


@every_alert
def test_a_state_is_frozen_and_private_to_its_alert(alert: AnyAlert) -> None:
    assert alert.state.__struct_config__.frozen
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(alert.state()), type=alert.state) == alert.state()
    assert sum(other.state is alert.state for other in ALERTS) == 1 or alert.state.__name__ == "NoState"


@every_alert
def test_no_alert_reads_a_clock(alert: AnyAlert) -> None:
    source = inspect.getsource(sys.modules[alert.step.__module__])
    assert "now(" not in source
    assert "today(" not in source


@every_alert
def test_an_alert_depends_only_on_existing_alerts_without_dependencies(alert: AnyAlert) -> None:
    by_name = {each.name: each for each in ALERTS}
    assert all(not by_name[name].depends_on for name in alert.depends_on)


NAMED = re.compile(r"(arrayJoin\(\[[^\]]*\]\)|'[^']*') AS input")
"""The names of inputs in the view."""


@every_alert
def test_an_input_is_one_that_the_view_of_coverage_knows(alert: AnyAlert) -> None:
    view = (ROOT / VIEW).read_text("utf-8")
    assert {need.input for need in alert.needs} <= set(get_args(Input))
    known = {name for text in NAMED.findall(view) for name in re.findall("'([^']+)'", text)}
    assert {need.input for need in alert.needs} <= known


def test_defaults_without_a_module_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PACKAGED["alerts"], "PodsGone", {})
    with pytest.raises(ImportError, match="pods_gone"):
        discover()


def test_a_module_that_defines_another_alert_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module(f"{alerts.__name__}.pods_evicted"), "ALERT", ALERTS[0])
    with pytest.raises(
        ImportError, match="pods_evicted defines EvictionThresholdNear, but should define PodsEvicted"
    ):
        discover()
