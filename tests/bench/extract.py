"""The pod fields of `pod_samples` by ClickHouse's own `JSONExtract`, in two forms.

`each_field` is how ClickHouse's documentation uses the function: the pods are an array of raw texts, and each column
is one `JSONExtract` of a pod's text by its path. `one_tuple` is the fastest that we found: one typed tuple a line,
parsed once. The columns have the types and codecs of `pod_samples`; the table is a plain MergeTree.
"""

from pathlib import Path
from typing import Final

from sql.schema.migrate import MIGRATIONS

TABLE: Final = "extracted_pods"
POD_SAMPLES_TABLE: Final = MIGRATIONS / "0001_baseline/pod_samples.sql"

_PSI: Final = ", ".join(f"{kind} Tuple(total Nullable(Int64), avg10 Nullable(Float64))" for kind in ("some", "full"))
_USAGE: Final = "Tuple(usedBytes Int64, inodesUsed Int64)"
_CONTAINERS: Final = f"Array(Tuple(rootfs {_USAGE}, logs {_USAGE}))"
_VOLUMES: Final = "Array(Tuple(name String, usedBytes Int64, inodesUsed Int64))"
_POD: Final = f"""
    podRef Tuple(namespace String, name String, uid String),
    cpu Tuple(usageNanoCores Nullable(Int64), usageCoreNanoSeconds Nullable(Int64), psi Tuple({_PSI})),
    memory Tuple(usageBytes Nullable(Int64), workingSetBytes Nullable(Int64), rssBytes Nullable(Int64),
        pageFaults Nullable(Int64), majorPageFaults Nullable(Int64), psi Tuple({_PSI})),
    io Tuple(psi Tuple({_PSI})),
    swap Tuple(swapUsageBytes Nullable(Int64)),
    `ephemeral-storage` Tuple(usedBytes Nullable(Int64), inodesUsed Nullable(Int64)),
    process_stats Tuple(process_count Nullable(Int64)),
    containers {_CONTAINERS},
    volume {_VOLUMES}"""
_LINE: Final = f"Tuple(ts String, cluster String, node String, object Tuple(pods Array(Tuple({_POD}))))"

_FIELDS: Final = (
    *("cpu.usageNanoCores", "cpu.usageCoreNanoSeconds"),
    *(f"memory.{name}" for name in ("usageBytes", "workingSetBytes", "rssBytes", "pageFaults", "majorPageFaults")),
    *("ephemeral-storage.usedBytes", "ephemeral-storage.inodesUsed"),
)
_LAST_FIELDS: Final = ("process_stats.process_count", "swap.swapUsageBytes")
_PSI_FIELDS: Final = tuple(
    f"{resource}.psi.{kind}.{name}"
    for resource in ("cpu", "memory", "io")
    for kind in ("some", "full")
    for name in ("total", "avg10")
)
_SUMS: Final = (
    *(
        f"arraySum(c -> c.{part}.{name}, containers)"
        for part in ("rootfs", "logs")
        for name in ("usedBytes", "inodesUsed")
    ),
    *(f"arraySum(v -> v.{name}, volumes)" for name in ("usedBytes", "inodesUsed")),
)
_IN_FILES: Final = "arrayFilter(v -> NOT startsWith(v.name, 'kube-api-access-'), {}) AS volumes"


_BETWEEN: Final = ",\n    "


def _unit(path: str) -> str:
    """Stalls come in microseconds (rules: psi-and-swap)."""
    return "1000 * " if path.endswith(".total") else ""


def _part(path: str) -> str:
    return _unit(path) + "p." + ".".join(f"`{name}`" for name in path.split("."))


def _extracted(path: str) -> str:
    names = ", ".join(f"'{name}'" for name in path.split("."))
    return f"{_unit(path)}JSONExtract(p, {names}, 'Nullable({'Float64' if path.endswith('avg10') else 'Int64'})')"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_ONE_TUPLE: Final = (
    (
        f"JSONExtract(line, {_quoted(_LINE)}) AS found, arrayJoin(found.object.pods) AS p,"
        f" p.containers AS containers, {_IN_FILES.format('p.volume')}"
    ),
    (
        *("found.cluster", "parseDateTime64BestEffort(found.ts, 6, 'UTC')", "found.node"),
        *(_part(f"podRef.{name}") for name in ("namespace", "name", "uid")),
        *map(_part, _FIELDS),
        *_SUMS,
        *map(_part, (*_LAST_FIELDS, *_PSI_FIELDS)),
    ),
)
_VOLUMES_OF_A_POD: Final = f"JSONExtract(p, 'volume', '{_VOLUMES}')"
_EACH_FIELD: Final = (
    (
        "arrayJoin(JSONExtractArrayRaw(line, 'object', 'pods')) AS p,"
        f" JSONExtract(p, 'containers', '{_CONTAINERS}') AS containers, {_IN_FILES.format(_VOLUMES_OF_A_POD)}"
    ),
    (
        "JSONExtractString(line, 'cluster')",
        "parseDateTime64BestEffort(JSONExtractString(line, 'ts'), 6, 'UTC')",
        "JSONExtractString(line, 'node')",
        *(f"JSONExtractString(p, 'podRef', '{name}')" for name in ("namespace", "name", "uid")),
        *map(_extracted, _FIELDS),
        *_SUMS,
        *map(_extracted, (*_LAST_FIELDS, *_PSI_FIELDS)),
    ),
)
FORMS: Final = {"one_tuple": _ONE_TUPLE, "each_field": _EACH_FIELD}
"""Columns of `pod_samples` in their order, which are computed from a line."""


def extract(capture: Path, folder: Path, threads: int, form: str) -> int:
    """Fill a table in a new database in `folder` from a capture that is not compressed; give the number of pods.

    `form` is one of FORMS.
    """
    from chdb.session import Session  # noqa: PLC0415 - Leadsman sets its allocator before it is loaded

    found, columns = FORMS[form]
    with Session(str(folder)) as session:
        session.query(POD_SAMPLES_TABLE.read_text())
        session.query("ALTER TABLE pod_samples DROP COLUMN volumes")  # a list that the forms do not make
        key = "cluster, node, ts, namespace, pod, uid"
        session.query(f"CREATE TABLE {TABLE} AS pod_samples ENGINE = MergeTree ORDER BY ({key})")
        session.query(f"""
INSERT INTO {TABLE}
WITH {found}
SELECT
    {_BETWEEN.join(columns)}
FROM file({_quoted(str(capture))}, 'LineAsString')
WHERE startsWith(substring(line, position(line, '"resource"'), 40), '"resource":"stats/summary"')
SETTINGS max_threads = {threads}
""")
        return int(str(session.query(f"SELECT count() FROM {TABLE}", "TSV")))
