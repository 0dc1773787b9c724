"""A pod by its manifest: what it asks for, its neighbours, and many of it at the same time."""

from typing import Any

import pytest

from leadsman.cli.present.fit import format_quantity_of
from streams.questions.fit import Answer, Candidate, answer
from streams.questions.fit_request import BadFitRequest, FitRequest, request_of_manifest
from streams.rules.numa.topology_manager import Settings
from streams.rules.scheduling.filters import NodeState
from streams.rules.scheduling.neighbours import Neighbour

MINOR = 36
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
APP = {"matchLabels": {"app": "a"}}


def pod(cpu: str = "1", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}]
    return {"kind": "Pod", "metadata": {"labels": {"app": "a"}}, "spec": {"containers": containers, **spec}}


def node(name: str, zone: str = "", cpus: int = 4, **values: Any) -> NodeState:
    labels = {"host": name, **({"zone": zone} if zone else {})}
    return NodeState(name, {"cpu": cpus * 1000, "memory": 1 << 40, "pods": 110}, {}, 0, labels=labels, **values)


def fitting(manifest: dict[str, Any], *nodes: NodeState, count: int | None = None, **known: Any) -> Answer:
    asked, request = request_of_manifest(manifest, count)
    return answer(asked, [Candidate(each) for each in nodes], {}, MINOR, pod=request, everywhere=nodes, **known)


def placed(found: Answer) -> dict[str, int]:
    return {each.node: each.pods for each in found.nodes if each.pods}


def shared(**spec: Any) -> dict[str, Any]:
    """A pod without exclusive CPUs, so that no NUMA node matters."""
    return pod("900m", **spec)


def test_a_workload_is_asked_for_as_many_pods_as_it_wants() -> None:
    deployment = {"kind": "Deployment", "spec": {"replicas": 3, "template": pod()}}
    asked, request = request_of_manifest(deployment, None)
    assert asked == FitRequest(1000, 1 << 30, True, {}, 1, 3)
    assert request.itself.namespace == "default"
    job = {"metadata": {"namespace": "ns"}, "spec": {"parallelism": 2, "template": pod()}}
    asked, request = request_of_manifest({"kind": "CronJob", "spec": {"jobTemplate": job}}, None)
    assert (asked.count, request.itself.namespace) == (2, "ns")
    assert request_of_manifest(deployment, 7)[0].count == 7


@pytest.mark.parametrize(
    "manifest",
    [None, [], {}, {"spec": {}}, {"spec": {"template": None}}, {"spec": {"containers": 1}}, pod("many")],
)
def test_a_manifest_without_a_pod_is_refused(manifest: Any) -> None:
    with pytest.raises(BadFitRequest, match="manifest of a pod"):
        request_of_manifest(manifest, None)


@pytest.mark.parametrize(
    "manifest",
    [
        pod("-1"),
        pod("3", initContainers=[{"name": "i", "resources": {"requests": {"cpu": "-2"}}}]),
        pod("3", overhead={"cpu": "-1"}),
        pod("3", resources={"requests": {"cpu": "-1"}}),
    ],
    ids=["a container", "an init container", "the overhead", "the pod"],
)
def test_an_amount_below_0_is_refused_as_by_the_api_server(manifest: Any) -> None:
    with pytest.raises(BadFitRequest, match="cpu: an amount of it is below 0"):
        request_of_manifest(manifest, None)


