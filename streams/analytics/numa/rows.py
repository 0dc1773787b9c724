"""Builds the rows of `numa_skew` from a node's state and its best account, and reports disagreements."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec.structs import astuple

from common.durations import in_words
from ingest.model.cpuset import format_cpuset
from ingest.model.machine import NumaBin, NumaClaim
from ingest.model.records import NodeNumaRecord, Record
from streams.analytics.numa.state import (
    UNKNOWN_ARRIVAL,
    Pending,
    State,
    cpu_policy,
    device_views,
    topology_policy,
    topology_scope,
)
from streams.fold.findings import NumaAllocation, NumaDisagreement, NumaPod, NumaResource, NumaSkew
from streams.fold.reducer import Output
from streams.rules.numa.memory_manager import without_pods
from streams.rules.numa.resolve import WHOLE_NODE, Account, ordered_accounts, witnesses
from streams.rules.numa.skew import NumaNumbers, Skew, skew
from streams.rules.numa.sources import CRANE, GAUGE, POD_SPEC, TOTAL, Holder, NumaView, stale_gauges
from streams.rules.numa.topology import NumaNode

PINS_NOTHING: Final = "with the CPU Manager policy none the kubelet gives no exclusive CPUs, free or not"
_OFFLINE: Final = NumaNumbers(WHOLE_NODE, 0, 0, 0, 0, 0, 0)


def allocation_rows(state: State, ts: datetime, best: Account, accounts: Sequence[Account]) -> list[NumaAllocation]:
    """Return a row for each NUMA node, and a row of zeros for each one that has disappeared."""
    machine = {node.numa_node: node for node in best.topology.numa_nodes} if best.topology else {}
    rows = [
        _allocation(state, ts, best, each, witnesses(best, accounts, each.numa_node), machine.get(each.numa_node))
        for each in best.numbers
    ]
    now = {row.numa_node for row in rows}
    shown = (row.numa_node for row in state.shown.allocations.values() if row.cpus != 0)
    gone = sorted(numa for numa in shown if numa not in now)
    return rows + [_allocation(state, ts, best, _OFFLINE._replace(numa_node=numa), [], None) for numa in gone]


def pod_rows(state: State, ts: datetime, best: Account | None) -> list[NumaPod]:
    """Return a row for each container that holds CPUs, by the best account that knows pods, or that released them."""
    rows = [] if best is None else [*_held(state, ts, best)]
    now = {pod_key(row) for row in rows}
    gone = [row for key, row in state.shown.pods.items() if row.cpus and key not in now]
    return rows + [row._replace(ts=ts, cpus=0, cpuset="", numa_nodes=[], aligned=None) for row in gone]


def skew_row(state: State, ts: datetime, best: Account, spanning_pods: int) -> NumaSkew:
    total = skew(best.numbers) if best.fidelity != "none" else None
    whole = best.numbers[0] if best.fidelity == "none" and best.numbers[0].numa_node == WHOLE_NODE else None
    allocatable = [each.allocatable_cpus for each in best.numbers if each.allocatable_cpus is not None]
    return NumaSkew(
        cluster=state.cluster,
        ts=ts,
        scope="node",
        node=state.node,
        **(total._asdict() if total else dict.fromkeys(Skew._fields) | {"free_cpus": whole and whole.free_cpus}),
        exclusive_cpus=best.exclusive_cpus,
        allocatable_cpus=sum(allocatable) if len(allocatable) == len(best.numbers) else None,
        spanning_pods=spanning_pods,
        nodes=1,
        source=best.view.source,
        fidelity=best.fidelity,
        assumed=list(best.assumed),
        explanation=PINS_NOTHING if cpu_policy(state) == "none" else best.explanation,
        cpu_manager_policy=cpu_policy(state),
        topology_manager_policy=topology_policy(state),
        topology_manager_scope=topology_scope(state),
    )


def resource_rows(state: State, ts: datetime) -> list[NumaResource]:
    """Return memory by the kubelet's checkpoint, and memory and devices by podresources and NodeResourceTopology."""
    base = (state.cluster, ts, state.node)
    rows = [
        NumaResource(
            *base,
            numa,
            kind,
            table.total,
            table.allocatable,
            table.free,
            list(node.cells) if len(node.cells) > 1 else [],
            "memory_manager_state",
        )
        for numa, node in sorted(without_pods(state.memory, state.ended).machine.items() if state.memory else ())
        for kind, table in sorted(node.tables.items())
    ]
    return rows + [
        NumaResource(*base, zone.numa_node, name, *amount, [], view.source)
        for view in device_views(state)
        for zone in view.zones
        for name, amount in sorted(zone.resources.items())
    ]


