"""The view `pending_fit`, and what the tables know of a node: on rows reasoned by hand, and each pod and node by
itself against the rules.
"""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import strategies as st

from components.cases import Answers, Cases
from components.database import EmptyDatabase
from components.rows import T0, dicts, row, store
from fakes.pending import seen
from fakes.places import REQUIRED, Objects, a_pod, clusters, namespace_objects, namespaces, neighbour
from fakes.storage import rows as scheduled
from ingest.model.objects.node import Taint
from ingest.model.objects.pod import Container, Pod, PodMetadata, PodSpec, PodStatus, Toleration
from ingest.model.records import PodRecord
from profiles import drawn
from sql.database.open import Database
from sql.questions.fit import ClusterFacts, read_known
from sql.questions.pending import calculate
from sql.questions.queries import BadParameter
from streams.analytics import pod_bindings
from streams.fold.findings import (
    KubeletSetting,
    NodeFit,
    NodeRow,
    NumaAllocation,
    NumaResource,
    NumaSkew,
    NumaWhatif,
    PodBinding,
    Row,
    ScheduledObject,
    SchedulingFailure,
)
from streams.questions.fit import Candidate, answer
from streams.questions.fit_request import fit_request
from streams.rules.numa.cpu_assignment import StaticPolicyOptions
from streams.rules.numa.topology_manager import Request, Settings
from streams.rules.scheduling.blind_spot import tolerates
from streams.rules.scheduling.constraints import restored, unknowns
from streams.rules.scheduling.filters import PodRequest, place_of, scheduler_reasons
from streams.rules.scheduling.fit import take
from streams.rules.scheduling.neighbours import Neighbour, Neighbourhood, in_namespaces

GIB = 1 << 30
TAINT = "dedicated=x:NoSchedule"


def pending(pod: str, cpus: int, exclusive: int = 0, **values: Any) -> PodBinding:
    requests = values.pop("requests", {"cpu": cpus * 1000})
    known = {"change": "pending", "namespace": "ns", "pod": pod, "uid": f"u-{pod}"}
    return row(PodBinding, **known, requests=requests, exclusive_cpus=exclusive, **values)


def node(name: str, *, cpus: int = 16, used: int = 0, pods: int = 0, **values: Any) -> list[Any]:
    """A node of so many CPUs, of which pods ask for `used`."""
    known = {
        "kubelet_version": "v1.30.1",
        "ready": True,
        "allocatable": {"cpu": cpus * 1000, "memory": GIB, "pods": 10},
    }
    amounts = {"cpu": (cpus * 1000, used * 1000), "memory": (GIB, 0), "pods": (10, pods)}
    return [
        row(NodeRow, node=name, **(known | values)),
        *(
            row(NodeFit, node=name, resource=name_, allocatable=have, requested=use, free=have - use, pods=pods)
            for name_, (have, use) in amounts.items()
        ),
    ]


def numa(name: str, free: list[int], cpus: int = 8, **values: Any) -> list[Any]:
    """The NUMA nodes of a node, each of so many CPUs; policies as the source tells them."""
    known = {"scope": "node", "source": "noderesourcetopology", "fidelity": "count"}
    policies = {"cpu_manager_policy": "static", "topology_manager_policy": "single-numa-node"}
    of = {"free_cpus": sum(free), "largest_fit_cpus": max(free)}
    return [
        row(NumaSkew, node=name, **(known | policies | of | values)),
        *(
            row(
                NumaAllocation,
                node=name,
                numa_node=index,
                cpus=cpus,
                reserved_cpus=0,
                exclusive_cpus=cpus - each,
                free_cpus=each,
                source="noderesourcetopology",
                fidelity="count",
            )
            for index, each in enumerate(free)
        ),
    ]


CASES = Cases()
case = CASES.add


@pytest.fixture(scope="module")
def answers(empty_database: EmptyDatabase) -> Answers:
    return CASES.answers(empty_database, "SELECT * FROM pending_fit ORDER BY cluster, node")


def verdicts(answers: Sequence[dict[str, Any]], pod: str = "p") -> dict[str, tuple[Any, ...]]:
    return {one["node"]: (one["fits"], one["reasons"], one["numa_verdict"]) for one in answers if one["pod"] == pod}


JUDGED = case(pending("p", 8), *node("roomy"), *node("full", used=9), *node("crowded", pods=10))


