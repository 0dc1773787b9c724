"""`leadsman fit` and `pending_fit` on the late-joiner case, as a user types them.

Expected numbers are reasoned from `tests/bench/late_joiners.py`: workers have two NUMA nodes of 16 CPUs less the two
reserved ones of NUMA node 0; node-5 and node-6 hold 8 + 10 exclusive CPUs (6 and 6 are free), node-1, node-2 and
node-4 12 + 12 (2 and 4), node-3 12 + 16 (2 and 0). Allocatable are 30 CPUs.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from components.command import leadsman, succeeds
from paths import LATE_JOINERS


@pytest.fixture(scope="module")
def late_joiners(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("late") / "db"
    succeeds("replay", LATE_JOINERS, "--quiet", db=folder)
    return folder


def fit(database: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = leadsman("fit", "--exclusive", *arguments, "-o", "json", db=database)
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, answer


@pytest.fixture(scope="module")
def eight(late_joiners: Path) -> tuple[int, dict[str, Any]]:
    """The answer to the question of the issue."""
    return fit(late_joiners, "--cpu", "8", "--memory", "16Gi")


def test_a_pod_of_8_exclusive_cpus_finds_no_numa_node_although_44_are_free(eight: tuple[int, dict[str, Any]]) -> None:
    status, answer = eight
    assert (status, answer["fits"], answer["pods"]) == (1, False, 0)
    assert (answer["free_exclusive_cpus"], answer["largest_free_cpus"]) == (44, 6)
    why = {node["node"]: (node["verdict"], node["reasons"]) for node in answer["nodes"]}
    locality = "TopologyAffinityError: Resources cannot be allocated with Topology locality"
    taint = "node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"
    assert why == {
        **{f"node-{i}": ("refused_by_scheduler", ["Insufficient cpu"]) for i in (1, 2, 3, 4)},
        **{f"node-{i}": ("refused_by_kubelet", [locality]) for i in (5, 6)},
        **{f"master-{i}": ("refused_by_scheduler", [taint]) for i in (1, 2, 3)},
    }
    node = next(node for node in answer["nodes"] if node["node"] == "node-5")
    assert [(numa["free_cpus"], numa["lacks"]) for numa in node["numa"]] == [(6, ["6 of 8 CPUs free"])] * 2
    assert (node["topology_manager_policy"], node["fidelity"], node["notes"]) == ("single-numa-node", "exact", [])


def test_under_most_allocated_it_would_fit(eight: tuple[int, dict[str, Any]]) -> None:
    _, answer = eight
    takes = {each["strategy"]: each["takes"] for each in answer["strategies"]}
    # 136 exclusive CPUs (24 + 24 + 28 + 24 + 18 + 18) on six nodes of 14 + 16: packed, a NUMA node of 16 stays empty.
    assert takes["most_allocated"] is True
    # Spread, each of the twelve NUMA nodes gives about 11 of its 14 or 16.
    assert takes["least_allocated"] is False
    strategies = {node["node"]: node["strategies"] for node in answer["nodes"]}
    # 18 of 30 CPUs packed on one node leave at least 30 - 16 - 2 - 4 > 8 together.
    assert "most_allocated" in strategies["node-5"]
    assert strategies["node-1"] == []


def test_a_smaller_pod_fits_where_the_pieces_are(late_joiners: Path) -> None:
    status, answer = fit(late_joiners, "--cpu", "6", "--memory", "16Gi", "--count", "4")
    assert (status, answer["fits"]) == (0, True)
    placed = {node["node"]: (node["pods"], node["numa_nodes"]) for node in answer["nodes"] if node["pods"]}
    assert placed == {"node-5": (2, [0, 1]), "node-6": (2, [0, 1])}
    status, answer = fit(late_joiners, "--cpu", "6", "--count", "5")
    assert (status, answer["fits"], answer["pods"]) == (1, False, 4)


def test_one_node_can_be_asked(late_joiners: Path) -> None:
    status, answer = fit(late_joiners, "--cpu", "4", "--node", "node-1")
    assert (status, [node["node"] for node in answer["nodes"]]) == (0, ["node-1"])
    assert answer["nodes"][0]["numa_nodes"] == [1]
    assert fit(late_joiners, "--cpu", "2", "--node", "node-3", "--count", "9")[1]["pods"] == 1


def test_people_read_the_answer_in_sentences_and_a_table(late_joiners: Path) -> None:
    done = leadsman("fit", "--cpu", 8, "--exclusive", "--memory", "16Gi", db=late_joiners)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0].endswith("no node takes a pod of 8 exclusive CPUs and 16Gi of memory.")
    assert "44 exclusive CPUs are free, at most 6 of them on one NUMA node." in lines
    assert "On 2 nodes the scheduler sees room for it, but the kubelet would reject it." in lines
    assert any(line.startswith("node-6") and "TopologyAffinityError" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--cpu", "8", "--node", "nonesuch"), "no node 'nonesuch'"),
        (("--cpu", "8", "--cluster", "nonesuch"), "late-joiners"),
        (("--cpu", "1500m", "--exclusive"), "whole"),
    ],
)
def test_a_wrong_question_is_one_sentence_and_status_2(
    arguments: tuple[str, ...], says: str, late_joiners: Path
) -> None:
    done = leadsman("fit", *arguments, db=late_joiners)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())


def test_the_pending_pod_is_judged_in_sql_too(late_joiners: Path) -> None:
    done = leadsman("query", "pending_fit", "--param", "pod=needs-8", "-o", "json", db=late_joiners)
    rows = {row["node"]: row for row in json.loads(done.stdout)}
    assert {node: (row["fits"], row["numa_verdict"]) for node, row in rows.items()} == {
        **{f"node-{i}": (0, "TopologyAffinityError") for i in range(1, 7)},
        # The pod does not tolerate their taint; the CPU Manager's policy there is none.
        **{f"master-{i}": (0, "not_pinned") for i in (1, 2, 3)},
    }
    assert rows["node-1"]["reasons"] == ["Insufficient cpu"]
    assert (rows["node-5"]["reasons"], rows["node-5"]["largest_fit_cpus"]) == ([], 6)


def test_a_database_without_nodes_takes_nothing(tmp_path: Path) -> None:
    succeeds("migrate", db=tmp_path / "db")
    done = leadsman("fit", "--cpu", "1", db=tmp_path / "db")
    assert (done.returncode, done.stderr) == (1, "")
    assert "no node takes" in done.stdout


def test_many_questions_are_answered_as_each_by_itself_in_their_order(late_joiners: Path, tmp_path: Path) -> None:
    asked = [
        {"id": "a", "cpu": "8", "memory": "16Gi", "exclusive": True},
        {"id": 7, "cpu": 6, "exclusive": True, "node": "node-5"},
    ]
    file = tmp_path / "questions.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in asked))
    lines = succeeds("fit", "--questions", file, db=late_joiners).splitlines()
    alone = [
        fit(late_joiners, "--cpu", "8", "--memory", "16Gi")[1],
        fit(late_joiners, "--cpu", "6", "--node", "node-5")[1],
    ]
    assert [json.loads(line) for line in lines] == [
        {"id": each["id"], **answer} for each, answer in zip(asked, alone, strict=True)
    ]


def test_a_line_that_is_no_question_is_answered_with_its_error(late_joiners: Path, tmp_path: Path) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"id": 1}\n\nno JSON\n{"id": 2, "cpu": "1", "node": "nonesuch"}\n{"id": 3, "cpu": "1", "node": "node-1"}\n'
    )
    done = leadsman("fit", "--questions", file, db=late_joiners)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 3
    assert [each["id"] for each in answers] == [1, None, 2, 3]
    assert [each["error"].split(":")[0] for each in answers[:3]] == ["line 1", "line 3", "line 4"]
    assert "no node 'nonesuch'" in answers[2]["error"]
    assert answers[3]["fits"] is True


@pytest.mark.parametrize("arguments", [[], ["--cpu", "1", "--questions", "-"], ["--cpu", "1", "-f", "-"]])
def test_fit_takes_one_pod_or_many(late_joiners: Path, arguments: list[str]) -> None:
    done = leadsman("fit", *arguments, db=late_joiners)
    assert done.returncode == 2
    assert "give one pod with --cpu, --filename or --pod, or many with --questions" in done.stderr


def test_a_deployments_pods_are_judged_by_their_manifest(late_joiners: Path, tmp_path: Path) -> None:
    manifest = tmp_path / "deployment.yaml"
    manifest.write_text(
        """