def stale_gauge_rows(record: Record, state: State) -> list[NumaDisagreement]:
    """Report gauges of the kubelet that contradict its own total (rules: kubelet-metrics)."""
    view = state.gauges
    if view is None or not view.quirk:
        return []
    key = record.row_key
    stale = stale_gauges(view, state.metrics)
    if any(zone.exclusive_cpus is None for zone in view.zones):
        shown = sum(int(metric.value) for metric in state.metrics if metric.name == GAUGE)
        return [NumaDisagreement(*key, WHOLE_NODE, TOTAL, view.exclusive_cpus or 0, GAUGE, shown, view.quirk)]
    return [NumaDisagreement(*key, numa, TOTAL, 0, GAUGE, value, view.quirk) for numa, value in sorted(stale.items())]


def pod_account(state: State, accounts: Iterable[Account]) -> Account | None:
    """Return the best account whose source knows which pods hold CPUs."""
    known = (each for each in ordered_accounts(accounts) if _knows_pods(state, each.view))
    return next(known, None)


def _knows_pods(state: State, view: NumaView) -> bool:
    if view.source == CRANE:
        return any(pod.crane_cpus for pod in state.pods.values() if pod.is_active)
    return view.fidelity == "exact" or view.source == POD_SPEC


def _allocation(
    state: State, ts: datetime, best: Account, numbers: NumaNumbers, agreeing: list[str], machine: NumaNode | None
) -> NumaAllocation:
    return NumaAllocation(
        cluster=state.cluster,
        ts=ts,
        node=state.node,
        **numbers._asdict(),
        source=best.view.source,
        fidelity=best.fidelity,
        producer=best.view.producer,
        witnesses=agreeing,
        assumed=list(best.assumed),
        cpuset=machine.cpuset if machine else "",
        free_cpuset=format_cpuset(machine.cpus - best.taken) if machine else "",
        core_cpusets=list(machine.core_cpusets) if machine else [],
        reserved_cpuset=format_cpuset(machine.cpus & best.reserved) if machine else "",
        core_sockets=list(machine.sockets) if machine else [],
    )


def _held(state: State, ts: datetime, best: Account) -> Iterator[NumaPod]:
    source, fidelity = best.view.source, best.fidelity
    if best.view.fidelity == "exact":
        yield from (_holder_row(state, ts, best, holder) for holder in best.view.holders)
        return
    for uid, pod in sorted(state.pods.items()):
        numa_nodes = sorted(pod.crane_cpus) if source == CRANE else []
        cpus = pod.cpus_by(source)
        if cpus and pod.is_active:
            aligned = len(numa_nodes) == 1 if numa_nodes else None
            key = (state.cluster, ts, state.node, pod.namespace, pod.pod, uid, "")
            yield NumaPod(*key, cpus, "", numa_nodes, aligned, source, fidelity)


def _holder_row(state: State, ts: datetime, best: Account, holder: Holder) -> NumaPod:
    known = state.pods.get(holder.uid)
    numa_nodes = best.numa_nodes_of(holder.cpus)
    return NumaPod(
        cluster=state.cluster,
        ts=ts,
        node=state.node,
        namespace=known.namespace if known else holder.namespace,
        pod=known.pod if known else holder.pod,
        uid=holder.uid,
        container=holder.container,
        cpus=len(holder.cpus),
        cpuset=format_cpuset(holder.cpus),
        numa_nodes=list(numa_nodes),
        aligned=len(numa_nodes) == 1 if numa_nodes else None,
        source=best.view.source,
        fidelity=best.fidelity,
    )


def pod_key(row: NumaPod) -> str:
    return f"{row.namespace}/{row.pod}/{row.uid}/{row.container}"


def summary_record(
    state: State, ts: datetime, best: Account, of_pods: Account | None, spanning_pods: int
) -> NodeNumaRecord | None:
    """Build the record for the analysis across nodes; None if NUMA nodes are unknown, or the kubelet pins nothing."""
    total = skew(best.numbers) if best.fidelity != "none" else None
    if total is None or cpu_policy(state) == "none":
        return None
    machine = state.machine
    return NodeNumaRecord(
        ts=ts,
        cluster=state.cluster,
        target=state.node,
        created_at=machine.created_at if machine else None,
        kubelet_version=machine.kubelet_version if machine else "",
        control_plane=machine.control_plane if machine else False,
        single_numa=topology_policy(state) == "single-numa-node",
        exclusive_cpus=sum(each.exclusive_cpus or 0 for each in best.numbers),
        allocatable_cpus=sum(each.allocatable_cpus or 0 for each in best.numbers),
        free_cpus=total.free_cpus,
        largest_fit_cpus=total.largest_fit_cpus,
        spanning_pods=spanning_pods,
        fidelity=best.fidelity,
        bins=tuple(_bin(best, each) for each in best.numbers),
        claims=tuple(_claims(state, of_pods)),
    )


