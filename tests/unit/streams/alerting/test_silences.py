"""Silences: which alerts a matcher meets, as Alertmanager's do, and when one is in force."""

import time
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes.clock import START
from streams.alerting.silences import BadSilence, Matcher, Silence, Silencing, _matcher, matchers
from waiting import unhurried

HOUR = timedelta(hours=1)
LABELS = {"alertname": "NodeNotReady", "node": "worker-1", "cluster": "lab"}


def silence(*texts: str, start: float = 0, end: float = 60, name: str = "a") -> Silence:
    starts_at, ends_at = (START + timedelta(seconds=seconds) for seconds in (start, end))
    return Silence(name, matchers(texts), starts_at, ends_at, "ana", "why", START)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("node=worker-1", True),
        ('node = "worker-1"', True),
        ("node=worker", False),
        ("node!=worker-2", True),
        ("node!=worker-1", False),
        ("node=~worker-.", True),
        ("node=~orker", False),  # it has to match the whole label
        ("node=~worker-1|worker-2", True),
        ("node!~worker-.*", False),
        ("node!~infra-.*", True),
        ("resource=", True),  # a label that is not there is empty
        ("resource!=", False),
        ("resource=~.*", True),
        ("resource!~.+", True),
    ],
)
def test_a_matcher_meets_a_label_as_alertmanager_s_does(text: str, expected: bool) -> None:
    covering = silence("alertname=NodeNotReady", text)
    assert covering.covers(LABELS, START) is expected


def test_all_matchers_have_to_meet() -> None:
    assert silence("alertname=NodeNotReady", "cluster=lab").covers(LABELS, START)
    assert not silence("alertname=NodeNotReady", "cluster=prod").covers(LABELS, START)


def test_it_is_in_force_from_its_start_until_just_before_its_end() -> None:
    covering = silence("cluster=lab", start=10, end=20)
    times = [9.999, 10, 19.999, 20]
    assert [covering.covers(LABELS, START + timedelta(seconds=each)) for each in times] == [False, True, True, False]
    assert [covering.state(START + timedelta(seconds=each)) for each in (0, 10, 20)] == [
        "pending",
        "active",
        "expired",
    ]


def test_of_several_the_one_that_lasts_longest_is_shown() -> None:
    every = [
        silence("cluster=lab", name="a"),
        silence("cluster=lab", end=90, name="b"),
        silence("cluster=x", end=999),
    ]
    found = Silencing().silence_of(LABELS, every, START)
    assert found is not None
    assert found.id == "b"


MATCHERS = st.sampled_from(["node=n1", "node=n2", "pod=p", "pod=", "node=~n.*", "pod!=p", "node!~n1", "alertname=A"])


@given(
    st.lists(st.tuples(st.lists(MATCHERS, min_size=1, max_size=3), st.integers(0, 3), st.integers(1, 4)), max_size=8),
    st.lists(
        st.tuples(st.sampled_from(["n1", "n2", "x"]), st.sampled_from(["", "p"]), st.integers(-1, 7)), min_size=1
    ),
)
def test_the_silence_that_is_found_is_the_longest_of_all_that_cover(
    made: list[tuple[list[str], int, int]], asked: list[tuple[str, str, int]]
) -> None:
    """However alerts and times follow each other."""
    every = [
        Silence(
            str(number),
            tuple(map(_matcher, texts)),
            START + start * HOUR,
            START + (start + length) * HOUR,
            "",
            "",
            START,
        )
        for number, (texts, start, length) in enumerate(made)
    ]
    silencing = Silencing()
    for node, pod, hours in asked:
        labels = {"alertname": "A", "node": node, **({"pod": pod} if pod else {})}
        at = START + hours * HOUR
        ends = max((each.ends_at for each in every if each.covers(labels, at)), default=None)
        found = silencing.silence_of(labels, every, at)
        assert (found and found.ends_at) == ends
        assert found is None or found.covers(labels, at)


def test_thousands_of_silences_and_of_alerts_are_matched_in_no_time() -> None:
    """Each with each would take minutes, at each delivery and for each page."""
    count, silencing = 10_000, Silencing()
    every = [silence("alertname=NodeNotReady", f"node=n{number}", name=str(number)) for number in range(count)]
    began = time.process_time()
    for number in range(count):
        found = silencing.silence_of({**LABELS, "node": f"n{number}"}, every, START)
        assert found is not None
        assert found.id == str(number)
        assert silencing.silence_of({**LABELS, "node": f"x{number}"}, every, START) is None
    assert time.process_time() - began < unhurried(5)


def test_expiring_ends_it_now_once_and_what_has_not_begun_never_does() -> None:
    now = START + timedelta(seconds=30)
    ended = silence("cluster=lab").expired(now)
    assert (ended.ends_at, ended.updated_at) == (now, now)
    assert ended.expired(now + timedelta(seconds=5)) == ended
    assert not silence("cluster=lab", start=100, end=200).expired(now).covers(LABELS, START + timedelta(seconds=150))


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)*b", "(a|b+){9}c", ".*a.*a.*a.*a.*b", "(.*|a)(.*|b)(.*|c)(.*|d)e", "a?a?a?a?aaaa"]
)
def test_a_pattern_that_a_name_in_the_cluster_could_keep_busy_is_refused(pattern: str) -> None:
    with pytest.raises(BadSilence, match="keep this search busy"):
        matchers([f"pod=~{pattern}"])


@pytest.mark.parametrize(
    ("pattern", "pod"),
    [
        ("(web|api)-[0-9]+", "web-12"),
        ("web-.*|api-.*|db-.*|cache-.*|job-.*", "job-1"),
        (r"[*+({]a\+\)\*b\+c\*d\{", "*a+)*b+c*d{"),
        ("(?i:web)-[a-z0-9]+-[a-z0-9]{5}", "WEB-7d9f-x2b4q"),
        ("[]*+{]+x", "*+x"),
    ],
)
def test_usual_patterns_are_taken(pattern: str, pod: str) -> None:
    (found,) = matchers([f"pod=~{pattern}"])
    assert found.matches({"pod": pod})


@pytest.mark.parametrize(
    "texts", [[], ["node=~.*"], ["node!=x"], ["node"], ["=x"], ["a b=c"], ["node=~("], ['node="x'], ["1a=b"]]
)
def test_what_covers_everything_or_is_no_matcher_is_refused(texts: list[str]) -> None:
    with pytest.raises(BadSilence):
        matchers(texts)


@given(st.text(), st.sampled_from(["=", "!="]))
def test_a_matcher_is_read_as_it_is_shown(value: str, operator: str) -> None:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    (read, _) = matchers([f'node{operator}"{escaped}"', "a=b"])
    assert read == Matcher("node", "=" if operator == "=" else "!=", value)
