"""NodeOvercommitted: a node promises, or uses, more than its allocatable."""

from collections.abc import Sequence
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Nothing, Now
from streams.alerting.rule_settings import Percent, RuleSettings
from streams.alerting.words import amount, name
from streams.fold.findings import NodeFit

_ALL: Final = 100.0
_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_MILLICORES_PER_CPU: Final = 1000


class Settings(RuleSettings):
    requested_percent: Percent
    used_percent: Percent


def step(settings: Settings, state: Nothing, rows: Sequence[NodeFit], now: Now) -> tuple[Nothing, Sequence[Change]]:
    """Called for every sample of every node: mostly no resource is over."""
    if not now.active and min(settings.requested_percent, settings.used_percent) >= _ALL:
        rows = [row for row in rows if row.free < 0 or (row.used is not None and row.used > row.allocatable)]
    return state, [_over(row) if _is_over(row, settings) else Ends({"resource": row.resource}) for row in rows]


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
        "What pods ask for or use is more than what the node can give them: by static pods, by an allocatable that "
        "became smaller, or by pods that use more than they ask for. New pods fail with Insufficient, and the "
        "kubelet's reserve is used up. Raise requests to what is used, or move pods: leadsman query over_request, "
        "leadsman query fit.",
    )


def _in_units(value: int, resource: str) -> str:
    if resource == "cpu":
        return f"{value / _MILLICORES_PER_CPU:g} CPUs"
    return amount(value, resource) if resource in _BYTES else f"{value}"


ALERT: Final = AlertDefinition(
    name="NodeOvercommitted",
    settings=Settings,
    needs=(
        Need("requests", "no request is known: it cannot fire"),
        Need("samples", "use is not measured: only requests count", required=False),
    ),
    node_rows=(NodeFit,),
    step=step,
)
