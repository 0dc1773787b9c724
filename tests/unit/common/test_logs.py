"""A log line is one line without secrets and escapes, for any names of a cluster."""

import json
import logging

import pytest
import structlog
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.logs import Form, configure
from profiles import EXAMPLES

pytestmark = pytest.mark.usefixtures("logs_as_before")

HOSTILE = 'n\x1b[31mred\x1b[0m\n2026-01-01 [info] all is well\u202e"quoted" {brace}'
SECRET = "canary-77"  # noqa: S105  # it is to be found nowhere


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_hostile_name_is_one_line_without_escapes(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    configure(form)
    structlog.get_logger().warning("a stream is degraded", stream=HOSTILE, streams=[HOSTILE], count=3)
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_json_has_each_value_under_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    configure("json")
    structlog.get_logger().info("a part is started", part="land", pid=7)
    reported = json.loads(capsys.readouterr().out)
    assert {name: reported[name] for name in ("event", "level", "part", "pid")} == {
        "event": "a part is started",
        "level": "info",
        "part": "land",
        "pid": 7,
    }
    assert reported["timestamp"].endswith("Z")


def _fail() -> None:
    raise RuntimeError(f"GET https://user:{SECRET}@host failed\nwith token={SECRET}")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_secret_in_a_url_or_an_exception_is_not_logged(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    configure(form)
    try:
        _fail()
    except RuntimeError as error:
        structlog.get_logger().exception("it failed", error=repr(error), url=f"http://u:{SECRET}@h")
    reported = capsys.readouterr()
    assert SECRET not in reported.out + reported.err
    assert "it failed" in reported.out


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_libraries_warn_of_is_as_safe(form: Form, capsys: pytest.CaptureFixture[str]) -> None:
    configure(form)
    logging.getLogger("aiokafka").info("not told")
    logging.getLogger("aiokafka").error('Unable connect to "%s"', HOSTILE)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "\x1b" not in err
    assert "not told" not in err


@settings(max_examples=EXAMPLES * 3 // 5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(), st.sampled_from(["text", "json"]))
def test_any_text_is_one_line(capsys: pytest.CaptureFixture[str], text: str, form: Form) -> None:
    configure(form)
    structlog.get_logger().info("happened", what=text, items=[text])
    assert len(capsys.readouterr().out.splitlines()) == 1