def test_a_pending_pod_is_judged_against_each_node(answers: Answers) -> None:
    assert verdicts(answers[JUDGED]) == {
        "roomy": (1, [], "not_exclusive"),
        "full": (0, ["Insufficient cpu"], "not_exclusive"),
        "crowded": (0, ["Too many pods"], "not_exclusive"),
    }


LATER = T0 + timedelta(seconds=1)
GONE = case(
    *(pending("bound", 1), pending("p", 1), *node("n"), *node("gone")),
    pending("bound", 1)._replace(ts=LATER, change="bound", node="n"),
    row(NodeRow, node="gone", ts=LATER, deleted=True),
)


def test_only_pods_that_still_wait_and_nodes_that_are_still_there_are_judged(answers: Answers) -> None:
    assert [(one["pod"], one["node"]) for one in answers[GONE]] == [("p", "n")]


CORDON = ["node.kubernetes.io/unschedulable=:NoSchedule"]
CORDONED = case(
    *(pending("p", 1), pending("d", 1, tolerations=["node.kubernetes.io/unschedulable:NoSchedule"])),
    *node("n", unschedulable=True, taints=CORDON),
)


def test_a_cordon_keeps_all_away_but_pods_of_a_daemon_set(answers: Answers) -> None:
    """Their controller has them tolerate node.kubernetes.io/unschedulable, which a cordon adds as a taint too."""
    assert verdicts(answers[CORDONED]) == {"n": (0, ["node(s) were unschedulable"], "not_exclusive")}
    assert verdicts(answers[CORDONED], "d") == {"n": (1, [], "not_exclusive")}


def tolerating(tolerations: list[Toleration]) -> PodBinding:
    spec = PodSpec(containers=[Container(name="c")], tolerations=tolerations)
    pod = Pod(metadata=PodMetadata(name="p", namespace="ns", uid="u-p"), spec=spec, status=PodStatus(phase="Pending"))
    (binding,) = pod_bindings.step(pod_bindings.State(), PodRecord(ts=T0, cluster="c", change="ADDED", object=pod))[1]
    assert isinstance(binding, PodBinding)
    return binding


TOLERATIONS: list[tuple[list[Toleration], bool]] = [
    ([], False),
    ([Toleration(key="dedicated", value="x", effect="NoSchedule")], True),
    ([Toleration(key="dedicated", value="x")], True),
    ([Toleration(key="dedicated", value="y", effect="NoSchedule")], False),
    ([Toleration(key="dedicated", value="x", effect="NoExecute")], False),
    ([Toleration(key="dedicated", operator="Exists", effect="NoSchedule")], True),
    ([Toleration(key="dedicate", operator="Exists")], False),
    ([Toleration(operator="Exists", effect="NoExecute")], False),
    ([Toleration(key="other", operator="Exists"), Toleration(operator="Exists")], True),
]
TAINTS = [TAINT, "a=b:PreferNoSchedule"]
TAINTED = [case(tolerating(tolerations), *node("tainted", taints=TAINTS)) for tolerations, _ in TOLERATIONS]


@pytest.mark.parametrize(
    ("cluster", "tolerations", "tolerated"),
    [(cluster, *each) for cluster, each in zip(TAINTED, TOLERATIONS, strict=True)],
)
def test_a_taint_keeps_away_who_does_not_tolerate_it(
    cluster: str, tolerations: list[Toleration], tolerated: bool, answers: Answers
) -> None:
    words = [] if tolerated else ["node(s) had untolerated taint {dedicated: x}"]
    assert verdicts(answers[cluster]) == {"tainted": (int(tolerated), words, "not_exclusive")}
    assert tolerates(tolerations, Taint(key="dedicated", value="x", effect="NoSchedule")) == tolerated


def overcommitted(*newer: Row) -> list[Row]:
    other = node("other", allocatable={"example.com/card": 1}, unschedulable=True, kubelet_version="v1.27.9")
    asking = pending("p", 0, requests={"memory": 0, "cpu": 0, "example.com/card": 1})
    return [asking, *node("n", used=17, kubelet_version="v1.27.9"), *other, *newer]


BEFORE_1_28 = case(*overcommitted())
FROM_1_28 = case(*overcommitted(*node("new", used=17, kubelet_version="v1.28.0")))


