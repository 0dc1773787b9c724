"""The pod fields of `pod_samples` by ClickHouse's own `JSONExtract`, in the form that is fastest for it.

One typed tuple a line is parsed once; a `JSONExtract` for each field would parse each pod's text thirty times over,
and takes eight times as long. The columns have the types and codecs of `pod_samples`; the table is a plain MergeTree.
"""

from pathlib import Path
from typing import Final

from chdb.session import Session

TABLE: Final = "extracted_pods"
POD_SAMPLES_MIGRATION: Final = Path(__file__).parents[2] / "sql" / "migrations" / "0012_create_pod_samples.sql"

_PSI: Final = ", ".join(f"{kind} Tuple(total Nullable(Int64), avg10 Nullable(Float64))" for kind in ("some", "full"))
_USAGE: Final = "Tuple(usedBytes Int64, inodesUsed Int64)"
_POD: Final = f"""
    podRef Tuple(namespace String, name String, uid String),
    cpu Tuple(usageNanoCores Nullable(Int64), usageCoreNanoSeconds Nullable(Int64), psi Tuple({_PSI})),
    memory Tuple(usageBytes Nullable(Int64), workingSetBytes Nullable(Int64), rssBytes Nullable(Int64),
        pageFaults Nullable(Int64), majorPageFaults Nullable(Int64), psi Tuple({_PSI})),
    io Tuple(psi Tuple({_PSI})),
    swap Tuple(swapUsageBytes Nullable(Int64)),
    `ephemeral-storage` Tuple(usedBytes Nullable(Int64), inodesUsed Nullable(Int64)),
    process_stats Tuple(process_count Nullable(Int64)),
    containers Array(Tuple(rootfs {_USAGE}, logs {_USAGE})),
    volume Array(Tuple(name String, usedBytes Int64, inodesUsed Int64))"""
_LINE: Final = f"Tuple(ts String, cluster String, node String, object Tuple(pods Array(Tuple({_POD}))))"

_FIELDS: Final = (
    *("cpu.usageNanoCores", "cpu.usageCoreNanoSeconds"),
    *(f"memory.{name}" for name in ("usageBytes", "workingSetBytes", "rssBytes", "pageFaults", "majorPageFaults")),
    *("`ephemeral-storage`.usedBytes", "`ephemeral-storage`.inodesUsed"),
)
_SUMS: Final = (
    *(
        f"arraySum(c -> c.{part}.{name}, p.containers)"
        for part in ("rootfs", "logs")
        for name in ("usedBytes", "inodesUsed")
    ),
    *(f"arraySum(v -> v.{name}, volumes)" for name in ("usedBytes", "inodesUsed")),
)
_PSI_FIELDS: Final = tuple(
    f"p.{resource}.psi.{kind}.{name}"
    for resource in ("cpu", "memory", "io")
    for kind in ("some", "full")
    for name in ("total", "avg10")
)
_SELECT: Final = ",\n    ".join(
    (
        *("found.cluster", "parseDateTime64BestEffort(found.ts, 6, 'UTC')", "found.node"),
        *("p.podRef.namespace", "p.podRef.name", "p.podRef.uid"),
        *(f"p.{field}" for field in _FIELDS),
        *_SUMS,
        *("p.process_stats.process_count", "p.swap.swapUsageBytes"),
        *_PSI_FIELDS,
    )
)
"""In the order of the columns of `pod_samples`."""


def extract(capture: Path, folder: Path, threads: int) -> int:
    """Fill a table in a new database in `folder` from a capture that is not compressed; give the number of pods."""
    with Session(str(folder)) as session:
        session.query(POD_SAMPLES_MIGRATION.read_text())
        key = "cluster, node, ts, namespace, pod, uid"
        session.query(f"CREATE TABLE {TABLE} AS pod_samples ENGINE = MergeTree ORDER BY ({key})")
        session.query(f"""
INSERT INTO {TABLE}
WITH JSONExtract(line, {_quoted(_LINE)}) AS found, arrayJoin(found.object.pods) AS p,
    arrayFilter(v -> NOT startsWith(v.name, 'kube-api-access-'), p.volume) AS volumes
SELECT
    {_SELECT}
FROM file({_quoted(str(capture))}, 'LineAsString')
WHERE startsWith(substring(line, position(line, '"resource"'), 40), '"resource":"stats/summary"')
SETTINGS max_threads = {threads}
""")
        return int(str(session.query(f"SELECT count() FROM {TABLE}", "TSV")))


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
