"""Leadsman agrees with the decisions of six real kubelets 1.36.3.

`examples/numa-kubelets-k8s-1.36.jsonl.zst` is the capture: machines of 24 to 128 CPUs, each policy and option of
the Topology, CPU and memory managers. Five times each kubelet was asked, pod by pod, what it would admit: these are
the sweeps of `numa-kubelets-k8s-1.36.expected.json`, whose `fields` explain each column. Nothing in it is ours.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from components.rows import dicts
from fakes.admission import kubelet_judgement
from ingest.files.ahead import read_ahead
from ingest.model.cpuset import format_cpuset
from ingest.normalize.decode import Decoded
from sql.database.open import Database, connect
from sql.landing.batches import DatabaseCheckpoints, Lander
from sql.questions.fit import ClusterFacts, read_known
from sql.schema.migrate import migrate
from streams.analytics.registry import analytics
from streams.local.replay import Replay
from streams.questions.fit import Candidate, NodeAnswer, answer
from streams.questions.fit_request import fit_request, pod_of
from streams.rules.numa.topology_manager import admit

EXAMPLE: Final = Path(__file__).parents[3] / "examples" / "numa-kubelets-k8s-1.36.jsonl.zst"
SWEEPS: Final = ("0", "A", "B", "C", "D")
MOST_PODS: Final = 40
"""So many pods of a kind were tried one after the other."""


@cache
def expected() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXAMPLE.with_name("numa-kubelets-k8s-1.36.expected.json").read_text())
    return found


class Asked(NamedTuple):
    """A question to a kubelet and its answer."""

    node: str
    kind: str
    cpus: int
    containers: int
    memory_mib: int
    taken: int
    reason: str
    message: str
    cpusets: str
    numa_nodes: list[int]

    @property
    def refusal(self) -> str:
        """Return the reason and message of the first pod's refusal; empty if it was admitted."""
        return f"{self.reason}: {self.message}" if not self.taken else ""


class Capture(NamedTuple):
    """Contents of the database at each sweep, and its rows at the end."""

    known: dict[str, ClusterFacts]
    tables: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Capture:
    """The capture, replayed in pieces up to each sweep."""
    items = list(read_ahead([EXAMPLE]))
    known, start = {}, 0
    with connect(f"chdb://{tmp_path_factory.mktemp('numa') / 'db'}") as database:
        migrate(database)
        for sweep in expected()["sweeps"]:
            at = parse_time(sweep["ts"])
            end = next(i for i, item in enumerate(items) if item.ts is not None and item.ts > at)
            replay(database, items[start:end])
            known[sweep["sweep"]], start = read_known(database), end
        replay(database, items[start:])
        tables = {
            table: dicts(database, f"SELECT * FROM {table} FINAL ORDER BY ts")
            for table in (
                "numa_allocations",
                "numa_skew",
                "numa_pods",
                "numa_admission_failures",
                "late_joiners",
                "dead_letters",
            )
        }
    return Capture(known, tables)


def replay(database: Database, items: Sequence[Decoded]) -> None:
    """The two nodes that joined late did so within two minutes of the others."""
    with Lander(database) as lander:
        Replay(analytics(timedelta(minutes=1)), lander, DatabaseCheckpoints(database)).run(items)


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def answers(capture: Capture, sweep: str) -> Iterator[tuple[Asked, Candidate, NodeAnswer]]:
    """Each question with the node as it was known and what is said of it."""
    known = capture.known[sweep]
    by_node = {each.state.node: each for each in known.candidates}
    for row in next(each["answers"] for each in expected()["sweeps"] if each["sweep"] == sweep):
        asked = Asked(*row)
        count = MOST_PODS if asked.kind == "many" else 1
        pod = fit_request(
            str(asked.cpus), f"{asked.memory_mib}Mi", (), exclusive=True, containers=asked.containers, count=count
        )
        candidate = by_node[asked.node]
        yield asked, candidate, answer(pod, [candidate], known.strategies, known.scheduler_minor).nodes[0]


def pod(asked: Asked) -> Any:
    return pod_of(
        fit_request(str(asked.cpus), f"{asked.memory_mib}Mi", (), exclusive=True, containers=asked.containers)
    )


def picks_by_cache(candidate: Candidate) -> bool:
    """The kubelet minds last-level caches, which the capture does not have."""
    return candidate.state.settings[0].prefer_uncore_cache


def test_every_question_is_there() -> None:
    assert sum(len(sweep["answers"]) for sweep in expected()["sweeps"]) == 1324
    assert tuple(sweep["sweep"] for sweep in expected()["sweeps"]) == SWEEPS


@pytest.mark.parametrize("sweep", SWEEPS)
def test_as_many_pods_are_taken_as_the_kubelet_took(capture: Capture, sweep: str) -> None:
    wrong = [(asked, said) for asked, _, said in answers(capture, sweep) if said.pods != asked.taken]
    assert wrong == []