def _bin(best: Account, numbers: NumaNumbers) -> NumaBin:
    numa, allocatable = numbers.numa_node, numbers.allocatable_cpus or 0
    machine = next((n for n in best.topology.numa_nodes if n.numa_node == numa), None) if best.topology else None
    if machine is None:
        return NumaBin(numa, allocatable, 0, 1)
    threads = max(len(core) for core in machine.cores)
    whole = sum(len(core) == threads and core.isdisjoint(best.reserved) for core in machine.cores)
    return NumaBin(numa, whole, allocatable - whole * threads, threads)


def _claims(state: State, best: Account | None) -> list[NumaClaim]:
    """Return each pod's CPUs. A CPU that containers share counts for the largest (rules: cpu-checkpoint)."""
    if best is None:
        return []
    if best.view.fidelity != "exact":
        counts = {uid: pod.cpus_by(best.view.source) for uid, pod in state.pods.items() if pod.is_active}
        return sorted((_claim(state, uid, (cpus,)) for uid, cpus in counts.items() if cpus), key=astuple)
    held: dict[str, list[frozenset[int]]] = {}
    for holder in best.view.holders:
        held.setdefault(holder.uid or f"{holder.namespace}/{holder.pod}", []).append(holder.cpus)
    return sorted((_claim(state, uid, _distinct(sets)) for uid, sets in held.items()), key=astuple)


def _claim(state: State, uid: str, cpus: tuple[int, ...]) -> NumaClaim:
    pod = state.pods.get(uid)
    return NumaClaim(pod.arrived_at if pod else UNKNOWN_ARRIVAL, uid, cpus, pod.group if pod else "")


def _distinct(sets: Iterable[frozenset[int]]) -> tuple[int, ...]:
    seen: frozenset[int] = frozenset()
    counts = []
    for cpus in sorted(sets, key=lambda cpus: (-len(cpus), sorted(cpus))):
        if cpus - seen:
            counts.append(len(cpus - seen))
        seen |= cpus
    return tuple(counts)


DISAGREES_AFTER: Final = timedelta(minutes=2)
"""Exporters follow the kubelet by up to a minute, so a shorter difference is a delay and not a disagreement."""


def with_pending(state: State, found: Mapping[tuple[int, str], tuple[int, int]], ts: datetime) -> State:
    """Store the present differences, by NUMA node and source, each with the time it began."""
    pending = {}
    for (numa, source), (mine, its) in found.items():
        key = f"{source}/{numa}"
        known = state.pending.get(key)
        same = known is not None and (known.mine, known.its) == (mine, its)
        pending[key] = (
            known if known is not None and same else Pending(numa, source, mine, its, ts, is_reported=False)
        )
    return state if pending == state.pending else msgspec.structs.replace(state, pending=pending)


def due_disagreements(state: State, ts: datetime) -> tuple[State, list[Output]]:
    """Return the rows that have held for long enough, each once."""
    due = [key for key, each in state.pending.items() if not each.is_reported and ts - each.since >= DISAGREES_AFTER]
    if not due or state.shown.skew is None:
        return state, []
    rows: list[Output] = [_disagreement(state, state.pending[key], state.shown.skew) for key in sorted(due)]
    pending = {key: each._replace(is_reported=each.is_reported or key in due) for key, each in state.pending.items()}
    return msgspec.structs.replace(state, pending=pending), rows


def _disagreement(state: State, each: Pending, believed: NumaSkew) -> NumaDisagreement:
    return NumaDisagreement(
        cluster=state.cluster,
        ts=each.since,
        node=state.node,
        numa_node=each.numa_node,
        source_a=believed.source,
        value_a=each.mine,
        source_b=each.source,
        value_b=each.its,
        explanation=f"{believed.source} ({believed.fidelity}) is believed; {each.source} reports another number of "
        f"exclusive CPUs for over {in_words(DISAGREES_AFTER.total_seconds())}",
    )