@pytest.mark.parametrize(
    ("resources", "why"),
    [
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, "cpu: its request must be less than or equal"),
        ({"requests": {"nvidia.com/gpu": "1"}}, "nvidia.com/gpu: limit must be set for non overcommit resources"),
        ({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}}, "must be equal to its limit"),
        ({"limits": {"nvidia.com/gpu": "1500m"}}, "nvidia.com/gpu: an amount of it must be an integer"),
        ({"requests": {"cpu": "1", "hugepages-2Mi": "2Mi"}}, "hugepages-2Mi: limit must be set"),
        ({"limits": {"hugepages-2Mi": "512Mi"}}, "HugePages require cpu or memory"),
        ({"limits": {"memory": "1Gi", "hugepages-2Mi": "3Mi"}}, "hugepages-2Mi: an amount of it must be a multiple"),
    ],
)
def test_resources_that_no_container_can_have_are_refused_as_by_the_api_server(
    resources: dict[str, dict[str, str]], why: str
) -> None:
    """The rules are those of ValidateResourceRequirements in pkg/apis/core/validation."""
    plain = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
    for spec in (
        {"containers": [{"name": "c", "resources": resources}]},
        {"containers": [plain], "initContainers": [{"name": "i", "resources": resources}]},
    ):
        with pytest.raises(BadFitRequest, match=why):
            request_of_manifest({"kind": "Pod", "spec": spec}, None)


def test_resources_of_the_whole_pod_free_no_container_of_the_rules_of_huge_pages() -> None:
    """The API server checks the pod's and each container's with the same function."""
    huge = {"limits": {"hugepages-2Mi": "4Mi"}}
    of_pod = {"requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}}
    for spec, why in (
        ({"containers": [{"name": "c", "resources": huge}], "resources": {"limits": {"cpu": "1"}}}, "require cpu"),
        ({"containers": [{"name": "c"}], "resources": of_pod}, "hugepages-2Mi: limit must be set"),
    ):
        with pytest.raises(BadFitRequest, match=why):
            request_of_manifest({"kind": "Pod", "spec": spec}, None)


def test_limits_of_devices_and_of_huge_pages_beside_memory_are_taken() -> None:
    manifest = pod("1")
    manifest["spec"]["containers"][0]["resources"]["limits"] |= {"nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"}
    asked, _ = request_of_manifest(manifest, None)
    assert asked.devices == {"nvidia.com/gpu": 2, "hugepages-2Mi": 4 << 20}


def test_a_pod_that_names_its_node_and_waits_for_its_scheduling_is_refused_as_by_the_api_server() -> None:
    with pytest.raises(BadFitRequest, match="until all schedulingGates have been cleared"):
        request_of_manifest(shared(nodeName="n", schedulingGates=[{"name": "g"}]), None)


def test_a_workload_that_wants_none_asks_for_a_count() -> None:
    with pytest.raises(BadFitRequest, match="--count"):
        request_of_manifest({"spec": {"replicas": 0, "template": pod()}}, None)


def test_a_runtime_class_whose_overhead_is_not_written_down_leaves_the_answer_open() -> None:
    found = fitting(shared(runtimeClassName="kata"), node("n"))
    assert (found.fits, found.nodes[0].verdict) == (False, "unknown")
    assert found.nodes[0].notes == ["unknown: the overhead of runtime class kata"]
    assert fitting(shared(runtimeClassName="kata", overhead={"cpu": "250m"}), node("n")).fits


def test_a_volume_claim_leaves_the_answer_open() -> None:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "d"}}]
    assert fitting(shared(volumes=volumes), node("n")).nodes[0].verdict == "unknown"


def test_a_host_port_is_there_once_on_each_node() -> None:
    ports = [{"containerPort": 80}]
    manifest = shared(hostNetwork=True)
    manifest["spec"]["containers"][0]["ports"] = ports
    assert placed(fitting(manifest, node("a"), node("b"), count=5)) == {"a": 1, "b": 1}


def test_a_pod_that_names_its_node_goes_nowhere_else() -> None:
    found = fitting(shared(nodeName="b"), node("a"), node("b"))
    assert placed(found) == {"b": 1}
    assert found.nodes[1].reasons == ["node(s) didn't match the requested node name"]


def test_tolerations_of_the_manifest_count() -> None:
    tainted = node("n", taints=("gpu=yes:NoSchedule",))
    assert not fitting(shared(), tainted).fits
    assert fitting(shared(tolerations=[{"key": "gpu", "operator": "Exists"}]), tainted).fits


PRESSED = ("node.kubernetes.io/disk-pressure=:NoSchedule",)