def test_before_1_28_an_overcommitted_cpu_fails_a_pod_that_asks_for_none(answers: Answers) -> None:
    # rules: scheduler-fit.
    assert verdicts(answers[BEFORE_1_28])["n"][1] == ["Insufficient cpu", "Insufficient example.com/card"]
    assert verdicts(answers[FROM_1_28])["new"][1] == ["Insufficient example.com/card"]


POLICIES: list[tuple[int, dict[str, Any], str]] = [
    (4, {}, "admitted"),
    (6, {}, "TopologyAffinityError"),
    (6, {"topology_manager_policy": "restricted"}, "TopologyAffinityError"),
    # No NUMA nodes together have 9: the CPU Manager has no hint, which is none that is preferred.
    (9, {"topology_manager_policy": "restricted"}, "TopologyAffinityError"),
    (6, {"topology_manager_policy": "best-effort"}, "admitted"),
    (9, {"topology_manager_policy": "none"}, "UnexpectedAdmissionError"),
    (4, {"cpu_manager_policy": "none"}, "not_pinned"),
    (4, {"cpu_manager_policy": ""}, "unknown"),
    # Any policy admits 4, and 6 where they may lie on two NUMA nodes.
    (4, {"topology_manager_policy": ""}, "admitted"),
    (6, {"topology_manager_policy": ""}, "unknown"),
    (6, {"fidelity": "none"}, "unknown"),
    (9, {"fidelity": "none"}, "UnexpectedAdmissionError"),
    (4, {"fidelity": "none", "free_cpus": None}, "unknown"),
]


@pytest.mark.parametrize(
    ("cluster", "verdict"),
    [
        # rules: exclusive-cpus; 4 and 4 of 8 and 8 CPUs are free.
        (case(pending("p", exclusive, exclusive), *node("n"), *numa("n", [4, 4], **source)), verdict)
        for exclusive, source, verdict in POLICIES
    ],
)
def test_the_kubelets_verdict_follows_the_policy(cluster: str, verdict: str, answers: Answers) -> None:
    assert verdicts(answers[cluster])["n"][2] == verdict


OWN_SETTINGS = row(KubeletSetting, node="n", cpu_manager_policy="static", topology_manager_policy="best-effort")
OWN = [pending("p", 6, 6), *node("n"), *numa("n", [4, 4]), OWN_SETTINGS]
BY_ITSELF = case(*OWN)


def test_the_kubelets_own_settings_are_believed_first(answers: Answers, database: Database) -> None:
    assert verdicts(answers[BY_ITSELF])["n"] == (1, [], "admitted")
    store(database, *OWN)
    assert read(database).candidates[0].state.settings == (Settings("best-effort"),)


def test_the_view_agrees_with_the_rules(database: Database) -> None:
    chance = random.Random(4)  # noqa: S311  not for secrets
    rows: list[Row] = []
    policies = ("none", "best-effort", "restricted", "single-numa-node")
    for index in range(40):
        name, free = f"n{index}", [chance.randrange(9) for _ in range(chance.randrange(1, 4))]
        rows += node(
            name,
            cpus=8 * len(free),
            used=8 * len(free) - sum(free) + chance.randrange(3),
            pods=chance.choice([0, 9, 10]),
            unschedulable=chance.random() < 0.1,
            taints=chance.choice([[], [], [TAINT], [TAINT, "b=:NoExecute", "c=:PreferNoSchedule"]]),
        )
        rows += numa(
            name,
            free,
            cpu_manager_policy=chance.choice(["static", "static", "none"]),
            topology_manager_policy=chance.choice(policies),
        )
    pods = [pending(f"p{cpus}", cpus, cpus if cpus % 3 else 0) for cpus in range(1, 15)]
    store(database, *rows, *pods)
    calculate(database)
    known = read(database)
    judged = dicts(database, "SELECT * FROM pending_fit")
    seen: set[str] = set()
    for pod in pods:
        answers = verdicts(judged, pod.pod)
        for each in known.candidates:
            wanted = PodRequest((Request(pod.exclusive_cpus),), pod.requests)
            _, reasons, verdict = answers[each.state.node]
            assert reasons == scheduler_reasons(each.state, wanted, known.scheduler_minor)
            assert verdict == kubelets(each, wanted), (each.state, wanted)
            seen.add(verdict)
    assert seen == {
        "admitted",
        "not_exclusive",
        "not_pinned",
        "TopologyAffinityError",
        "UnexpectedAdmissionError",
    }


