"""The record of `numa_cluster` that a node publishes on its cluster's log."""

from collections.abc import Iterable
from datetime import datetime

from ingest.model.records import NodeNumaRecord, NumaBin, NumaClaim
from streams.analytics.numa.state import UNKNOWN_ARRIVAL, State, cpu_policy, topology_policy
from streams.rules.numa.resolve import Account
from streams.rules.numa.skew import NumaNumbers, skew


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
    """Return the CPUs of each pod: of each container, the CPUs that no larger one before it holds (rules:
    cpu-checkpoint).
    """
    if best is None:
        return []
    if best.view.fidelity != "exact":
        counts = {uid: pod.cpus_by(best.view.source) for uid, pod in state.pods.items() if pod.is_active}
        return sorted((_claim(state, uid, (cpus,)) for uid, cpus in counts.items() if cpus), key=_arrival)
    held: dict[str, list[frozenset[int]]] = {}
    for holder in best.view.holders:
        held.setdefault(holder.uid or f"{holder.namespace}/{holder.pod}", []).append(holder.cpus)
    return sorted((_claim(state, uid, _distinct(sets)) for uid, sets in held.items()), key=_arrival)


def _claim(state: State, uid: str, cpus: tuple[int, ...]) -> NumaClaim:
    pod = state.pods.get(uid)
    return NumaClaim(pod.arrived_at if pod else UNKNOWN_ARRIVAL, uid, cpus, pod.group if pod else "")


def _arrival(claim: NumaClaim) -> tuple[datetime, str]:
    return (claim.arrived_at, claim.uid)


def _distinct(sets: Iterable[frozenset[int]]) -> tuple[int, ...]:
    seen: frozenset[int] = frozenset()
    counts = []
    for cpus in sorted(sets, key=lambda cpus: (-len(cpus), sorted(cpus))):
        if cpus - seen:
            counts.append(len(cpus - seen))
        seen |= cpus
    return tuple(counts)