def test_the_pods_of_a_daemon_set_tolerate_what_its_manifest_does_not() -> None:
    """Its controller adds tolerations for a cordon and for pressure, not that a node is not ready: NoSchedule."""
    daemons = {"kind": "DaemonSet", "spec": {"template": shared()}}
    cordoned = node("cordoned", unschedulable=True, taints=("node.kubernetes.io/unschedulable=:NoSchedule",))
    unready = node("unready", ready=False, taints=("node.kubernetes.io/not-ready=:NoSchedule",))
    found = fitting(
        daemons, cordoned, unready, node("pressed", taints=PRESSED), node("other", taints=("a=b:NoSchedule",))
    )
    assert {each.node: each.verdict for each in found.nodes} == {
        "cordoned": "fits",
        "unready": "refused_by_scheduler",
        "pressed": "refused_by_kubelet",
        "other": "refused_by_scheduler",
    }
    assert not fitting(shared(), cordoned).fits
    offline = node("offline", taints=("node.kubernetes.io/network-unavailable=:NoSchedule",))
    assert not fitting(daemons, offline).fits
    assert fitting({"kind": "DaemonSet", "spec": {"template": shared(hostNetwork=True)}}, offline).fits


@pytest.mark.parametrize(
    ("spec", "verdict"),
    [
        ({}, "refused_by_kubelet"),
        ({"priorityClassName": "system-node-critical"}, "fits"),
        ({"priority": 2_000_000_000}, "fits"),
        ({"priorityClassName": "urgent", "priority": 1_000_000_000}, "refused_by_kubelet"),
    ],
)
def test_a_kubelet_under_pressure_refuses_what_the_scheduler_places(spec: dict[str, Any], verdict: str) -> None:
    """Under memory pressure it admits a pod that requests something, and one that tolerates the taint."""
    spec = spec | {"tolerations": [{"operator": "Exists"}]}
    (found,) = fitting(shared(**spec), node("n", taints=PRESSED)).nodes
    assert (found.verdict, found.reasons) == (
        verdict,
        ["The node had condition: [DiskPressure]"] if verdict != "fits" else [],
    )
    assert fitting(shared(**spec), node("n", taints=("node.kubernetes.io/memory-pressure=:NoSchedule",))).fits


def test_whether_a_node_that_is_not_ready_starts_a_pod_that_tolerates_it_is_unknown() -> None:
    tolerant = shared(tolerations=[{"operator": "Exists"}])
    (found,) = fitting(tolerant, node("n", ready=False, taints=("node.kubernetes.io/not-ready=:NoSchedule",))).nodes
    assert (found.verdict, found.pods) == ("unknown", 0)


@pytest.mark.parametrize(("completions", "count"), [(None, 10), (3, 3), (20, 10)])
def test_a_job_runs_no_more_pods_at_once_than_it_wants_to_complete(completions: int | None, count: int) -> None:
    job = {"kind": "Job", "spec": {"parallelism": 10, "completions": completions, "template": shared()}}
    assert request_of_manifest(job, None)[0].count == count


@pytest.mark.parametrize("spec", [{"parallelism": "10", "completions": 3}, {"completions": 0}])
def test_a_job_that_wants_no_pods_or_not_a_number_is_asked_with_a_count(spec: dict[str, Any]) -> None:
    job = {"kind": "Job", "spec": {**spec, "template": shared()}}
    with pytest.raises(BadFitRequest, match="ask with --count"):
        request_of_manifest(job, None)
    assert request_of_manifest(job, 2)[0].count == 2


def anti_affinity(key: str) -> dict[str, Any]:
    return {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": APP}]}}


def together(key: str) -> dict[str, Any]:
    return {"podAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": APP}]}}


def test_pods_that_keep_apart_get_a_domain_each() -> None:
    nodes = [node("a", "1"), node("b", "1"), node("c", "2")]
    assert fitting(shared(affinity=anti_affinity("host")), *nodes, count=4).pods == 3
    assert fitting(shared(affinity=anti_affinity("zone")), *nodes, count=4).pods == 2