def kubelets(candidate: Candidate, pod: PodRequest) -> str:
    """Return the verdict of the rules about the kubelet alone, in the words of the view."""
    roomy = candidate.state._replace(
        unschedulable=False, taints=(), requested={}, pods=0, allocatable={"cpu": 10**9, "pods": 9}
    )
    found, _, _ = take(roomy, pod, 30, 1)
    if not pod.exclusive_cpus:
        assert found.verdict == "fits"
        return "not_exclusive"
    words = {"fits": "admitted", "not_exclusive": "not_pinned"}
    return words.get(found.verdict) or found.reasons[0].partition(":")[0]


# The pod's own constraints, and its neighbours'.


Drawn: TypeAlias = tuple[tuple[Objects, Objects], dict[str, Any], dict[str, dict[str, str]], str | None]
"""Nodes and pods of a cluster, the pod that asks, namespaces' labels, and the one that nobody saw."""
PLACES = st.tuples(clusters(), a_pod(), namespaces, st.sampled_from([None, None, "ns", "other"]))


def drawn_rows(one: Drawn, name: str) -> list[Row]:
    (nodes, pods), asked, labels, unseen = one
    asked["metadata"]["uid"] = "new"
    labels.pop(unseen or "", None)
    rows: list[Row] = [seen(each, name) for each in [*pods, asked]]
    rows += scheduled({"namespaces": namespace_objects(labels)}, name)
    for made in nodes:
        taints = [f"{taint['key']}=:{taint['effect']}" for taint in made["spec"]["taints"]]
        of = {"taints": taints, "labels": made["metadata"]["labels"]}
        rows += [one._replace(cluster=name) for one in node(made["metadata"]["name"], **of)]
    return rows


def test_the_view_agrees_with_the_rules_about_places_and_neighbours(database: Database) -> None:
    # That the rules are the scheduler's is tested in tests/oracle/test_placement.py.
    made = {f"c-{number}": one for number, one in enumerate(drawn(PLACES, 15, night=200))}
    store(database, *(each for name, one in made.items() for each in drawn_rows(one, name)))
    calculate(database)
    found = dicts(database, "SELECT * FROM pending_fit WHERE uid = 'new'")
    for name, (_, asked, labels, _) in made.items():
        answers = {one["node"]: one for one in found if one["cluster"] == name}
        agrees(answers, asked, labels, read_known(database, name, with_pods=True))


def agrees(
    answers: dict[str, dict[str, Any]], asked: dict[str, Any], labels: dict[str, dict[str, str]], known: ClusterFacts
) -> None:
    """The view and the rules agree about each node of a cluster."""
    wanted = PodRequest(
        (), {}, neighbour(asked), tuple(msgspec.convert(asked, Pod, strict=False).spec.tolerations or ())
    )
    assert known.namespaces == labels
    itself, places = in_namespaces(
        wanted.itself, [place_of(each, wanted) for each in known.everywhere], known.namespaces
    )
    around = Neighbourhood(itself, places)
    assert set(answers) == {each.node for each in known.everywhere}
    for each, place in zip(known.everywhere, places, strict=True):
        reasons = scheduler_reasons(each, wanted, known.scheduler_minor) + around.reasons(place)
        unknown = {*unknowns(itself.constraints), *around.unknowns(place)}
        assert answers[each.node]["reasons"] == reasons
        assert {*answers[each.node]["unknowns"]} == unknown
        assert answers[each.node]["fits"] == (0 if reasons else None if unknown else 1)


def waiting(**spec: Any) -> PodBinding:
    labels = spec.pop("labels", {})
    metadata = {"name": "p", "namespace": "ns", "uid": "u-p", "labels": labels}
    return seen(
        {"metadata": metadata, "spec": {"containers": [{"name": "c"}], **spec}, "status": {"phase": "Pending"}}
    )


def judged(answers: Sequence[dict[str, Any]]) -> dict[str, tuple[Any, ...]]:
    return {one["node"]: (one["fits"], one["reasons"], one["unknowns"]) for one in answers if one["pod"] == "p"}


SELECTING = case(waiting(nodeSelector={"disk": "ssd"}), *node("hdd"), *node("ssd", labels={"disk": "ssd"}))


