"""NUMASkewHigh: skew that lasts, of enough CPUs, and why a cluster has it."""

from components.alert_log import AlertLog, at, skew
from components.rows import row
from streams.fold.findings import LateJoiners


def test_skew_must_last_before_it_fires() -> None:
    log = AlertLog()
    assert log(0, skew(skew_ratio=0.5)) == []
    assert log(599) == []
    assert log(600) == ["firing NUMASkewHigh"]
    assert log(700, skew(skew_ratio=0.49)) == []
    assert log(1300) == ["resolved NUMASkewHigh"]


def test_skew_of_few_cpus_or_that_no_source_knows_raises_nothing() -> None:
    log = AlertLog()
    log(0, skew(skew_ratio=1.0, exclusive_cpus=3))
    log(10, skew(skew_ratio=None))
    assert log(700) == []


def test_the_late_joiners_explain_the_skew_of_a_cluster() -> None:
    log = AlertLog(node="")
    log(0, row(LateJoiners, verdict="late_joiners_emptier", explanation="nodes that joined last are emptier"))
    log(0, skew("cluster", skew_ratio=0.9, nodes=6))
    log(600)
    assert "Nodes that joined last are emptier." in log.descriptions[0]
    assert "between its 6 nodes" in log.summaries[0]


def test_late_joiners_that_caught_up_explain_nothing() -> None:
    log = AlertLog(node="")
    log(0, row(LateJoiners, verdict="late_joiners_emptier", explanation="nodes that joined last are emptier"))
    log(0, row(LateJoiners, verdict="even", explanation="all alike"), skew("cluster", skew_ratio=0.9, nodes=6))
    log(600)
    assert "joined" not in log.descriptions[0]
    assert "All alike" not in log.descriptions[0]


def test_a_cluster_s_alerts_do_not_depend_on_which_record_of_a_minute_came_first() -> None:
    rows = [
        (5.0, skew("cluster", skew_ratio=0.9, nodes=3)),
        (10.0, skew("cluster", skew_ratio=0.1, nodes=4)),
        (50.0, skew("cluster", skew_ratio=0.8, nodes=5)),
    ]
    emitted = []
    for order in (rows, rows[::-1]):
        log = AlertLog(node="")
        for seconds, one in order:
            log(seconds, one)
        log(59.0, rows[-1][1])
        log(60 * 10 + 7)
        emitted.append([alert._replace(annotations={}) for alert in log.emitted])
    assert emitted[0] == emitted[1]
    assert [alert.starts_at for alert in emitted[0]] == [at(600)]
