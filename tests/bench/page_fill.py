"""Fills a database with a day of a large cluster by SQL alone: what the page is measured on."""

from pathlib import Path
from typing import Final

from sql.database.open import Database

FINDINGS: Final = Path(__file__).with_name("page_findings.sql")
"""Inserts of everything but samples; what stands in braces is put in."""
CLUSTER: Final = "large"
BEGIN: Final = "2026-11-20 00:00:00"
DAY_SECONDS: Final = 86_400
SLICES: Final = 96
"""Inserts of each sample table: one a quarter of an hour, which fits the embedded engine's memory."""
_SIGNALS: Final = """[
    ('memory.available', 68719476736, 104857600, 3221225472),
    ('allocatableMemory.available', 64424509440, 104857600, 0),
    ('nodefs.available', 214748364800, 21474836480, 0), ('nodefs.inodesFree', 13107200, 655360, 0),
    ('imagefs.available', 214748364800, 32212254720, 0), ('imagefs.inodesFree', 13107200, 655360, 0),
    ('containerfs.available', 214748364800, 21474836480, 0), ('containerfs.inodesFree', 13107200, 655360, 0),
    ('pid.available', 4194304, 200000, 0)]"""
_NODE: Final = (
    "concat('ip-10-', toString(intDiv(i, 4000)), '-', toString(intDiv(i, 16) % 250), '-',"
    " toString(11 + 15 * (i % 16)), '.eu-central-1.compute.internal')"
)
"""Name of a node as a cloud gives it."""
_GRID: Final = """
    SELECT intDiv(number, {steps}) AS i, {step0} + number % {steps} AS k,
        toDateTime64('{begin}', 6, 'UTC') + toIntervalSecond(k * {every}) AS at,
        1 - k * {every} / 86400. AS left_of_day,
        0.22 + 0.55 * pow(abs(sin(i * 1.7)), 0.6) + 0.03 * sin(k * {every} / 3600. + i)
            - if(i % 97 = 0, 0.5 * (1 - left_of_day), 0) AS ratio
    FROM numbers({rows})"""


def node_name(i: int) -> str:
    """Name of the node of this number, from 0."""
    return f"ip-10-{i // 4000}-{i // 16 % 250}-{11 + 15 * (i % 16)}.eu-central-1.compute.internal"


def fill(
    db: Database,
    nodes: int = 1000,
    pods: int = 30,
    every: int = 10,
    pods_every: int = 60,
    events: int = 500,
    first_slice: int = 0,
) -> None:
    """A sample of each node every so many seconds, of its pods every `pods_every`; and findings of all kinds.

    Every 97th node nears its memory threshold through the day; every 50th was under pressure and evicted. `events`
    are those of a node; samples begin with the slice of that number.
    """
    for piece in range(first_slice, SLICES):
        _signals(db, nodes, every, piece)
        _node_samples(db, nodes, every, piece)
        _node_fit(db, nodes, pods, every, piece)
        _pod_samples(db, nodes, pods, pods_every, piece)
    given = {"begin": BEGIN, "cluster": CLUSTER, "node": _NODE, "nodes": nodes, "pods": pods, "events": events}
    for sql in FINDINGS.read_text("utf-8").split("\n;\n"):
        db.command(sql.format(**given))


def _grid(nodes: int, every: int, piece: int) -> str:
    steps = DAY_SECONDS // SLICES // every
    return _GRID.format(steps=steps, step0=piece * steps, every=every, begin=BEGIN, rows=nodes * steps)


def _signals(db: Database, nodes: int, every: int, piece: int) -> None:
    db.command(f"""
    INSERT INTO eviction_signals (cluster, ts, node, signal, available, capacity, hard_threshold, soft_threshold,
        soft_grace_seconds, hard_met, soft_met, slope_per_second, seconds_to_soft, seconds_to_hard, gc_first,
        thresholds_assumed)
    SELECT '{CLUSTER}', at, {_NODE}, s.1, toInt64(s.2 * greatest(0.002, ratio)) AS available, s.2, s.3,
        nullIf(s.4, 0),
        if(s.4 > 0, 90, NULL), available < s.3, available < s.4, if(i % 97 = 0, -s.2 * 0.5 / 86400, NULL),
        if(i % 97 = 0 AND s.4 > 0, (available - s.4) / (s.2 * 0.5 / 86400), NULL),
        if(i % 97 = 0, (available - s.3) / (s.2 * 0.5 / 86400), NULL), s.1 LIKE 'imagefs%', i % 10 = 0
    FROM ({_grid(nodes, every, piece)}) ARRAY JOIN {_SIGNALS} AS s""")


def _node_samples(db: Database, nodes: int, every: int, piece: int) -> None:
    db.command(f"""
    INSERT INTO node_samples (cluster, ts, node, cpu_usage_nanocores, memory_available_bytes,
        memory_working_set_bytes, nodefs_available_bytes, nodefs_capacity_bytes, nodefs_used_bytes,
        nodefs_inodes_free, nodefs_inodes,
        imagefs_available_bytes, imagefs_capacity_bytes, imagefs_inodes_free, imagefs_inodes, pids_max, pids_current)
    SELECT '{CLUSTER}', at, {_NODE}, toInt64(8e9 * ratio), toInt64(68719476736 * ratio),
        toInt64(68719476736 * (1 - ratio)), toInt64(214748364800 * ratio), 214748364800,
        toInt64(214748364800 * (1 - ratio)), toInt64(13107200 * ratio), 13107200, toInt64(214748364800 * ratio),
        214748364800, toInt64(13107200 * ratio), 13107200, 4194304, toInt64(2000 + 100 * ratio)
    FROM ({_grid(nodes, every, piece)})""")


def _node_fit(db: Database, nodes: int, pods: int, every: int, piece: int) -> None:
    db.command(f"""
    INSERT INTO node_fit (cluster, ts, node, resource, capacity, allocatable, requested, used, free, pods)
    SELECT '{CLUSTER}', at, {_NODE}, r.1, r.2, r.2,
        toInt64(r.2 * if(i % 131 = 1, 1.04, 0.55 + 0.4 * abs(sin(i)))) AS requested,
        toInt64(r.2 * (1 - ratio)), r.2 - requested, {pods}
    FROM ({_grid(nodes, every, piece)})
    ARRAY JOIN [('cpu', 32000), ('memory', 68719476736), ('ephemeral-storage', 214748364800), ('pods', 110)] AS r""")


def _pod_samples(db: Database, nodes: int, pods: int, every: int, piece: int) -> None:
    db.command(f"""
    INSERT INTO pod_samples (cluster, ts, node, namespace, pod, uid, cpu_usage_nanocores, memory_working_set_bytes,
        rootfs_used_bytes, logs_used_bytes, volumes_used_bytes, ephemeral_used_bytes, inodes_used, processes)
    SELECT '{CLUSTER}', at, {_NODE}, concat('team-', toString(p % 5)), concat('app-', toString(i), '-', toString(p)),
        concat('uid-', toString(i), '-', toString(p)), 2e8 * ratio, 5e8 + p * 3e7, 1e8 + p * 1e6,
        1e6, 0, 1e8, 2000, 20
    FROM ({_grid(nodes, every, piece)}) ARRAY JOIN range({pods}) AS p""")