def test_a_node_selector_keeps_a_pod_from_nodes_without_the_label(answers: Answers) -> None:
    left_out = ["node(s) didn't match Pod's node affinity/selector"]
    assert judged(answers[SELECTING]) == {"hdd": (0, left_out, []), "ssd": (1, [], [])}


APART: dict[str, Any] = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
UNREPORTED: list[tuple[dict[str, Any], str]] = [
    (
        {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]},
        "where volume data can be attached",
    ),
    ({"volumes": [{"name": "s", "ephemeral": {}}]}, "where volume s can be attached"),
    ({"resourceClaims": [{"name": "gpu"}]}, "which nodes have the devices of claim gpu"),
    (
        {"affinity": {"podAntiAffinity": {REQUIRED: [APART]}}},
        "which namespaces the anti-affinity by zone selects",
    ),
]


@pytest.mark.parametrize(
    ("cluster", "unknown"),
    [
        (case(waiting(**spec), *node("n", labels={"zone": "a"}), *node("cordoned", unschedulable=True)), unknown)
        for spec, unknown in UNREPORTED
    ],
)
def test_what_no_source_reports_makes_the_answer_unknown_and_not_yes(
    cluster: str, unknown: str, answers: Answers
) -> None:
    assert judged(answers[cluster]) == {
        "n": (None, [], [unknown]),
        "cordoned": (0, ["node(s) were unschedulable"], [unknown]),
    }


def term() -> dict[str, Any]:
    selectors = {"labelSelector": {"matchLabels": {"app": "a"}}, "namespaceSelector": {"matchLabels": {"team": "a"}}}
    return {"topologyKey": "zone", **selectors}


def there(namespace: str, **spec: Any) -> PodBinding:
    """A pod on node n."""
    metadata = {"name": "other", "namespace": namespace, "uid": "u-other", "labels": {"app": "a"}}
    return seen({"metadata": metadata, "spec": {"containers": [], "nodeName": "n", **spec}, "status": {}})


def spaces(**labels: dict[str, str]) -> Sequence[ScheduledObject]:
    """Namespaces, by the teams that they are of."""
    return scheduled({"namespaces": namespace_objects(labels)})


A, B = {"team": "a"}, {"team": "b"}
AWAY = "node(s) didn't match pod anti-affinity rules"
UNSURE = "which namespaces the anti-affinity by zone selects"


ASKED: dict[str, tuple[dict[str, dict[str, str]], tuple[Any, ...]]] = {
    "far a": ({"ns": {}, "far": A}, (0, [AWAY], [])),
    "far b": ({"ns": {}, "far": B}, (1, [], [])),
    "bare": ({"ns": {}, "far": {}}, (1, [], [])),
    "far unseen": ({"ns": {}}, (None, [], [UNSURE])),
    "another": ({"ns": {}, "near": A}, (None, [], [UNSURE])),
    # what refuses it for sure is told, whatever else there is
    "own unseen": ({"far": A}, (0, [AWAY], [UNSURE])),
    "none": ({}, (None, [], [UNSURE])),
}
THERE: dict[str, tuple[dict[str, dict[str, str]], tuple[Any, ...]]] = {
    "own a": ({"ns": A}, (0, ["node(s) didn't satisfy existing pods anti-affinity rules"], [])),
    "own b": ({"ns": B}, (1, [], [])),
    # of a pod that is there, only the namespace of the one that comes matters
    "far alone": ({"far": {}}, (None, [], ["which namespaces the anti-affinity of pods that are there selects"])),
}


SEPARATE: dict[str, Any] = {"affinity": {"podAntiAffinity": {REQUIRED: [term()]}}}
ZONED = node("n", labels={"zone": "a"})
BY_NAMESPACE = [
    *(
        (case(waiting(**SEPARATE), there("far"), *ZONED, *spaces(**known)), answer)
        for known, answer in ASKED.values()
    ),
    *(
        (case(waiting(labels={"app": "a"}), there("far", **SEPARATE), *ZONED, *spaces(**known)), answer)
        for known, answer in THERE.values()
    ),
]


@pytest.mark.parametrize(("cluster", "answer"), BY_NAMESPACE, ids=[*ASKED, *THERE])
def test_a_term_means_the_namespaces_whose_labels_its_selector_meets(
    cluster: str, answer: tuple[Any, ...], answers: Answers
) -> None:
    assert judged(answers[cluster]) == {"n": answer}


