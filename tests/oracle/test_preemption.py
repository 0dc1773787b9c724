"""Our choice of whom preemption ends, and where, against the scheduler's plugin DefaultPreemption (rules:
scheduler-preemption, scheduler-fit).
"""

from collections import defaultdict
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.places import a_pod, clusters, label_selectors, namespace_objects, namespaces, neighbour, optional
from ingest.model.objects.disruption import PodDisruptionBudget
from ingest.model.objects.pod import Pod
from oracle.programs import Oracles
from oracle.test_fit import MINOR
from oracle.test_scores import state
from streams.questions.fit import prepared
from streams.questions.fit_preemption import preemption
from streams.rules.pods.requests import effective_requests
from streams.rules.scheduling.budgets import budget_facts
from streams.rules.scheduling.device_claims import NO_DEVICES
from streams.rules.scheduling.filters import PodRequest
from streams.rules.scheduling.preemption import BoundPod
from streams.rules.scheduling.volume_needs import NO_EVIDENCE

RARELY: Final = st.sampled_from([False, False, False, True])
PRIORITY: Final = st.sampled_from([-5, 0, 0, 3, 9])
STARTS: Final = [None, *(f"2026-07-01T12:00:{second:02}Z" for second in range(30))]
"""No two pods of a case start at the same time: between those, chance decides."""
requests = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["0", "500m", "500m", "1"])}, optional={"memory": st.sampled_from(["1Gi", "2Gi"])}
)
allocatable = st.fixed_dictionaries(
    {
        "pods": st.sampled_from(["1", "2", "110"]),
        "cpu": st.sampled_from(["1", "1500m", "2"]),
        "memory": st.sampled_from(["0", "1Gi", "3Gi"]),
    }
)
"""Every kubelet states these three; a node without one was seen only in part."""
statuses = st.fixed_dictionaries(
    {"disruptionsAllowed": st.sampled_from([0, 0, 1, 2])},
    optional={"disruptedPods": st.sampled_from(["p0", "p1"]).map(lambda pod: {pod: "2026-07-01T12:00:00Z"})},
)
budgets = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries({"namespace": st.sampled_from(["ns", "ns", "other"])}),
        "spec": st.one_of(
            st.just({"selector": {"matchLabels": {"app": "a"}}}), optional({"selector": label_selectors})
        ),
        "status": statuses,
    }
)


@st.composite
def weighing(draw: st.DrawFn, pod: dict[str, Any], priority: int) -> dict[str, Any]:
    """The pod with requests and a priority, and often without rules about its neighbours."""
    for each in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        each["resources"] = {"requests": draw(requests)}
    if not draw(RARELY):
        for rule in ("affinity", "topologySpreadConstraints", "nodeSelector"):
            pod["spec"].pop(rule, None)
    pod["spec"]["priority"] = priority
    return pod


def _without_taken_ports(pod: dict[str, Any], taken: set[tuple[str, int]]) -> None:
    """No scheduler puts two pods with one port on a node: the end of one would free it for the plugin."""
    node, own = pod["spec"]["nodeName"], set[tuple[str, int]]()
    for each in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        each["ports"] = [port for port in each["ports"] if (node, port.get("hostPort", 0)) not in taken]
        own |= {(node, port["hostPort"]) for port in each["ports"] if "hostPort" in port}
    taken |= own


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    nodes, pods = draw(clusters())
    names = [each["metadata"]["name"] for each in nodes]
    pods += [draw(a_pod(name)) for name in draw(st.lists(st.sampled_from(names), max_size=6))]
    starts, taken = draw(st.permutations(STARTS)), set[tuple[str, int]]()
    for index, each in enumerate(pods):
        draw(weighing(each, draw(PRIORITY)))
        each["metadata"]["uid"] = each["metadata"]["name"] = f"p{index}"
        each["status"] = {"startTime": starts[index]}
        each["metadata"]["labels"] |= draw(st.sampled_from([{"app": "a"}, {}]))
        _without_taken_ports(each, taken)
    for each in nodes:
        each["status"] = {"allocatable": draw(allocatable)}
        each["spec"]["taints"] *= draw(RARELY)
    pod = draw(weighing(draw(a_pod()), draw(st.sampled_from([9, 9, 9, 3, 0]))))
    pod["spec"]["preemptionPolicy"] = draw(st.sampled_from([*["PreemptLowerPriority"] * 7, "Never"]))
    found = draw(st.lists(budgets, max_size=3))
    for index, each in enumerate(found):
        each["metadata"]["name"] = f"b{index}"
    return {"nodes": nodes, "pods": pods, "pod": pod, "budgets": found}


@settings(settings.get_profile("oracle"))
@given(questions(), namespaces)
def test_whom_preemption_ends_is_what_the_schedulers_plugin_ends(
    kubernetes: Oracles, question: dict[str, Any], spaces: dict[str, dict[str, str]]
) -> None:
    answer = kubernetes.ask("preemption", {**question, "namespaces": namespace_objects(spaces)})
    pod = msgspec.convert(question["pod"], Pod, strict=False)
    nodes = [state(each, question["pods"]) for each in question["nodes"]]
    bound = defaultdict[str, list[BoundPod]](list)
    for of in question["pods"]:
        each = msgspec.convert(of, Pod, strict=False)
        there = BoundPod(
            each.metadata.name, neighbour(of), each.spec.priority, effective_requests(each), each.status.start_time
        )
        bound[each.spec.node_name].append(there)
    given_budgets = msgspec.convert(question["budgets"], list[PodDisruptionBudget])
    known = {(each.metadata.namespace, each.metadata.name): budget_facts(each) for each in given_budgets}
    request = PodRequest(
        (),
        effective_requests(pod),
        neighbour(question["pod"]),
        tuple(pod.spec.tolerations or ()),
        priority=pod.spec.priority,
    )
    request, _ = prepared(request, nodes, {"cpu", "memory", "pods"}, MINOR, NO_EVIDENCE, spaces, NO_DEVICES)
    found = preemption(request, nodes, bound, spaces, known, MINOR, all_budgets=True)
    if answer["ineligible"]:
        assert found is not None
        assert "Never" in found.reason
        return
    assert (found is None) == bool(answer["passing"])
    if found is None:
        return
    assert bool(found.nodes) == bool(answer["targets"]), found
    if found.nodes:
        assert found.nodes == [answer["chosen"]]
        target = answer["targets"][answer["chosen"]]
        assert [each.pod for each in found.victims] == target["victims"]
        assert sum(each.breaks_budget for each in found.victims) == target["broken"]
