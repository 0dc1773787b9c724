"""The kubelet's metrics, out of its exposition."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadRecord
from ingest.resources.kubelet import METRICS, parse_metrics


@given(st.text())
def test_any_text_is_metrics_or_refused(text: str) -> None:
    with contextlib.suppress(BadRecord):
        assert all(math.isfinite(each.value) for each in parse_metrics("kubelet_evictions" + text))


@pytest.mark.parametrize(
    ("line", "error_type"),
    [
        ("kubelet_evictions NaN", "wrong_value"),
        ("kubelet_evictions +Inf", "wrong_value"),
        ('kubelet_evictions{a="' + '\\"' * 5000 + '"} 1', "too_long"),
    ],
)
def test_a_metric_that_is_no_finite_number_or_without_end_is_refused(line: str, error_type: str) -> None:
    with pytest.raises(BadRecord) as caught:
        parse_metrics(line)
    assert caught.value.error_type == error_type


def test_of_an_answer_only_the_kept_lines_and_the_start_of_the_process_are_read() -> None:
    body = b"process_start_time_seconds 1.78e+09\nkubelet_evictions 2\ngo_goroutines 90\n"
    assert METRICS.read(body) == b'{"text":"kubelet_evictions 2\\n"}'
    assert METRICS.started_at(body) == b"1.78e+09"
    assert METRICS.started_at(b"kubelet_evictions 2\n") == b""
