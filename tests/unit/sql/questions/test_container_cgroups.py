"""Values of cgroups as the kernel shows them, by hand (rules: cgroup-values)."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from components.rows import T0, row, store
from sql.database.open import Database, Result
from sql.questions.cells import as_columns
from sql.questions.queries import run, saved_query
from streams.fold.findings import CgroupValuesRow, PodBinding


def values(container: str, minute: int = 1, **given: Any) -> CgroupValuesRow:
    named = {"node": "n", "uid": "u", "cgroup": f"/kubepods/podu/{container}", **given}
    return row(CgroupValuesRow, ts=T0 + timedelta(minutes=minute), container=container, **named)


def asked(db: Database, *rows: CgroupValuesRow) -> Sequence[tuple[Any, ...]]:
    store(db, row(PodBinding, node="n", namespace="ns", pod="web", uid="u", change="bound", phase="Running"), *rows)
    table = run(db, saved_query("container_cgroups"), {"node": "n"})
    found = [dict(zip(table.column_names, each, strict=True)) for each in table.rows]
    names = "pod", "container", "cpu", "cpu_quota_microseconds", "memory_limit_bytes"
    return [tuple(each[name] for name in names) for each in found]


def test_a_pod_its_sandbox_and_its_container_have_a_row_each(database: Database) -> None:
    pod = values("", cpu_weight=4, cpu_quota_microseconds=10000, memory_limit_bytes=64)
    sandbox = values("a", cpu_weight=1, cpu_quota_microseconds=-1, memory_limit_bytes=-1)
    container = values("b", cpu_weight=17, cpu_quota_microseconds=10000, memory_limit_bytes=64)
    assert asked(database, pod, sandbox, container) == [
        ("web", "", "cpu.weight 4", 10000, 64),
        ("web", "a", "cpu.weight 1", -1, -1),
        ("web", "b", "cpu.weight 17", 10000, 64),
    ]


def test_no_limit_differs_from_an_unknown_limit() -> None:
    names, types = ("cpu_quota_microseconds", "memory_limit_bytes"), ("Nullable(Int64)",) * 2
    shown = as_columns(Result(names, types, [(-1, -1), (None, None), (10000, 64)]))
    assert [each.cells for each in shown] == [["no limit", "-", "10 ms"], ["no limit", "-", "64 B"]]


def test_the_last_time_counts(database: Database) -> None:
    assert asked(database, values("", minute=0, cpu_shares=2), values("a", minute=0), values("", cpu_shares=102)) == [
        ("web", "", "cpu.shares 102", None, None)
    ]


def test_a_pod_that_nothing_names_has_its_uid_and_what_is_not_known_is_empty(database: Database) -> None:
    assert asked(database, values("", uid="7791fa6e")) == [("7791fa6e", "", "", None, None)]


def test_without_an_agent_there_is_no_row(database: Database) -> None:
    assert asked(database) == []
