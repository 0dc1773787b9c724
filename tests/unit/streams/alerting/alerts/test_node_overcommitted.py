"""NodeOvercommitted: more requested or used than allocatable, by resource."""

from components.alert_log import AlertLog, changed
from components.rows import row
from streams.fold.findings import NodeFit

FIT = row(NodeFit, node="n", resource="memory", allocatable=10, requested=10, used=10, free=0)


def test_a_node_that_promises_or_uses_more_than_allocatable_is_overcommitted() -> None:
    log = AlertLog()
    asked = FIT._replace(resource="pods", requested=11, free=-1)
    used = FIT._replace(resource="cpu", used=11)
    assert log(0, FIT, asked, used) == []
    assert len(log(600, FIT, asked, used)) == 2
    assert {labels["resource"] for labels in log.labels} == {"pods", "cpu"}
    log(610, FIT._replace(resource="pods"), FIT._replace(resource="cpu"))
    assert len(log(910)) == 2


def test_over_commitment_can_be_tolerated_or_be_reported_earlier() -> None:
    fit = FIT._replace(resource="cpu", requested=9, used=None, free=1)
    early = AlertLog(changed(NodeOvercommitted={"requested_percent": 80, "for": "0s"}))
    assert early(0, fit) == ["firing NodeOvercommitted"]
    lenient = AlertLog(changed(NodeOvercommitted={"requested_percent": 150, "for": "0s"}))
    assert lenient(0, fit._replace(requested=15, free=-5)) == []
    assert lenient(10, fit._replace(requested=16, free=-6)) == ["firing NodeOvercommitted"]
