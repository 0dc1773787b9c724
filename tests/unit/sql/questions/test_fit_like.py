"""A new node gets the pods of DaemonSets and the static pods of the one that it is like, and no others."""

import pytest

from components.rows import row, store
from sql.database.open import Database
from sql.questions.fit import one_more, read_known
from sql.questions.queries import BadParameter
from streams.fold.findings import NodeRow, PodBinding, Row


def pod(name: str, owner: str, cpu: int, change: str = "bound", on: str = "n") -> Row:
    requests = {"cpu": cpu}
    known = {"node": on, "namespace": "ns", "pod": name, "uid": f"u-{name}", "change": change, "requests": requests}
    return row(PodBinding, owner_kind=owner, **known)


def test_only_pods_that_come_to_every_node_count(database: Database) -> None:
    store(
        database,
        *(row(NodeRow, node=name, ready=True, allocatable={"cpu": 4000, "pods": 9}) for name in ("n", "other")),
        pod("agent", "DaemonSet", 300),
        pod("proxy", "Node", 200),
        pod("web", "ReplicaSet", 3000),
        pod("went", "DaemonSet", 1000, "deleted"),
        pod("elsewhere", "DaemonSet", 1000, on="other"),
    )
    known = one_more(database, read_known(database), "n")
    (new,) = known.candidates
    assert (new.state.node, new.state.requested, new.state.pods) == ("new node like n", {"cpu": 500}, 2)
    assert known.strategies == {}


def test_an_unknown_node_has_no_like(database: Database) -> None:
    store(database, row(NodeRow, node="n"))
    with pytest.raises(BadParameter, match="'m' is known"):
        one_more(database, read_known(database), "m")
