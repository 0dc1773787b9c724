"""RetentionNear: reports of unread messages that Kafka will delete, and no other row of source_errors."""

from components.alert_log import AlertLog, at
from components.rows import row
from streams.fold.findings import SourceError


def report(seconds: float, kind: str = "behind", resource: str = "kafka leadsman.nodes/3") -> SourceError:
    return row(SourceError, ts=at(seconds), resource=resource, kind=kind, error="behind: 5 messages are unread")


def test_it_fires_at_once_and_from_report_to_report() -> None:
    log = AlertLog(node="")
    assert log(0, report(0)) == ["firing RetentionNear"]
    assert log(600, report(600)) == []
    assert log(1200 + 299) == []
    assert log(1200 + 360) == ["resolved RetentionNear"]
    assert "behind: 5 messages are unread" in log.descriptions[0]


def test_each_partition_is_one() -> None:
    log = AlertLog(node="")
    assert log(0, report(0), report(0, resource="kafka leadsman.findings/0")) == ["firing RetentionNear"] * 2


def test_gaps_and_silences_are_others() -> None:
    assert AlertLog(node="")(0, report(0, "gap"), report(0, "unreadable")) == []
