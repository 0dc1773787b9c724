"""A silent stream is told, and not forgotten."""

from datetime import timedelta

from fakes.clock import START
from ingest.model.reports import Freshness, Silence


def _after(seconds: float) -> "timedelta":
    return timedelta(seconds=seconds)


def test_a_stream_is_silent_only_past_its_limit() -> None:
    freshness = Freshness()
    freshness.expect("pods", 120, START)
    assert freshness.silent(START + _after(120)) == []
    assert freshness.silent(START + _after(121)) == [Silence("pods", 121)]


def test_a_silence_is_reported_again_each_time_it_doubled() -> None:
    freshness = Freshness()
    freshness.expect("pods", 100, START)
    reported = [seconds for seconds in range(0, 1000, 10) if freshness.silent(START + _after(seconds))]
    assert reported == [110, 230, 470, 950]


def test_a_sign_of_life_ends_a_silence() -> None:
    freshness = Freshness()
    freshness.expect("pods", 100, START)
    freshness.silent(START + _after(500))
    freshness.saw("pods", START + _after(501))
    assert freshness.silent(START + _after(601)) == []
    assert freshness.silent(START + _after(602)) == [Silence("pods", 101)]


def test_a_sign_of_life_that_comes_late_does_not_make_a_stream_older() -> None:
    freshness = Freshness()
    freshness.expect("pods", 100, START)
    freshness.saw("pods", START + _after(50))
    freshness.saw("pods", START + _after(10))
    assert freshness.ages_seconds(START + _after(60)) == {"pods": 10}


def test_a_stream_that_is_not_expected_is_never_silent() -> None:
    freshness = Freshness()
    freshness.saw("kubelet/a", START)
    freshness.expect("kubelet/b", 10, START)
    freshness.forget("kubelet/b")
    assert freshness.silent(START + _after(1000)) == []


def test_expecting_a_stream_again_does_not_make_it_fresh() -> None:
    freshness = Freshness()
    freshness.expect("pods", 10, START)
    freshness.expect("pods", 10, START + _after(60))
    assert freshness.silent(START + _after(60)) == [Silence("pods", 60)]