def test_pods_that_stay_together_get_the_domain_with_most_room() -> None:
    nodes = [node("a", "1"), node("b", "2", cpus=2), node("c", "2", cpus=3), node("elsewhere", cpus=64)]
    assert placed(fitting(shared(affinity=together("zone")), *nodes, count=9)) == {"b": 2, "c": 3}


def test_pods_spread_until_a_domain_is_full() -> None:
    spread = [{"topologyKey": "zone", "maxSkew": 1, "labelSelector": APP, "whenUnsatisfiable": "DoNotSchedule"}]
    nodes = [node("a", "1", cpus=8), node("b", "2", cpus=2)]
    found = fitting(shared(topologySpreadConstraints=spread), *nodes, count=9)
    assert placed(found) == {"a": 3, "b": 2}


def test_pods_that_are_there_keep_others_away() -> None:
    _, hermit = request_of_manifest(shared(affinity=anti_affinity("zone")), None)
    there = Neighbour("default", {"app": "x"}, hermit.itself.constraints)
    nodes = [node("a", "1", neighbours=(there,)), node("b", "1"), node("c", "2")]
    found = fitting(shared(), *nodes, count=9)
    assert placed(found) == {"c": 4}
    assert found.nodes[1].reasons == ["node(s) didn't satisfy existing pods anti-affinity rules"]


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ({"default": {}, "far": {"team": "x"}}, "refused_by_scheduler"),
        ({"default": {}, "far": {}}, "fits"),
        ({"far": {}}, "unknown"),
        ({"default": {}}, "unknown"),
    ],
)
def test_a_selector_of_namespaces_decides_where_those_that_matter_are_known(
    known: dict[str, dict[str, str]], verdict: str
) -> None:
    term = {"topologyKey": "host", "labelSelector": APP, "namespaceSelector": {"matchLabels": {"team": "x"}}}
    manifest = shared(affinity={"podAntiAffinity": {REQUIRED: [term]}})
    found = fitting(manifest, node("a", neighbours=(Neighbour("far", {"app": "a"}),)), namespaces=known)
    assert [each.verdict for each in found.nodes] == [verdict]


def test_without_the_pods_that_are_there_nothing_keeps_others_away() -> None:
    assert fitting(shared(), node("a", "1"), node("b", "1")).pods == 1


def test_init_containers_are_asked_for_in_their_order() -> None:
    whole = {"cpu": "2", "memory": "1Gi"}
    one = {"name": "i", "resources": {"requests": {**whole, "cpu": "1"}, "limits": {**whole, "cpu": "1"}}}
    manifest = {
        "metadata": {"name": "a"},
        "spec": {
            "initContainers": [one, {**one, "name": "side", "restartPolicy": "Always"}],
            "containers": [{"name": "c", "resources": {"requests": whole, "limits": whole}}],
        },
    }
    _, request = request_of_manifest(manifest, None)
    assert [(each.cpus, each.is_init) for each in request.containers] == [(1, True), (1, False), (2, False)]


def test_a_manifest_insists_on_cpus_of_its_own_only_where_that_is_asked() -> None:
    assert not request_of_manifest(pod(), None)[1].insists
    assert request_of_manifest(pod(), None, insists=True)[1].insists
    shared = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    with pytest.raises(BadFitRequest, match="no exclusive CPUs"):
        request_of_manifest(shared, None, insists=True)


# A pod that names its node: no scheduler looks at it, the kubelet does.


@pytest.mark.parametrize("kept_off", [{"unschedulable": True}, {"taints": ("own=x:NoSchedule",)}])
def test_what_keeps_the_scheduler_off_keeps_no_pod_off_that_names_its_node(kept_off: dict[str, Any]) -> None:
    named, other = node("named", **kept_off), node("other")
    assert placed(fitting(shared(nodeName="named"), named, other)) == {"named": 1}
    assert placed(fitting(shared(), named, other)) == {"other": 1}