RELABELLED = [
    *(waiting(**SEPARATE), there("far"), *ZONED, *spaces(ns={}, far={})),
    *(each._replace(ts=LATER) for each in spaces(far=A)),
]
WENT = [each._replace(ts=T0 + timedelta(seconds=2), deleted=True, facts="") for each in spaces(far={})]
AFTER_LABELS, AFTER_LEAVING = case(*RELABELLED), case(*RELABELLED, *WENT)


def test_deleted_namespaces_and_changed_labels_are_taken_into_account(answers: Answers) -> None:
    assert judged(answers[AFTER_LABELS]) == {"n": (0, [AWAY], [])}
    assert judged(answers[AFTER_LEAVING]) == {"n": (None, [], [UNSURE])}


TOGETHER = [waiting(affinity={"podAffinity": {REQUIRED: [term()]}}), *ZONED, *node("bare")]
NONE_KNOWN, NONE_THERE = case(*TOGETHER), case(*TOGETHER, *spaces(ns={}))
ONE_THERE = case(*TOGETHER, *spaces(ns={}), there("far"), *spaces(far=A))


def test_affinity_to_namespaces_that_are_not_known_refuses_no_node_that_has_the_key(answers: Answers) -> None:
    unsure, lonely = ["which namespaces the affinity by zone selects"], ["node(s) didn't match pod affinity rules"]
    assert judged(answers[NONE_KNOWN]) == {"n": (None, [], unsure), "bare": (0, lonely, unsure)}
    assert judged(answers[NONE_THERE]) == {"n": (0, lonely, []), "bare": (0, lonely, [])}
    assert judged(answers[ONE_THERE]) == {"n": (1, [], []), "bare": (0, lonely, [])}


EARLIER = [
    waiting()._replace(constraints='{"anti_affinity":[["zone",[["app","In",["a"]]],[],true]]}'),
    *(*ZONED, *spaces(ns=A)),
]
BY_AN_EARLIER_VERSION = case(*EARLIER)


def test_of_a_pod_that_an_earlier_version_saw_the_selector_of_namespaces_is_not_known(
    answers: Answers, database: Database
) -> None:
    assert judged(answers[BY_AN_EARLIER_VERSION]) == {"n": (None, [], [UNSURE])}
    store(database, *EARLIER)
    itself = Neighbour("ns", {}, restored(EARLIER[0].constraints))
    assert unknowns(in_namespaces(itself, [], read(database).namespaces)[0].constraints) == [UNSURE]


ANYWHERE: Objects = [
    {"name": "a", "emptyDir": {}},
    {"name": "b", "configMap": {"name": "c"}},
    {"name": "h", "hostPath": {}},
]
MADE_ANYWHERE = case(waiting(volumes=ANYWHERE), *node("n"))


def test_volumes_that_are_made_anywhere_leave_no_doubt(answers: Answers) -> None:
    assert judged(answers[MADE_ANYWHERE]) == {"n": (1, [], [])}


HELD_BACK = [waiting(schedulingGates=[{"name": "example.com/quota"}]), *node("n")]
GATED, LET_GO = case(*HELD_BACK), case(*HELD_BACK, waiting()._replace(ts=LATER))


def test_a_gated_pod_fits_nowhere_until_its_gates_are_removed(answers: Answers) -> None:
    assert judged(answers[GATED])["n"][:2] == (0, ["Scheduling is blocked due to non-empty scheduling gates"])
    assert judged(answers[LET_GO])["n"][0] == 1


CARD = waiting(containers=[{"name": "c", "resources": {"limits": {"example.com/card": "1"}}}])
WORDS = {"Insufficient example.com/card": 1}
NO_CARD = case(CARD, *node("n"))
REFUSED = case(CARD, *node("n"), row(SchedulingFailure, namespace="ns", pod="p", uid="u-p", reasons=WORDS))
ANOTHERS = case(CARD, *node("n"), *node("m", allocatable={"pods": 10, "example.com/card": 1}))


def test_a_resource_that_no_node_has_may_be_one_that_the_scheduler_ignores(answers: Answers) -> None:
    unsure = "whether the scheduler considers example.com/card, which no node has"
    assert judged(answers[NO_CARD]) == {"n": (None, [], [unsure])}


