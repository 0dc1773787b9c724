"""NodeOvercommitted: pods request, or use, more than a node's allocatable."""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.amounts import cpus
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import Percent, RuleSettings
from streams.alerting.words import amount, name
from streams.fold.findings import NodeFit, Resize

_ALL: Final = 100.0
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})


class Settings(RuleSettings):
    requested_percent: Percent
    used_percent: Percent


class State(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requests of deferred resizes beyond those of the running pod, by the pod's uid."""

    waiting: dict[str, dict[str, int]] = {}


def step(
    settings: Settings, state: State, rows: Sequence[NodeFit | Resize], now: Now
) -> tuple[State, Sequence[Change]]:
    """Judge new rows. This runs for every sample of every node, and usually no resource is over."""
    fits = [row for row in rows if isinstance(row, NodeFit)]
    if resizes := [row for row in rows if isinstance(row, Resize)]:
        state = _waiting(state, resizes)
    if not now.active and min(settings.requested_percent, settings.used_percent) >= _ALL:
        fits = [row for row in fits if row.free < 0 or (row.used is not None and row.used > row.allocatable)]
    if state.waiting:
        fits = [_as_it_runs(row, state) for row in fits]
    return state, [_over(row) if _is_over(row, settings) else Ends({"resource": row.resource}) for row in fits]


def _waiting(state: State, rows: Sequence[Resize]) -> State:
    waiting = dict(state.waiting)
    for row in rows:
        waiting.pop(row.uid, None)
        if row.state == "deferred":
            waiting[row.uid] = {name: amount - row.running.get(name, 0) for name, amount in row.wanted.items()}
    return State(waiting)


def _as_it_runs(row: NodeFit, state: State) -> NodeFit:
    waits = sum(wants.get(row.resource, 0) for wants in state.waiting.values())
    return row._replace(requested=row.requested - waits, free=row.free + waits)


def _is_over(row: NodeFit, settings: Settings) -> bool:
    if row.requested * _ALL > row.allocatable * settings.requested_percent:
        return True
    return row.used is not None and row.used * _ALL > row.allocatable * settings.used_percent


def _over(row: NodeFit) -> Holds:
    used = "" if row.used is None else f", {_in_units(row.used, row.resource)} used"
    return Holds(
        {"resource": row.resource},
        f"Node {name(row.node)}: {name(row.resource)}, {_in_units(row.requested, row.resource)} requested{used} of "
        f"{_in_units(row.allocatable, row.resource)} allocatable",
        "Requests or use exceed allocatable. The cause is static pods, an allocatable that became smaller, or pods "
        "that use more than they request. Move pods. Lower requests that are above use, and raise those below it: "
        "leadsman query requests.",
    )


def _in_units(value: int, resource: str) -> str:
    if resource == "cpu":
        return cpus(value)
    return amount(value, resource) if resource in _BYTES else f"{value}"


ALERT: Final = AlertDefinition(
    name="NodeOvercommitted",
    settings=Settings,
    needs=(
        Need("requests", "no request is known: it cannot fire"),
        Need("samples", "use is not measured: only requests count", required=False),
    ),
    node_rows=(NodeFit, Resize),
    step=step,
    state=State,
)