@pytest.mark.parametrize(
    ("spec", "there", "reason"),
    [
        (
            {},
            {"requested": {"cpu": 3500}},
            "OutOfcpu: Node didn't have enough resource: cpu, requested: 900, used: 3500, capacity: 4000",
        ),
        ({}, {"taints": ("own=x:NoExecute",)}, "TaintToleration: "),
        ({"nodeSelector": {"disk": "ssd"}}, {}, "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match"),
    ],
)
def test_the_kubelet_refuses_a_pod_that_names_its_node(
    spec: dict[str, Any], there: dict[str, Any], reason: str
) -> None:
    (of_named,) = fitting(shared(nodeName="named", **spec), node("named")._replace(**there)).nodes
    assert of_named.verdict == "refused_by_kubelet"
    assert of_named.reasons[0].startswith(reason)


@pytest.mark.parametrize(
    ("resource", "verdict"),
    [
        ("hugepages-2Mi", "refused_by_kubelet"),
        ("attachable.kubernetes.io/a", "refused_by_kubelet"),
        ("example.com/a", "fits"),
    ],
)
def test_the_kubelet_ignores_only_extended_resources_that_its_node_lacks(resource: str, verdict: str) -> None:
    """Kubelets do so in `removeMissingExtendedResources`. Another node has it, so the scheduler would heed it."""
    manifest = shared(nodeName="named")
    manifest["spec"]["containers"][0]["resources"]["limits"][resource] = "4Mi"
    other = node("other")
    other.allocatable[resource] = 1 << 40
    (of_named,) = (each for each in fitting(manifest, node("named"), other).nodes if each.node == "named")
    assert of_named.verdict == verdict
    if verdict != "fits":
        assert of_named.reasons[0].startswith(f"OutOf{resource}: ")


def test_the_kubelet_may_preempt_pods_for_a_critical_one() -> None:
    full = node("named")._replace(requested={"cpu": 4000})
    (of_named,) = fitting(shared(nodeName="named", priority=2_000_001_000), full).nodes
    assert of_named.verdict == "unknown"
    assert "may preempt" in of_named.notes[0]


def test_what_is_not_judged_is_said_where_it_matters() -> None:
    full, free = node("full")._replace(requested={"cpu": 4000}), node("free")
    (limits,) = fitting(shared(), free).not_judged
    assert "ResourceQuota" in limits
    assert "namespace default" in limits
    assert fitting(shared(priority=5), full).not_judged == [], "whom preemption would end is judged"
    for spec, is_said in (
        ({"priorityClassName": "high"}, True),
        ({"priority": 5}, True),
        ({"priority": 5, "preemptionPolicy": "Never"}, False),
        ({}, False),
    ):
        some = fitting(shared(**spec), full, free, count=5).not_judged
        assert any("preempt" in each for each in some) == is_said
    assert not [each for each in fitting(shared(priority=5), free).not_judged if "preempt" in each]


def test_a_pod_of_a_class_that_only_the_api_server_knows_has_no_known_priority() -> None:
    for spec, priority in (
        ({}, 0),
        ({"priority": -3, "priorityClassName": "low"}, -3),
        ({"priorityClassName": "system-node-critical"}, 2_000_001_000),
        ({"priorityClassName": "high"}, None),
    ):
        assert request_of_manifest(shared(**spec), None)[1].priority == priority


def test_storage_has_no_numa_nodes_and_a_kubelet_that_pins_nothing_leaves_no_doubt_about_cpus() -> None:
    manifest = pod("2")
    manifest["spec"]["containers"][0]["resources"]["limits"]["ephemeral-storage"] = "1Gi"
    room = node("n", settings=(Settings(cpu_policy="none"),))
    room = room._replace(allocatable=room.allocatable | {"ephemeral-storage": 1 << 40})
    asked, request = request_of_manifest(manifest, None)
    (of_node,) = answer(asked, [Candidate(room, numa_doubts=("doubt",))], {}, MINOR, pod=request).nodes
    assert of_node.notes == ["its CPUs are not pinned there: the CPU Manager's policy is none"]
    assert format_quantity_of("ephemeral-storage", 1 << 30) == "1Gi"
