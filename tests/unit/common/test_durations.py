"""Go's duration grammar, as the kubelet's configuration prints it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.durations import InvalidDuration, in_words, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("0", 0),
        ("0s", 0),
        ("5m0s", 300),
        ("2m0s", 120),
        ("1h", 3600),
        ("4h0m0s", 14400),
        ("30s", 30),
        ("100ms", 0.1),
        ("1.5h", 5400),
        (".5s", 0.5),
        ("1.s", 1),
        ("10us", 1e-05),
        ("10µs", 1e-05),
        ("10μs", 1e-05),
        ("7ns", 7e-09),
        ("-1m30s", -90),
        ("+1m", 60),
        ("30s1m", 90),
        ("0.3ns", 0),
    ],
)
def test_durations_are_read_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "s",
        ".s",
        "5 m",
        " 5m",
        "5m ",
        "5m\n",
        "1d",
        "5M",
        "--5m",
        "5m-3s",
        "1e3s",
        "-",
        "+",
        "00",
        "٣s",
        "9999999999h",
        "2562048h",
        "1" * 127 + "s",
        "0s" * 65,
    ],
)
def test_a_text_that_is_not_a_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidDuration):
        parse_duration(text)


def test_the_error_names_the_text_escaped_and_shortened() -> None:
    with pytest.raises(InvalidDuration, match=r"'1\\n' is not a duration"):
        parse_duration("1\n")
    with pytest.raises(InvalidDuration) as caught:
        parse_duration("x" * 1_000_000)
    assert len(str(caught.value)) < 200


@given(st.integers(0, 9999), st.integers(0, 59), st.integers(0, 59), st.integers(0, 999))
def test_parts_add_up(hours: int, minutes: int, seconds: int, milliseconds: int) -> None:
    expected = hours * 3600 + minutes * 60 + seconds + milliseconds / 1000
    assert parse_duration(f"{hours}h{minutes}m{seconds}s{milliseconds}ms") == pytest.approx(expected, abs=1e-9)
    assert parse_duration(f"{hours}h{minutes}m{seconds}.{milliseconds:03}s") == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (125, "2 min 5 s"),
        (7200, "2 h"),
        (90_000, "1 d 1 h"),
        (90_061, "1 d 1 h"),
        (86_460, "1 d"),
    ],
)
def test_a_duration_is_reported_in_its_two_largest_parts(seconds: float, text: str) -> None:
    assert in_words(seconds) == text


@given(st.integers(0, 10**7))
def test_a_duration_is_off_by_less_than_its_smallest_part(seconds: int) -> None:
    lengths = {"d": 86_400, "h": 3600, "min": 60, "s": 1}
    parts = in_words(seconds).split()
    named = list(zip(map(int, parts[::2]), parts[1::2], strict=True))
    reported = sum(number * lengths[unit] for number, unit in named)
    below = {"d": 3600, "h": 60, "min": 1, "s": 1}[named[0][1]]
    assert 0 <= seconds - reported < below
