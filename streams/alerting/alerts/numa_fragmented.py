"""NUMAFragmented: enough exclusive CPUs are free for a request, but no NUMA node has them together."""

from collections.abc import Iterator
from typing import Final, Literal

from common.amounts import counted
from streams.alerting.definition import AlertDefinition, Change, Ends, Holds, Need, Now, each_row
from streams.alerting.rule_settings import Count, RuleSettings
from streams.alerting.words import numa_evidence, place
from streams.fold.findings import NumaSkew
from streams.fold.titles import free_cpus


class Settings(RuleSettings):
    request_cpus: Count
    scopes: list[Literal["node", "cluster"]]


def changes(settings: Settings, row: NumaSkew, _now: Now) -> Iterator[Change]:
    labels = {"scope": row.scope}
    free, fit, request = row.free_cpus, row.largest_fit_cpus, settings.request_cpus
    is_looked_at = row.scope in settings.scopes and row.cpu_manager_policy != "none"
    if not is_looked_at or free is None or fit is None or not fit < request <= free:
        yield Ends(labels)
        return
    yield Holds(
        labels,
        f"{place(row.cluster, row.node)}: {free_cpus(free, fit)}",
        f"A pod that asks for {counted(request, 'exclusive CPU')} on one NUMA node fits nowhere, although enough are "
        "free. Move pods to free up one NUMA node. See which placement would have kept room: leadsman query "
        f"numa_whatif. See what fits now: leadsman fit --cpu {request} --exclusive. "
        f"{numa_evidence(row.source, row.fidelity)}",
    )


ALERT: Final = AlertDefinition(
    name="NUMAFragmented",
    settings=Settings,
    needs=(Need("numa", "no source reports its NUMA nodes: it cannot fire"),),
    node_rows=(NumaSkew,),
    cluster_rows=(NumaSkew,),
    step=each_row(changes),
)