def test_a_resource_in_the_schedulers_text_is_one_that_it_considers(answers: Answers) -> None:
    assert judged(answers[REFUSED]) == {"n": (0, ["Insufficient example.com/card"], [])}
    (only,) = answers[REFUSED]
    assert (only["scheduler_reasons"], only["scheduled_at"]) == (WORDS, T0)


def test_a_resource_of_another_node_is_taken_into_account(answers: Answers) -> None:
    assert judged(answers[ANOTHERS])["n"] == (0, ["Insufficient example.com/card"], [])


SILENT = case(waiting(), *node("n"))


def test_without_a_word_of_the_scheduler_there_are_no_reasons_of_it(answers: Answers) -> None:
    (only,) = answers[SILENT]
    assert (only["scheduler_reasons"], only["scheduled_at"]) == ({}, None)


WITH_OVERHEAD = case(
    waiting(
        containers=[{"name": "c", "resources": {"requests": {"cpu": "15"}}}],
        overhead={"cpu": "2"},
        runtimeClassName="kata",
    ),
    *node("n"),
)


def test_the_overhead_of_a_runtime_class_is_asked_for_too(answers: Answers) -> None:
    assert judged(answers[WITH_OVERHEAD])["n"] == (0, ["Insufficient cpu"], [])


# What the tables know.


def read(database: Database, cluster: str = "", node: str = "") -> ClusterFacts:
    return read_known(database, cluster, node, with_pods=True)


def test_a_node_is_what_its_latest_rows_say(database: Database) -> None:
    later = T0 + timedelta(minutes=1)
    store(database, *node("n", used=3), *numa("n", [2, 3]))
    store(database, *(each._replace(ts=later) for each in [*node("n", used=5), *numa("n", [4, 1])]))
    known = read(database)
    state = known.candidates[0].state
    assert (known.cluster, known.as_of) == ("c", later)
    assert (state.requested["cpu"], known.scheduler_minor) == (5000, 30)
    assert state.machine is not None
    free = [len(each.cpus & state.machine.free) for each in state.machine.topology.numa_nodes]
    assert free == [4, 1]


def test_numbers_of_an_earlier_node_of_that_name_are_not_believed(database: Database) -> None:
    store(database, *numa("n", [4, 4]), *node("n", ts=T0, created_at=T0 + timedelta(seconds=1)))
    assert read(database).candidates[0].state.machine is None


def test_cpu_ids_make_an_exact_machine_with_its_cores(database: Database) -> None:
    exact = {"source": "cpu_manager_state", "fidelity": "exact"}
    store(database, *node("n"), row(NumaSkew, node="n", scope="node", **exact))
    store(
        database,
        row(
            NumaAllocation,
            node="n",
            numa_node=3,
            cpus=4,
            free_cpus=2,
            free_cpuset="1,5",
            core_cpusets=["0,4", "1,5"],
            **exact,
        ),
        # A NUMA node that disappeared, and one of a source that is not believed any more.
        row(NumaAllocation, node="n", numa_node=4, cpus=0, **exact),
        row(NumaAllocation, node="n", numa_node=5, cpus=8, free_cpus=8, source="noderesourcetopology"),
    )
    machine = read(database).candidates[0].state.machine
    assert machine is not None
    assert [(each.numa_node, each.cores) for each in machine.topology.numa_nodes] == [
        (3, (frozenset({0, 4}), frozenset({1, 5})))
    ]
    assert machine.free == {1, 5}


def test_policy_options_reach_the_rules_and_those_not_followed_are_noted(database: Database) -> None:
    store(
        database,
        *node("n"),
        row(
            KubeletSetting,
            node="n",
            cpu_manager_policy="static",
            topology_manager_policy="restricted",
            topology_manager_scope="pod",
            cpu_manager_policy_options={"full-pcpus-only": "true", "distribute-cpus-across-numa": "true"},
            topology_manager_policy_options={"max-allowable-numa-nodes": "16", "prefer-closest-numa-nodes": "true"},
        ),
    )
    found = read(database).candidates[0]
    assert found.state.settings == (
        Settings(
            "restricted", "pod", assignment=StaticPolicyOptions(across_numa=True, whole_cores=True), max_numa_nodes=16
        ),
    )
    assert any("prefer-closest-numa-nodes" in each for each in found.numa_doubts)


