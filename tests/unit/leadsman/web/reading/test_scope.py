"""A page has one cluster and one range."""

from datetime import UTC, datetime, timedelta

import pytest

from leadsman.web.reading.scope import ALL, BadScope, RequestedRange, Span, address_time, choose

BEGAN = datetime(2026, 7, 1, 12, 0, 0, 250_000, tzinfo=UTC)
ENDED = BEGAN + timedelta(days=3)
SPANS = [Span("new", BEGAN, ENDED), Span("old", BEGAN - timedelta(days=9), BEGAN)]


def test_the_range_is_the_last_day_of_the_cluster_that_was_observed_last() -> None:
    scope = choose(SPANS, RequestedRange())
    assert scope.cluster == "new"
    assert scope.until == datetime(2026, 7, 4, 12, 0, 1, tzinfo=UTC)
    assert scope.since == scope.until - timedelta(days=1)


def test_the_last_observation_lies_in_the_range() -> None:
    assert choose(SPANS, RequestedRange()).until > ENDED
    assert choose([Span("c", ENDED, ENDED.replace(microsecond=0))], RequestedRange()).until > ENDED.replace(
        microsecond=0
    )


def test_a_short_capture_is_shown_whole_and_no_shorter_than_ten_minutes() -> None:
    short = [Span("c", BEGAN, BEGAN + timedelta(minutes=30))]
    assert choose(short, RequestedRange()).since == BEGAN.replace(microsecond=0)
    chosen = choose([Span("c", BEGAN, BEGAN)], RequestedRange())
    assert chosen.seconds == 600


def test_a_range_by_name_ends_with_the_last_observation() -> None:
    assert choose(SPANS, RequestedRange(last="1h")).seconds == 3600
    assert choose(SPANS, RequestedRange(last=ALL)).since == BEGAN.replace(microsecond=0)


def test_times_without_a_zone_are_utc() -> None:
    scope = choose(SPANS, RequestedRange(since="2026-07-02T10:00:00", until="2026-07-02T14:00:00+02:00"))
    assert (scope.since, scope.until) == (
        datetime(2026, 7, 2, 10, tzinfo=UTC),
        datetime(2026, 7, 2, 12, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (RequestedRange(cluster="none"), "There are: new, old"),
        (RequestedRange(since="yesterday"), "since cannot be 'yesterday'"),
        (RequestedRange(until="2026-13-01"), "until cannot be"),
        (RequestedRange(since="0001-01-01T00:00:00"), "from 1970 to 2262"),
        (RequestedRange(until="9999-12-31T23:59:59-23:00"), "until cannot be"),
        (RequestedRange(since="2026-07-02", until="2026-07-01"), "must be before"),
        (RequestedRange(last="2h"), "one of 1h, 6h, 1d, 7d, all"),
        (RequestedRange(last="1h", since="2026-07-02"), "not both"),
    ],
)
def test_what_cannot_be_is_refused_with_what_can(asked: RequestedRange, says: str) -> None:
    with pytest.raises(BadScope, match=says):
        choose(SPANS, asked)


def test_an_address_leads_back_to_the_same_range() -> None:
    scope = choose(SPANS, RequestedRange(since="2026-07-02T10:00:00.5", until="2026-07-02T12:00"))
    assert choose(SPANS, RequestedRange(**scope.address())) == scope
    for asked in (RequestedRange(last="6h"), RequestedRange(), RequestedRange(since="2026-07-02T10:00:00Z")):
        open_ended = choose(SPANS, asked)
        assert choose(SPANS, RequestedRange(**open_ended.address())) == open_ended


def test_what_was_left_open_moves_with_what_is_observed() -> None:
    later = [span._replace(last_at=span.last_at + timedelta(hours=1)) for span in SPANS]
    for asked in (
        RequestedRange(),
        RequestedRange(last="6h"),
        RequestedRange(last=ALL),
        RequestedRange(since="2026-07-02T10:00:00Z"),
    ):
        address = choose(SPANS, asked).address()
        assert choose(later, RequestedRange(**address)).until == choose(SPANS, asked).until + timedelta(hours=1)
    fixed = choose(SPANS, RequestedRange(until="2026-07-03T00:00:00Z")).address()
    assert choose(later, RequestedRange(**fixed)).until == datetime(2026, 7, 3, tzinfo=UTC)


def test_a_time_is_reported_to_the_second_where_it_is_full() -> None:
    assert address_time(datetime(2026, 7, 1, 12, tzinfo=UTC)) == "2026-07-01T12:00:00Z"
    assert address_time(BEGAN) == "2026-07-01T12:00:00.250000Z"
