"""Whatever kind of evidence is taken away, no question, card or line claims what it alone could have shown."""

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from rich.console import Console

from components.database import EmptyDatabase
from components.reading import page
from fakes.checkpoints import write_cpu_manager_state, write_memory_manager_state
from ingest.files.sources import read_sources
from ingest.model.machine import MachineMemory
from ingest.normalize.decode import decode
from leadsman.cli.present.story import EVERY_LINE, print_story
from leadsman.run.replay import replay
from leadsman.run.settings import Settings
from leadsman.web.reading.scope import RequestedRange
from sql.database.open import Database
from sql.questions.missing import why_empty
from sql.questions.queries import run, saved_query, with_forms
from streams.rules.numa.cpu_checkpoint import CpuManagerState
from streams.rules.numa.memory_checkpoint import MemoryManagerState, MemoryNode, MemoryTable
from unit.leadsman.web.attention.test_taken_away import GIB, NODE, RUNNING, T0, at, troubled

pytestmark = pytest.mark.engine

NOW: Final = 6
"""Minutes after T0 at which everything is read."""
CPUS: Final = [{"cpu": cpu, "core": cpu, "socket": 0, "numa": cpu // 4} for cpu in range(8)]
NIC: Final = {"resource_name": "example.com/nic", "numa_nodes": [1]}
HELD: Final = {"name": "app", "cpu_ids": [1, 2], "devices": [{**NIC, "device_ids": ["a"]}]}
DEVICES: Final = {
    "pods": [{"name": "pinned", "namespace": "shop", "containers": [HELD]}],
    "allocatable": {"devices": [{**NIC, "device_ids": ["a", "b"]}]},
}
STALE: Final = """\
kubelet_cpu_manager_allocation_per_numa{numa_node="0"} 2
kubelet_cpu_manager_allocation_per_numa{numa_node="1"} 3
kubelet_cpu_manager_exclusive_cpu_allocation_count 2
"""
"""The gauge of NUMA node 1 kept its value after the last release (rules: kubelet-metrics)."""
TABLE: Final = MemoryTable(8 * GIB, GIB, 7 * GIB, 2 * GIB, 5 * GIB)
LEASE: Final = {
    "metadata": {"name": NODE, "namespace": "kube-node-lease"},
    "spec": {"renewTime": "2026-07-01T12:03:30.000000Z", "leaseDurationSeconds": 40},
}
USE: Final = {"numa_node": 1, "memory_total_bytes": 8 * GIB, "memory_free_bytes": 3 * GIB, "cpu_busy_ratio": 0.5}
MEMORY: Final = dict.fromkeys(MachineMemory.__struct_fields__, GIB)
LOG: Final = {
    "mount_point": "/var/log",
    "device": "254:32",
    "kind": "ext4",
    "capacity_bytes": 100 * GIB,
    "available_bytes": GIB,
    "used_bytes": 99 * GIB,
}
CGROUP: Final = {"uid": "uid-pinned", "container": "", "path": "/kubepods/poduid-pinned", "cpu_weight": 4}


def _pinned() -> dict[str, Any]:
    amounts = {"cpu": "2", "memory": "1Gi"}
    container = {"name": "app", "resources": {"requests": amounts, "limits": amounts}}
    return {
        "metadata": {"name": "pinned", "namespace": "shop", "uid": "uid-pinned", "creationTimestamp": at(-60)},
        "spec": {"containers": [container], "nodeName": NODE},
        "status": RUNNING | {"qosClass": "Guaranteed"},
    }


def _checkpoints() -> dict[str, Any]:
    cpus = CpuManagerState("static", "0,3-7", {"uid-pinned": {"app": "1-2"}}, {}, 2)
    machine = {numa: MemoryNode(1, {"memory": TABLE}, (numa,)) for numa in range(2)}
    memory = MemoryManagerState("Static", machine, {}, {}, 1)
    return {
        "cpu_manager_state": json.loads(write_cpu_manager_state(cpus)),
        "memory_manager_state": json.loads(write_memory_manager_state(memory)),
    }


def _world() -> dict[str, list[tuple[str, str, dict[str, Any]]]]:
    """Everything of one node, by kind of evidence: source, resource and object."""
    things = troubled()
    node = things["nodes"][0]
    down = {"type": "Ready", "status": "False", "lastTransitionTime": at(5), "message": "PLEG is not healthy"}
    node["status"]["conditions"] = [down, *node["status"]["conditions"][1:]]
    node["status"]["allocatable"] = node["status"]["capacity"] = node["status"]["capacity"] | {"cpu": "8"}
    return {
        "nodes": [("list", "nodes", node)],
        "pods": [("list", "pods", each) for each in (*things["pods"], _pinned())],
        "events": [("list", "events", each) for each in things["events"]],
        "configz": [("kubelet", "configz", each) for each in things["configz"]],
        "summaries": [("kubelet", "stats/summary", each) for each in things["summaries"]],
        "topology": [("agent", "cpu_topology", {"cpus": CPUS})],
        "checkpoints": [("agent", name, each) for name, each in _checkpoints().items()],
        "podresources": [("agent", "podresources", DEVICES)],
        "metrics": [("kubelet", "metrics", {"text": STALE})],
        "use": [("agent", "numa_usage", {"numa_usage": [USE]})],
        "machine": [("agent", "machine_usage", {"machine_memory": MEMORY, "file_systems": [LOG]})],
        "cgroups": [("agent", "cgroup_values", {"cgroup_values": [CGROUP]})],
        "leases": [("list", "node_leases", LEASE)],
    }


class Kind(NamedTuple):
    """A kind of evidence, and what it alone can have shown."""

    name: str
    shown: Mapping[str, str]
    """Words by the saved question whose answer has them; `look` and `page` are two more."""


LAST: Final = "Its Lease had last been renewed"
KINDS: Final = (
    Kind("nodes", {"look": "PLEG is not healthy", "page": "PLEG is not healthy", "not_ready": "PLEG is not healthy"}),
    Kind("pods", {"pending_pods": "web-2", "pending_fit": "web-2"}),
    Kind("events", {"look": "FailedMount", "image_gc": "persistent", "page": "FailedMount"}),
    Kind("configz", {"settings": "static"}),
    Kind("summaries", {"next_eviction": NODE, "look": "below the hard threshold"}),
    Kind("topology", {"numa_pods": "[0]"}),
    Kind("checkpoints", {"numa_largest_room": "memory", "numa_map": "cpu_manager_state"}),
    Kind("podresources", {"numa_largest_room": "example.com/nic"}),
    Kind("metrics", {"numa_disagreements": "keeps its value after the last release", "look": "keeps its value"}),
    Kind("use", {"numa_usage": "0.5"}),
    Kind("machine", {"memory_available": "MemAvailable counts", "file_systems": "/var/log"}),
    Kind("cgroups", {"container_cgroups": "cpu.weight 4"}),
    Kind("leases", {"look": LAST, "page": LAST, "not_ready": "150"}),
)


def _lines(cluster: str, without: str) -> Iterator[str]:
    for kind, things in _world().items():
        for source, resource, thing in things if kind != without else ():
            change = {"type": "ADDED" if source == "list" and resource != "node_leases" else "SNAPSHOT"}
            of_node = {} if source == "list" else {"node": NODE}
            of = {"ts": at(NOW), "cluster": cluster, "source": source, "resource": resource}
            yield json.dumps(of | change | of_node | {"object": thing})


class Read(NamedTuple):
    database: Database
    rows: Mapping[str, Mapping[str, str]]
    """Return the rows of each cluster, by question."""
    shown: Callable[[str, str], str]
    """Return what `look` or `page` shows of a cluster."""

    def reported(self, cluster: str, where: str) -> str:
        return self.shown(cluster, where) if where in {"look", "page"} else self.rows[where].get(cluster, "")


def _shown(database: Database, cluster: str, where: str) -> str:
    if where == "page":
        return page(database, T0.replace(minute=NOW), **RequestedRange(cluster=cluster, last="all").address()).text
    out = StringIO()
    print_story(database, [cluster], Console(file=out, width=2000), None, EVERY_LINE)
    return out.getvalue()


@pytest.fixture(scope="module")
def read(empty_database: EmptyDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Read]:
    """A cluster without each kind, and one that has them all, of one capture."""
    capture: Path = tmp_path_factory.mktemp("taken") / "capture.jsonl"
    capture.write_text("\n".join(line for name in ("all", *_world()) for line in _lines(name, name)))
    with empty_database() as database:
        replay(database, map(decode, read_sources([capture])), Settings())
        rows = {query.name: _answer(database, query.name) for query in with_forms()}
        yield Read(database, rows, cache(partial(_shown, database)))


def _answer(database: Database, query: str) -> dict[str, str]:
    answer = run(database, saved_query(query), {})
    reported: dict[str, str] = {}
    for row in answer.rows:
        of = dict(zip(answer.column_names, row, strict=True))
        cluster = of.pop("cluster", "")
        reported[cluster] = reported.get(cluster, "") + f"{[*of.values()]}"
    return reported


def test_every_kind_is_taken_away() -> None:
    assert {kind.name for kind in KINDS} == _world().keys()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_only_one_kind_shows_is_said_with_it_alone(read: Read, kind: Kind) -> None:
    for where, words in kind.shown.items():
        assert words in read.reported("all", where), where
        assert words not in read.reported(kind.name, where), where


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_an_answer_that_is_empty_without_a_kind_names_what_was_not_seen(read: Read, kind: Kind) -> None:
    """The same question has rows where that kind was seen, so that it is never `nothing`."""
    nothing = {}
    for query in with_forms():
        if query.needs and read.rows[query.name].get("all") and not read.rows[query.name].get(kind.name):
            reported = why_empty(read.database, query, {"cluster": kind.name})
            if not reported.startswith(f"Cluster {kind.name}: no ") or " were seen" not in reported:
                nothing[query.name] = reported
    assert nothing == {}
