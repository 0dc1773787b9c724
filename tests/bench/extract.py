"""The same pod fields by ClickHouse's own JSON functions, as its documentation would have a person write it."""

from typing import Final

TABLE: Final = "extracted_pods"

_PSI: Final = "psi Tuple(some Tuple(total Int64, avg10 Float64), full Tuple(total Int64, avg10 Float64))"
_USAGE: Final = "Tuple(usedBytes Int64, inodesUsed Int64)"
_POD: Final = f"""Tuple(
    podRef Tuple(namespace String, name String, uid String),
    cpu Tuple(usageNanoCores Int64, usageCoreNanoSeconds Int64, {_PSI}),
    memory Tuple(usageBytes Int64, workingSetBytes Int64, rssBytes Int64, pageFaults Int64, majorPageFaults Int64, {_PSI}),
    io Tuple({_PSI}),
    swap Tuple(swapUsageBytes Int64),
    `ephemeral-storage` {_USAGE},
    process_stats Tuple(process_count Int64),
    containers Array(Tuple(rootfs {_USAGE}, logs {_USAGE})),
    volume Array(Tuple(name String, usedBytes Int64, inodesUsed Int64)))"""
_LINE: Final = f"Tuple(ts String, cluster String, node String, object Tuple(pods Array({_POD})))"


def _psi(resource: str) -> str:
    return ",\n    ".join(
        f"p.{resource}.psi.{kind}.{field} AS {resource}_{kind}_{field}"
        for kind in ("some", "full")
        for field in ("total", "avg10")
    )


def _total(part: str, field: str) -> str:
    return f"arraySum(c -> c.{part}.{field}, p.containers) AS {part}_{field}"


EXTRACT: Final = f"""
CREATE TABLE {TABLE} ENGINE = MergeTree ORDER BY (cluster, node, ts, namespace, name, uid) AS
WITH JSONExtract(line, {_LINE!r}) AS found, arrayJoin(found.object.pods) AS p,
    arrayFilter(v -> NOT startsWith(v.name, 'kube-api-access-'), p.volume) AS volumes
SELECT
    toLowCardinality(found.cluster) AS cluster,
    parseDateTime64BestEffort(found.ts, 6, 'UTC') AS ts,
    toLowCardinality(found.node) AS node,
    toLowCardinality(p.podRef.namespace) AS namespace,
    p.podRef.name AS name,
    p.podRef.uid AS uid,
    p.cpu.usageNanoCores AS cpu_usage_nanocores,
    p.cpu.usageCoreNanoSeconds AS cpu_usage_core_nanoseconds,
    p.memory.usageBytes AS memory_usage_bytes,
    p.memory.workingSetBytes AS memory_working_set_bytes,
    p.memory.rssBytes AS memory_rss_bytes,
    p.memory.pageFaults AS memory_page_faults,
    p.memory.majorPageFaults AS memory_major_page_faults,
    p.`ephemeral-storage`.usedBytes AS ephemeral_used_bytes,
    p.`ephemeral-storage`.inodesUsed AS inodes_used,
    {_total("rootfs", "usedBytes")},
    {_total("rootfs", "inodesUsed")},
    {_total("logs", "usedBytes")},
    {_total("logs", "inodesUsed")},
    arraySum(v -> v.usedBytes, volumes) AS volumes_used_bytes,
    arraySum(v -> v.inodesUsed, volumes) AS volumes_inodes_used,
    p.process_stats.process_count AS processes,
    p.swap.swapUsageBytes AS swap_usage_bytes,
    {_psi("cpu")},
    {_psi("memory")},
    {_psi("io")}
FROM file({{path:String}}, 'LineAsString')
WHERE startsWith(substring(line, position(line, '"resource"'), 40), '"resource":"stats/summary"')
"""
