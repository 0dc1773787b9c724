"""One more ended pod costs a node's log that knows many no visit of all alerts, and no copy of what is known."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from ingest.model.records import PodRecord
from leadsman.run.reducers import all_reducers
from leadsman.run.settings import load
from streams.alerting import holding
from streams.alerting.active import ActiveAlert, Group, key_of
from streams.alerting.definition import Change, Ends, Happened, Holds, Recovered
from streams.alerting.rules_file import default_rules
from streams.fold.fold import Fold, LogState

T0: Final = datetime(2026, 7, 1, tzinfo=UTC)
PODS: Final = 200
MISFIT: Final = {
    "phase": "Failed",
    "reason": "TopologyAffinityError",
    "message": "Pod was rejected: Resources cannot be allocated with Topology locality",
}
KILLED: Final = {
    "phase": "Failed",
    "containerStatuses": [
        {"name": "w", "state": {"terminated": {"reason": "OOMKilled", "exitCode": 137, "finishedAt": T0}}}
    ],
}


def ended(number: int, status: dict[str, Any]) -> PodRecord:
    body = {"metadata": {"name": f"p{number}", "namespace": "d", "uid": f"uid-{number}"}, "status": status}
    ts = T0 + timedelta(milliseconds=number)
    return PodRecord(ts=ts, cluster="c", node="n", change="ADDED", object=msgspec.convert(body, Pod))


@pytest.mark.parametrize("status", [MISFIT, KILLED], ids=["refused", "killed"])
def test_an_ended_pod_visits_no_alert_that_is_not_due(
    status: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without that, the 200th visits each of 199 alerts several times: 40,000 in all."""
    visits = 0

    def counted(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: Any) -> Any:
            nonlocal visits
            visits += 1
            return ask(*given)

        return asked

    for name in ("is_quiet", "is_forgotten"):
        monkeypatch.setattr(ActiveAlert, name, counted(getattr(ActiveAlert, name)))
    fold, log = Fold(all_reducers(load(None))), LogState()
    for number in range(PODS):
        fold.step(log, ended(number, status))
    assert visits < 3 * holding.FEW * holding.FEW


@pytest.mark.parametrize(
    ("reducer", "fields", "status"),
    [("numa_skew", ["refused"], MISFIT), ("pod_ends", ["ends"], MISFIT), ("pod_ends", ["ends", "finished"], KILLED)],
)
def test_an_ended_pod_copies_one_shelf_of_what_is_known(
    reducer: str, fields: list[str], status: dict[str, Any]
) -> None:
    fold, log = Fold(all_reducers(load(None))), LogState()
    for number in range(PODS):
        before: Any = log.states.get(reducer)
        fold.step(log, ended(number, status))
    for field in fields:
        old, new = getattr(before, field), getattr(log.states[reducer], field)
        assert sum(new[name] is not old.get(name) for name in new) == 1


MANY: Final = 40
ORIGIN: Final = holding.Origin("A", default_rules().of("PodsEvicted"), "", "c", "n")


def alerts(random: Random) -> dict[str, ActiveAlert]:
    """Alerts in every state that one can be in, with times within a minute."""

    def at() -> datetime:
        return T0 + timedelta(seconds=random.randrange(60))

    def one(number: int) -> ActiveAlert:
        started = random.choice([None, at()])
        return ActiveAlert(
            *(
                {"alertname": "A", "severity": "w", "cluster": "c", "n": str(number)},
                "s",
                "d",
                at(),
                random.choice([None, at()]),
            ),
            *(random.choice([True, False]), random.uniform(0, 20), random.uniform(0, 20), "", started),
            *(random.choice([None, started]), "s"),
            random.choice([Group(), Group().plus("m", T0)]),
            random.choice([1, 2]),
        )

    return {key_of({"n": str(number)}): one(number) for number in range(MANY)}


def changes_at(at: datetime, random: Random) -> list[Change]:
    labels = [{"n": str(random.randrange(2 * MANY))} for _ in range(4)]
    return [
        Ends(labels[0]),
        Holds(labels[1], "holds", "d"),
        Happened(labels[2], "happened", "d", at + timedelta(seconds=random.randrange(9))),
        Recovered(labels[3]),
    ]


@pytest.mark.parametrize("seed", range(40))
def test_alerts_that_are_not_due_need_no_visit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Visiting every alert at each time gives the same states and rows."""

    def found(few: int) -> list[object]:
        monkeypatch.setattr(holding, "FEW", few)
        random, rows = Random(seed), list[object]()  # noqa: S311  # the same input each time is the point
        state = holding.State("c", "n", {"A": alerts(random)})
        for second in range(0, 90, 5):
            at = T0 + timedelta(seconds=second)
            active = holding.changed(state.active.get("A", {}), changes_at(at, random), at, ORIGIN)
            state, resolved = holding.resolved(holding.with_active(state, {"A": active}), at)
            state, fired = holding.fired(state, at, repeat=second % 30 == 0)
            rows += [state, resolved, fired]
        return rows

    assert found(2) == found(10 * MANY)
