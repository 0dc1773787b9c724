"""Places the existing pods by other strategies: rows of `numa_whatif` for nodes and clusters."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from ingest.model.records import NodeNumaRecord
from streams.fold.findings import NumaWhatif
from streams.rules.numa.placement import STRATEGIES, NodeBins, PlacementResult, place
from streams.rules.numa.skew import NumaNumbers, Skew, cluster_skew, skew

_NOTHING: Final = Skew(0.0, 0.0, 0, 0, 0)


def whatif_rows(
    cluster: str, ts: datetime, node: str, nodes: Sequence[NodeNumaRecord], *, has_gangs: bool
) -> list[NumaWhatif]:
    """Return a row for each strategy, for the `node` or the cluster; `gang` only if a pod has, or had, a pod
    group.
    """
    shapes = [NodeBins(each.target, each.bins, each.single_numa) for each in nodes]
    claims = [claim for each in nodes for claim in each.claims]
    rows = []
    for strategy in (each for each in STRATEGIES if has_gangs or each != "gang"):
        placed = place(shapes, claims, strategy)
        total = skew(placed.numbers[node]) if node else _over_nodes(placed.numbers)
        rows.append(_row((cluster, ts, node, strategy), total or _NOTHING, placed, len(claims)))
    return rows


def _row(key: tuple[str, datetime, str, str], total: Skew, placed: PlacementResult, pods: int) -> NumaWhatif:
    cluster, ts, node, strategy = key
    return NumaWhatif(
        cluster=cluster,
        ts=ts,
        scope="node" if node else "cluster",
        node=node,
        strategy=strategy,
        **total._asdict(),
        free_cores=sum(each.free_cores or 0 for numbers in placed.numbers.values() for each in numbers),
        spanning_pods=placed.spanning_pods,
        unplaced_pods=placed.unplaced_pods,
        pods=pods,
    )


def _over_nodes(numbers: Mapping[str, Sequence[NumaNumbers]]) -> Skew | None:
    return cluster_skew(
        [
            (
                sum(each.exclusive_cpus or 0 for each in of_node),
                sum(each.allocatable_cpus or 0 for each in of_node),
                sum(each.free_cpus or 0 for each in of_node),
                max((each.free_cpus or 0 for each in of_node), default=0),
            )
            for of_node in numbers.values()
        ]
    )