@pytest.mark.parametrize("sweep", SWEEPS)
def test_refusals_are_in_the_kubelets_words(capture: Capture, sweep: str) -> None:
    """These pods were bound by name, so that the kubelet saw what a scheduler would have kept from it."""
    wrong = []
    for asked, candidate, _ in answers(capture, sweep):
        said = "".join(kubelet_judgement(candidate.state, pod(asked)).reasons)
        if said != asked.refusal:
            wrong.append((asked, said))
    assert wrong == []


@pytest.mark.parametrize("sweep", SWEEPS)
def test_pods_lie_on_the_numa_nodes_that_the_kubelet_chose(capture: Capture, sweep: str) -> None:
    wrong, unknown = [], set()
    for asked, candidate, said in answers(capture, sweep):
        if not asked.taken:
            continue
        if said.numa_nodes:
            wrong += [(asked, said)] if said.numa_nodes != sorted(asked.numa_nodes) else []
        else:
            assert picks_by_cache(candidate)
            assert any("caches" in note for note in said.notes)
            unknown.add(asked.node)
    assert wrong == []
    # With topology policy none nothing but the caches decides between the two NUMA nodes of numa-2.
    assert unknown == ({"numa-2"} if sweep == "C" else set())


@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_very_cpus_are_those_that_the_kubelet_picked(capture: Capture, sweep: str) -> None:
    wrong = []
    for asked, candidate, _ in answers(capture, sweep):
        machine, settings, picked = candidate.state.machine, candidate.state.settings[0], []
        assert machine is not None
        if picks_by_cache(candidate):
            continue
        for _ in range(asked.taken):
            admission = admit(machine, settings, pod(asked).containers)
            machine = admission.machine
            picked += [format_cpuset(cpus) for cpus in admission.cpus]
        if ";".join(picked) != asked.cpusets:
            wrong.append((asked, picked))
    assert wrong == []


def test_every_refusal_of_the_recording_is_a_row(capture: Capture) -> None:
    rows = defaultdict(list)
    for row in capture.tables["numa_admission_failures"]:
        rows[row["uid"]].append(row)
    named = ("node", "pod", "reason", "message", "requested_cpus")
    found = {uid: [tuple(row[name] for name in named) for row in of_pod] for uid, of_pod in rows.items()}
    assert found == {uid: [tuple(values[:5])] for uid, *values in expected()["refused"]}


def test_what_a_node_had_free_before_a_refusal_is_reported(capture: Capture) -> None:
    rows = {
        row["uid"]: (row["free_cpus"], row["largest_fit_cpus"]) for row in capture.tables["numa_admission_failures"]
    }
    calm = {uid: (free, fit) for uid, _, _, _, _, _, free, fit, is_calm, _ in expected()["refused"] if is_calm}
    assert len(calm) == 55
    assert {uid: rows[uid] for uid in calm} == calm


def test_numbers_of_numa_nodes_are_those_of_the_kubelet(capture: Capture) -> None:
    columns = ("numa_node", "cpus", "reserved_cpus", "exclusive_cpus", "free_cpus", "cores", "free_cores")
    totals = ("skew_ratio", "mean_absolute_deviation", "free_cpus", "largest_fit_cpus", "stranded_cpus")
    for ts, node, numa_nodes, skew in expected()["states"]:
        seen = {row["numa_node"]: row for row in before(capture.tables["numa_allocations"], node, parse_time(ts))}
        assert [[row[name] for name in columns] for _, row in sorted(seen.items())] == numa_nodes, (ts, node)
        total = before(capture.tables["numa_skew"], node, parse_time(ts))[-1]
        assert [total[name] for name in totals] == pytest.approx(skew), (ts, node)


def before(rows: Sequence[dict[str, Any]], node: str, until: datetime) -> list[dict[str, Any]]:
    return [row for row in rows if row["node"] == node and row["ts"] <= until]


def test_pods_hold_the_cpus_that_the_kubelet_gave_them(capture: Capture) -> None:
    held = {
        (row["uid"], row["container"], row["cpuset"], tuple(row["numa_nodes"])) for row in capture.tables["numa_pods"]
    }
    given = {(uid, container, cpuset, tuple(numa)) for uid, container, cpuset, numa in expected()["pods"]}
    assert given - held == set()


def test_at_the_end_each_node_is_as_full_as_its_kubelet_says(capture: Capture) -> None:
    last = {row["node"]: row for row in capture.tables["numa_skew"] if row["scope"] == "node"}
    ratios = {node: row["exclusive_cpus"] / row["allocatable_cpus"] for node, row in last.items()}
    assert ratios == pytest.approx(expected()["end"]["ratio"])


def test_the_nodes_that_joined_late_are_the_youngest_group(capture: Capture) -> None:
    last = capture.tables["late_joiners"][-1]
    assert last["youngest_nodes"] == expected()["late"]
    assert last["oldest_nodes"] == ["numa-4", "numa-1", "numa-2", "numa-3"]


def test_nothing_of_the_recording_is_a_dead_letter(capture: Capture) -> None:
    assert capture.tables["dead_letters"] == []
