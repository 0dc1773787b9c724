"""NodeOvercommitted: more requested or used than allocatable, by resource."""

from components.alert_log import AlertLog, changed
from components.rows import row
from streams.fold.findings import NodeFit, Resize

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


def test_what_a_deferred_resize_wants_does_not_run_and_is_no_overcommitment() -> None:
    """4 of 12 requested belong to a resize that waits; once it is allocated they count."""
    fit = FIT._replace(requested=12, free=-2)
    resize = row(
        Resize, node="n", uid="u", state="deferred", wanted={"memory": 7, "cpu": 1}, running={"memory": 3, "cpu": 1}
    )
    log = AlertLog(changed(NodeOvercommitted={"for": "0s"}))
    assert log(0, fit, resize) == []
    assert log(10, fit) == []
    assert log(20, fit._replace(requested=15, free=-5)) == ["firing NodeOvercommitted"]
    assert "11 B requested" in log.summaries[0]
    allocated = AlertLog(changed(NodeOvercommitted={"for": "0s"}))
    assert allocated(0, fit, resize) == []
    assert allocated(10, fit, resize._replace(state="in_progress", running={"memory": 7})) == [
        "firing NodeOvercommitted"
    ]
