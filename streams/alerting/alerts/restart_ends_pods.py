"""RestartEndsPods: a restart of the kubelet would end running pods (rules: exclusive-cpus)."""

from collections.abc import Sequence
from typing import Final

import msgspec

from common.amounts import counted
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import place, shorten_list
from streams.fold.findings import KubeletSetting, NumaPod, NumaSkew
from streams.rules.scheduling.fit_machine import requires_whole_cores


class State(msgspec.Struct, frozen=True):
    whole_cores: bool = False
    """`full-pcpus-only` of the static policy, by the kubelet's own settings."""
    free_cpus: int | None = None
    held: dict[str, int] = {}
    """Exclusive CPUs of each container."""


def step(
    _settings: RuleSettings, state: State, rows: Sequence[KubeletSetting | NumaSkew | NumaPod], _now: Now
) -> tuple[State, Sequence[Change]]:
    for row in rows:
        state = _seen(state, row)
    ending = sorted(pod for pod, cpus in state.held.items() if state.free_cpus is not None and cpus > state.free_cpus)
    if not state.whole_cores or not ending:
        return state, [Ends({}) for _ in rows[:1]]
    pods = sorted({pod.rpartition("/")[0] for pod in ending})
    free, ends = counted(state.free_cpus or 0, "CPU is", "CPUs are"), counted(len(pods), "running pod")
    return state, [
        Holds(
            {},
            f"{place(rows[-1].cluster, rows[-1].node)}: a restart of the kubelet would end {ends}",
            "With full-pcpus-only, a restarting kubelet checks that the CPUs of a running container are free, "
            f"although the container holds them: {free} free. It would end {shorten_list(pods)}. "
            "Before you restart or upgrade this kubelet, drain the node, or free CPUs. "
            "See leadsman query restart_ends.",
        )
    ]


def _seen(state: State, row: KubeletSetting | NumaSkew | NumaPod) -> State:
    match row:
        case KubeletSetting():
            is_static = row.cpu_manager_policy == "static"
            whole = is_static and requires_whole_cores(row.cpu_manager_policy_options)
            return msgspec.structs.replace(state, whole_cores=whole)
        case NumaSkew():
            return msgspec.structs.replace(state, free_cpus=row.free_cpus)
        case NumaPod():
            held = {**state.held, f"{row.namespace}/{row.pod}/{row.container}": row.cpus}
            return msgspec.structs.replace(state, held={pod: cpus for pod, cpus in held.items() if cpus})


ALERT: Final = AlertDefinition(
    name="RestartEndsPods",
    settings=RuleSettings,
    needs=(
        Need("numa", "the containers that hold CPUs are unknown: it cannot fire"),
        Need("configz", "the options of its CPU Manager are unknown: it cannot fire"),
    ),
    node_rows=(KubeletSetting, NumaSkew, NumaPod),
    step=step,
    state=State,
)
