"""DeadLetters: one alert for all dead letters of a cluster."""

from components.alert_log import AlertLog, at, changed
from ingest.model.records import DeadLetterRecord


def letter(seconds: float, error_type: str = "not_json") -> DeadLetterRecord:
    return DeadLetterRecord(ts=at(seconds), cluster="c", error_type=error_type)


def test_dead_letters_of_a_cluster_are_one_alert_that_counts_those_of_its_first_minute() -> None:
    log = AlertLog(node="")
    for seconds, error_type in ((5, "not_json"), (20, "not_json"), (59, "cut_off"), (65, "late")):
        log.record(letter(seconds, error_type))
    log(130, new_minute=True)
    (alert,) = log.emitted
    assert (alert.alertname, alert.status, alert.starts_at) == ("DeadLetters", "firing", at(60))
    assert log.summaries == ["Cluster c: 3 dead letters within a minute (1 cut off, 2 not json)"]
    assert log(965, new_minute=True) == []
    assert log(1020, new_minute=True) == ["resolved DeadLetters"]
    assert log.emitted[-1].ends_at == at(965)  # a quarter of an hour after the last


def test_a_few_can_be_tolerated() -> None:
    log = AlertLog(changed(DeadLetters={"letters": 3}), node="")
    log.record(letter(0))
    log.record(letter(1))
    assert log(120, new_minute=True) == []
    assert log.record(letter(130)) == ["firing DeadLetters"]
