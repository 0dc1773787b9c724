"""RetentionNear: reports of unread messages that Kafka will delete, and no other row of source_errors."""

from datetime import timedelta

from components.alert_log import AlertLog, at
from components.rows import row
from ingest.model.records import SourceErrorRecord
from streams.alerting.engine import alert_reducers
from streams.analytics.registry import analytics
from streams.fold.findings import Alert, SourceError
from streams.fold.fold import Fold, LogState
from streams.kafka.retention import Limits, Unread


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


def test_a_landers_report_without_a_cluster_also_fires() -> None:
    """It knows no clusters: its record is on a log of its own, without a name."""
    fold, log = Fold([*analytics(timedelta(hours=1)), *alert_reducers(None)]), LogState()
    limits = Limits(24 * 3_600_000)
    unread = Unread("leadsman.findings", 0, first=1, end=6, earliest=0, kept=0, recent=3, fresh=6, limits=limits)
    record = SourceErrorRecord(
        ts=at(0), cluster="", resource=unread.resource, error=unread.error, problem=unread.problem
    )
    found = fold.step(log, record)
    (error,) = (each for each in found if isinstance(each, SourceError))
    (alert,) = (each for each in found if isinstance(each, Alert))
    assert (error.kind, error.cluster) == (unread.kind, "")
    assert (alert.alertname, alert.status, alert.cluster) == ("RetentionNear", "firing", "")
    assert alert.labels["resource"] == "kafka leadsman.findings/0"