kind: Deployment
spec:
  replicas: 8
  template:
    metadata: {labels: {app: a}}
    spec:
      containers: [{name: c, resources: {requests: {cpu: 100m}}}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: a}}}
"""
    )
    done = leadsman("fit", "-f", str(manifest), "-o", "json", db=late_joiners)
    answer = json.loads(done.stdout)
    # No node of this capture has the label kubernetes.io/hostname: none is a domain, and all eight go anywhere.
    assert (done.returncode, answer["pods"], answer["request"]["count"]) == (0, 8, 8)
    selecting = manifest.read_text().replace("containers:", "nodeSelector: {disk: ssd}\n      containers:")
    manifest.write_text(selecting)
    done = leadsman("fit", "-f", str(manifest), "-o", "json", db=late_joiners)
    workers = [each for each in json.loads(done.stdout)["nodes"] if each["node"].startswith("node-")]
    left_out = ["node(s) didn't match Pod's node affinity/selector"]
    assert (done.returncode, [each["reasons"] for each in workers]) == (1, [left_out] * 6)


def test_one_more_node_like_another_takes_what_that_one_has_no_room_for(late_joiners: Path) -> None:
    """An empty worker has 14 and 16 exclusive CPUs: one pod of 8 and two."""
    asked = ("--cpu", "8", "--count", "5", "--like", "node-5")
    status, answer = fit(late_joiners, *asked)
    (new,) = answer["nodes"]
    assert (status, answer["pods"], new["node"], new["verdict"]) == (1, 3, "new node like node-5", "fits")
    assert [numa["free_cpus"] for numa in new["numa"]] == [14, 16]
    said = leadsman("fit", "--exclusive", *asked, db=late_joiners)
    assert "2 such nodes would take all of them." in said.stdout
    assert leadsman("fit", "--cpu", "1", "--like", "node-5", "--node", "node-6", db=late_joiners).returncode == 2


def test_a_pending_pod_gets_the_schedulers_scores_where_it_sees_room(late_joiners: Path) -> None:
    """The kubelet refuses it there. It would use 26 of 30 CPUs and 26 of 125 GiB: 13 % and 79 % stay free, 46 in the
    mean. The shares 0.87 and 0.21 deviate by 0.33, those of now, 0.60 and 0.14, by 0.23: 67 after 77 are 70.
    """
    done = leadsman("fit", "--pod", "shop/needs-8", "-o", "json", db=late_joiners)
    answer = json.loads(done.stdout)
    scored = {each["node"]: each["scores"] for each in answer["nodes"] if each["score"] is not None}
    known = {"TaintToleration": 300, "NodeResourcesFit": 46, "NodeResourcesBalancedAllocation": 70}
    nothing = dict.fromkeys(["NodeAffinity", "PodTopologySpread", "InterPodAffinity", "DynamicResources"], 0)
    each = {**known, **nothing, "ImageLocality": None}
    assert (done.returncode, scored) == (1, {"node-5": each, "node-6": each})
    assert {each["score"] for each in answer["nodes"]} == {416, None}
    said = " ".join(leadsman("fit", "--pod", "shop/needs-8", db=late_joiners).stdout.split())
    assert "2 nodes score highest, with 416 of 1,400." in said
    assert "which can put another node first: ImageLocality (at most 100: the images on nodes are not kept)" in said
    assert "Other profiles and extenders score differently" in said


def test_a_node_that_is_asked_about_alone_scores_highest_only_if_no_other_scores_higher(late_joiners: Path) -> None:
    """Without pods the new node has 99 for what stays free, and the others have less."""
    done = leadsman("fit", "--pod", "shop/needs-8", "--node", "node-5", db=late_joiners)
    assert "2 nodes score highest, with 416 of 1,400." in " ".join(done.stdout.split())
    new = leadsman("fit", "--pod", "shop/needs-8", "--like", "node-5", db=late_joiners)
    assert "new node like node-5 scores highest" in " ".join(new.stdout.split())


def object_of(kind: str, name: str, spec: dict[str, Any], status: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    version = "policy/v1" if kind == "PodDisruptionBudget" else "v1"
    named = {"name": name, "namespace": "shop", "uid": name, **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": named, "spec": spec, "status": status}


def a_pod(name: str, hour: int, priority: int = 0, **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]
    status = {"phase": "Running", "startTime": f"2026-07-01T{hour}:00:00Z"} if spec else {"phase": "Pending"}
    more = {"labels": {"app": name}, "creationTimestamp": "2026-07-01T09:00:00Z"}
    return object_of("Pod", name, {"containers": containers, "priority": priority, **spec}, status, **more)


def answered(folder: Path, pod: str, *objects: dict[str, Any]) -> str:
    """Ask for a pod that waits, beside a node of 4 CPUs with pods that started at 10 and 11 o'clock."""
    status = {"allocatable": {"cpu": "4", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}
    node = object_of("Node", "n", {}, status, namespace="")
    there = [a_pod("old", 10, nodeName="n"), a_pod("young", 11, nodeName="n")]
    waiting = [a_pod("urgent", 12, 10), a_pod("usual", 12)]
    never = a_pod("patient", 12, 10)
    never["spec"]["preemptionPolicy"] = "Never"
    items = [node, *there, *waiting, never, *objects]
    folder.mkdir()
    (folder / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    succeeds("replay", folder / "all.json", "--quiet", db=folder / "db")
    done = leadsman("fit", "--pod", f"shop/{pod}", db=folder / "db")
    assert (done.returncode, done.stderr) == (1, "")
    return " ".join(done.stdout.split())


def test_the_victims_of_preemption_for_a_pending_pod_are_named(tmp_path: Path) -> None:
    said = answered(tmp_path / "a", "urgent")
    assert "Preemption would end 1 pod on n: shop/young (priority 0)." in said
    assert "the list of PodDisruptionBudgets was not read" in said
    no_lower, never = answered(tmp_path / "b", "usual"), answered(tmp_path / "c", "patient")
    assert "Preemption would end no pod for it: no pod has a lower priority." in no_lower
    assert "Preemption would end no pod for it: its preemptionPolicy is Never." in never


def test_a_budget_decides_whom_preemption_would_end(tmp_path: Path) -> None:
    spec, status = {"selector": {"matchLabels": {"app": "young"}}}, {"disruptionsAllowed": 0}
    said = answered(tmp_path / "a", "urgent", object_of("PodDisruptionBudget", "b", spec, status))
    assert "Preemption would end 1 pod on n: shop/old (priority 0)." in said
    both = {"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}
    said = answered(tmp_path / "b", "urgent", object_of("PodDisruptionBudget", "b", both, status))
    assert "shop/young (priority 0, against its budget)" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--pod", "shop/nonesuch"), "no pod 'shop/nonesuch' is known"),
        (("--pod", "shop/exclusive-1-01"), "it is on node node-1"),
        (("--pod", "shop/needs-8", "--count", "2"), "without --count and --exclusive"),
    ],
)
def test_only_one_pod_that_waits_can_be_asked_by_its_name(
    arguments: tuple[str, ...], says: str, late_joiners: Path
) -> None:
    done = leadsman("fit", *arguments, db=late_joiners)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())
