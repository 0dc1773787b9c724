"""When pending pods are calculated from the tables, and of which rows."""

import random
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from components.database import asked_of
from components.rows import T0, dicts, store
from fakes.pending import node, room, seen
from sql.database.open import Database, connect
from sql.questions.pending import calculate, recalculate
from sql.schema.migrate import migrate
from sql.schema.statements import named
from sql.schema.upkeep import Upkeep
from streams.fold.findings import PodBinding, Row
from waiting import eventually

LATER = T0 + timedelta(seconds=1)


def pod(name: str, cpu: str = "1", **spec: Any) -> PodBinding:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]
    metadata = {"name": name, "namespace": "ns", "uid": name}
    return seen({"metadata": metadata, "spec": {"containers": containers, **spec}, "status": {"phase": "Pending"}})


def bound(name: str, on: str) -> PodBinding:
    metadata = {"name": name, "namespace": "ns", "uid": name}
    return seen({"metadata": metadata, "spec": {"containers": [], "nodeName": on}, "status": {"phase": "Running"}})


def reported(database: Database) -> Sequence[tuple[Any, ...]]:
    rows = dicts(database, "SELECT * FROM pending_fit ORDER BY cluster, pod, node")
    return [tuple(row[name] for name in ("pod", "node", "fits", "as_of")) for row in rows]


def test_pods_that_wait_no_longer_are_gone_with_the_next_calculation(database: Database) -> None:
    store(database, pod("a"), pod("b", "2"), node("n0"), *room("n0"))
    assert reported(database) == []
    calculate(database)
    assert reported(database) == [("a", "n0", 1, T0), ("b", "n0", 1, T0)]
    store(database, pod("b", "2")._replace(ts=LATER, change="bound", node="n0"))
    calculate(database)
    assert reported(database) == [("a", "n0", 1, T0)]
    store(database, pod("a")._replace(ts=LATER, change="deleted"))
    calculate(database)
    assert reported(database) == []
    assert dicts(database, "SELECT count() AS rows FROM pending_kinds FINAL")[0]["rows"] == 2
    calculate(database)
    database.command("OPTIMIZE TABLE pending_kinds FINAL")
    assert reported(database) == []


def test_of_a_pod_that_was_bound_in_the_moment_in_which_it_was_seen_the_binding_counts(database: Database) -> None:
    store(database, pod("a"), pod("a")._replace(change="bound", node="n0"), node("n0"))
    calculate(database)
    assert reported(database) == []


def test_a_cluster_without_nodes_has_no_rows(database: Database) -> None:
    store(database, pod("a"))
    calculate(database)
    assert reported(database) == []


def test_tables_that_are_empty_are_not_asked(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each question takes longer to plan than to answer, at the end of each replay and look."""
    asked = asked_of(monkeypatch)
    calculate(database)
    assert len(asked) == 1  # which tables are empty
    store(database, pod("a"), node("n0"))
    asked.clear()
    calculate(database)
    found = set().union(*map(named, asked))
    assert {"pod_bindings", "nodes"} <= found
    assert not {"numa_allocations", "numa_whatif", "numa_skew", "numa_resources", "kubelet_settings"} & found


def test_rows_are_the_same_in_whatever_order_and_portions_the_others_were_landed(database: Database) -> None:
    spread = {
        "topologyKey": "zone",
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    there = [bound(f"o{number}", f"n{number}") for number in range(2)]
    rows: list[Row] = [
        *(pod(f"p{n}", str(n + 1), topologySpreadConstraints=[spread] * (n % 2)) for n in range(4)),
        *(node(f"n{n}", zone="ab"[n % 2]) for n in range(3)),
        *(one._replace(ts=LATER, deleted=True) for one in [node("gone")]),
        *(node("gone"), *room("n0", "n1", "n2"), *there),
    ]
    chance = random.Random(7)  # noqa: S311  not for secrets
    for cluster in ("in-one", "in-pieces"):
        portions = [rows] if cluster == "in-one" else [[one] for one in chance.sample(rows, len(rows))]
        for portion in portions:
            store(database, *(one._replace(cluster=cluster) for one in portion))  # type: ignore[attr-defined] # each is a NamedTuple
            calculate(database)
    found = dicts(database, "SELECT * FROM pending_fit ORDER BY pod, node")
    one, other = (
        [{**row, "cluster": ""} for row in found if row["cluster"] == each] for each in ("in-one", "in-pieces")
    )
    assert one == other
    assert len(one) == 12


def test_what_another_process_has_just_calculated_is_left(database: Database) -> None:
    store(database, pod("a"), node("n0"))
    times = []
    for act in (recalculate, recalculate, calculate):
        act(database)
        times.append(dicts(database, "SELECT max(calculated_at) AS at FROM pending_kinds")[0]["at"])
    assert times[0] == times[1] < times[2]


def test_what_waits_is_calculated_beside_the_one_that_lands(tmp_path: Path) -> None:
    dsn = f"chdb://{tmp_path}/db"
    with connect(dsn) as database:
        migrate(database)
        store(database, pod("a"), node("n0"), *room("n0"))
        with Upkeep(partial(connect, dsn), recalculate) as kept:
            eventually("it was calculated", lambda: reported(database) == [("a", "n0", 1, T0)])
        assert kept._trouble == ""
