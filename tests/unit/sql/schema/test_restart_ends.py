"""Pods that a restart of their kubelet ends, and memory away from a pod's CPUs: by hand, and without the evidence."""

from typing import Any

import pytest

from components.rows import dicts, row, store
from sql.database.open import Database
from streams.fold.findings import KubeletSetting, NodeRow, NumaPod, NumaPodMemoryRow, NumaSkew, Row


def held(pod: str, cpus: int, *numa_nodes: int) -> NumaPod:
    return row(
        NumaPod, node="n", namespace="ns", pod=pod, uid=f"u-{pod}", container="c", cpus=cpus, numa_nodes=[*numa_nodes]
    )


def node(free: int | None, **values: Any) -> list[Row]:
    known = {"cpu_manager_policy": "static", "free_cpus": free, "source": "podresources", "fidelity": "exact"}
    return [row(NodeRow, node="n"), row(NumaSkew, node="n", scope="node", **(known | values))]


def settings(**options: str) -> KubeletSetting:
    return row(KubeletSetting, node="n", cpu_manager_policy="static", cpu_manager_policy_options=options)


WHOLE = settings(**{"full-pcpus-only": "true"})


def ending(database: Database) -> dict[str, str]:
    return {each["pod"]: each["verdict"] for each in dicts(database, "SELECT pod, verdict FROM restart_ends")}


def test_a_pod_that_holds_more_cpus_than_are_free_is_ended(database: Database) -> None:
    store(database, *node(4), WHOLE, held("big", 6), held("small", 4))
    assert ending(database) == {"big": "ends"}


def test_without_the_option_a_restart_ends_none(database: Database) -> None:
    store(database, *node(0), settings(), held("big", 6))
    assert ending(database) == {}


def test_without_the_settings_the_answer_is_unknown(database: Database) -> None:
    store(database, *node(0), held("big", 6))
    assert ending(database) == {"big": "unknown"}


@pytest.mark.parametrize("values", [{"free_cpus": None}, {"cpu_manager_policy": "none"}])
def test_without_free_cpus_or_pinning_nothing_is_claimed(values: dict[str, Any], database: Database) -> None:
    store(database, *node(0, **values), held("big", 6))
    assert ending(database) == {}


def test_a_pod_that_let_go_is_not_ended(database: Database) -> None:
    store(database, *node(0), WHOLE, held("big", 0))
    assert ending(database) == {}


def remote(database: Database) -> list[Any]:
    return [
        tuple(each.values())
        for each in dicts(database, "SELECT near_bytes, far_bytes, far_ratio FROM numa_remote_memory")
    ]


def memory(**values: Any) -> NumaPodMemoryRow:
    return row(NumaPodMemoryRow, node="n", uid="u-p", numa_nodes=[0, 1], numa_bytes=[300, 100], **values)


def test_memory_on_other_numa_nodes_than_the_cpus_is_far(database: Database) -> None:
    store(database, held("p", 2, 0), memory())
    assert remote(database) == [(300, 100, 0.25)]


def test_where_cpus_lie_nowhere_known_no_memory_is_far(database: Database) -> None:
    store(database, held("p", 2), memory())
    assert remote(database) == [(None, None, None)]


def test_a_pod_without_cpus_of_its_own_has_no_far_memory(database: Database) -> None:
    store(database, memory())
    assert remote(database) == []