def test_who_holds_exclusive_cpus_has_the_static_policy(database: Database) -> None:
    answers: dict[str, Any] = {"cpu_manager_policy": "", "topology_manager_policy": ""}
    store(database, *node("a"), *numa("a", [4], exclusive_cpus=4, **answers), *node("b"), *numa("b", [8], **answers))
    policies = {each.state.node: {s.cpu_policy for s in each.state.settings} for each in read(database).candidates}
    assert policies == {"a": {"static"}, "b": {"static", "none"}}


def resource(numa_node: int, name: str, have: int, available: int | None, source: str, **values: Any) -> NumaResource:
    known = {"capacity": have, "allocatable": have, "available": available, "source": source}
    return row(NumaResource, node="n", numa_node=numa_node, resource=name, **(known | values))


def test_memory_and_devices_are_taken_from_the_kubelet_first(database: Database) -> None:
    store(
        database,
        *node("n"),
        *numa("n", [4, 4]),
        resource(0, "memory", 8 * GIB, 6 * GIB, "memory_manager_state", cells=[0, 1]),
        resource(1, "memory", 8 * GIB, 8 * GIB, "memory_manager_state", cells=[0, 1]),
        resource(0, "memory", 8 * GIB, GIB, "noderesourcetopology"),
        resource(0, "example.com/card", 2, 1, "podresources"),
        resource(0, "example.com/card", 2, 2, "noderesourcetopology"),
        resource(1, "example.com/silent", 2, None, "noderesourcetopology"),
    )
    machine = read(database).candidates[0].state.machine
    assert machine is not None
    assert {numa_: each.tables["memory"].free for numa_, each in machine.memory.items()} == {0: 6 * GIB, 1: 8 * GIB}
    assert [(each.assignments, each.cells) for each in machine.memory.values()] == [(1, (0, 1)), (0, (0, 1))]
    assert {name: each.available for name, each in machine.devices.items()} == {"example.com/card": {0: 1}}


def test_memory_by_another_source_counts_only_where_the_memory_manager_is_static(database: Database) -> None:
    store(database, *node("n"), *numa("n", [4]), resource(0, "memory", 8 * GIB, GIB, "noderesourcetopology"))
    machine = read(database).candidates[0].state.machine
    assert machine is not None
    assert machine.memory == {}
    store(database, row(KubeletSetting, node="n", memory_manager_policy="Static"))
    machine = read(database).candidates[0].state.machine
    assert machine is not None
    assert machine.memory[0].tables["memory"].free == GIB


def test_strategies_are_those_of_the_node_and_of_the_cluster(database: Database) -> None:
    store(
        database,
        *node("n"),
        row(NumaWhatif, scope="node", node="n", strategy="most_allocated", largest_fit_cpus=5),
        row(NumaWhatif, scope="cluster", node="", strategy="most_allocated", largest_fit_cpus=9),
    )
    known = read(database)
    assert (known.candidates[0].largest_fits, known.strategies) == ({"most_allocated": 5}, {"most_allocated": 9})


def test_of_several_clusters_one_has_to_be_named(database: Database) -> None:
    store(database, *node("n"), row(NodeRow, cluster="d", node="m"))
    with pytest.raises(BadParameter, match=r"--cluster: c, d"):
        read(database)
    assert [each.state.node for each in read(database, cluster="d").candidates] == ["m"]
    with pytest.raises(BadParameter, match="no node 'm'"):
        read(database, cluster="c", node="m")


READY = [
    ([*node("n", ready=ready), pending("p", 1)], fits, verdict)
    for ready, fits, verdict in ((True, 1, "fits"), (False, None, "refused_by_scheduler"), (None, None, "unknown"))
]


@pytest.mark.parametrize(
    ("rows", "cluster", "fits", "verdict"), [(rows, case(*rows), fits, verdict) for rows, fits, verdict in READY]
)
def test_only_a_node_that_is_known_to_be_ready_is_offered(
    rows: list[Row], cluster: str, fits: int | None, verdict: str, answers: Answers, database: Database
) -> None:
    assert [one["fits"] for one in answers[cluster]] == [fits]
    store(database, *rows)
    found = answer(fit_request("1", "0", [], exclusive=False), read(database).candidates, {}, 30)
    assert found.nodes[0].verdict == verdict
