"""Our scores of the nodes that pass the filters against the scheduler's own plugins (rules: scheduler-scores)."""

import json
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.places import PREFERRED, Objects, a_pod, clusters, namespace_objects, namespaces, neighbour, taints
from ingest.model.objects.pod import Pod
from oracle.programs import Oracles
from oracle.test_fit import BYTES, CPU
from streams.rules.pods.requests import effective_requests
from streams.rules.scheduling.filters import NodeState, PodRequest, place_of
from streams.rules.scheduling.neighbours import in_namespaces
from streams.rules.scheduling.scores import WEIGHTS, scored
from streams.rules.values.quantity import in_base_units

PLUGINS: Final = sorted(WEIGHTS.keys() - {"ImageLocality", "DynamicResources"})
"""Without those that have no evidence."""
KEYS: Final = {"host": "kubernetes.io/hostname", "zone": "topology.kubernetes.io/zone"}
TEMPLATES: Final = {each: {"app": each, "pod-template-hash": f"hash-{each}"} for each in ("a", "b")}
"""Labels of the pods of two ReplicaSets."""
requests = st.fixed_dictionaries({}, optional={"cpu": CPU, "memory": BYTES})
allocatable = st.fixed_dictionaries(
    {"pods": st.just("110")},
    optional={
        "cpu": st.sampled_from(["0", "1", "1500m", "7"]),
        "memory": st.sampled_from(["1Gi", "1e9", "7777777777"]),
    },
)
app = st.sampled_from(["a", "b"]).map(lambda each: {"matchLabels": {"app": each}})
key = st.sampled_from(["host", "zone", "rack"])
soft_nodes = st.lists(
    st.tuples(st.integers(1, 100), st.sampled_from(["a", "b"])).map(
        lambda drawn: {
            "weight": drawn[0],
            "preference": {"matchExpressions": [{"key": "zone", "operator": "In", "values": [drawn[1]]}]},
        }
    ),
    max_size=2,
)
soft_pods = st.lists(
    st.fixed_dictionaries(
        {
            "weight": st.integers(1, 100),
            "podAffinityTerm": st.fixed_dictionaries({"topologyKey": key, "labelSelector": app}),
        }
    ),
    max_size=2,
)
soft_spread = st.lists(
    st.fixed_dictionaries(
        {
            "topologyKey": key,
            "maxSkew": st.integers(1, 4),
            "whenUnsatisfiable": st.just("ScheduleAnyway"),
            "labelSelector": app,
        }
    ),
    min_size=1,
    max_size=2,
)


@st.composite
def requesting(draw: st.DrawFn, pod: dict[str, Any]) -> dict[str, Any]:
    """The pod with requests, and perhaps as one of a ReplicaSet."""
    for each in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
        each["resources"] = {"requests": draw(requests)}
    if draw(st.booleans()):  # simple preferences, which often decide
        affinity = pod["spec"].setdefault("affinity", {})
        for kind, terms in (("nodeAffinity", soft_nodes), ("podAffinity", soft_pods), ("podAntiAffinity", soft_pods)):
            affinity.setdefault(kind, {})[PREFERRED] = draw(terms)
        pod["spec"]["topologySpreadConstraints"] = draw(soft_spread)
        pod["metadata"] |= {"namespace": "ns", "labels": draw(app)["matchLabels"]}
    template = draw(st.sampled_from(["", *TEMPLATES]))
    if template:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": template, "uid": template, "controller": True}
        pod["metadata"] |= {"namespace": "ns", "labels": TEMPLATES[template], "ownerReferences": [owner]}
        if draw(st.booleans()):
            pod["spec"].pop("topologySpreadConstraints", None)
    return pod


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    nodes, pods = draw(clusters())
    for node in nodes:
        node["metadata"]["labels"] |= {
            "zone": draw(st.sampled_from(["a", "b", "c"])),
            "host": node["metadata"]["name"],
        }
        node["status"] = {"allocatable": draw(allocatable)}
        node["spec"]["taints"] += draw(taints.map(lambda found: [{**each, "key": "v"} for each in found]))
    names = [each["metadata"]["name"] for each in nodes]
    question = {
        "nodes": nodes,
        "pods": [draw(requesting(each)) for each in pods],
        "pod": draw(requesting(draw(a_pod()))),
        "passing": draw(st.one_of(st.just(names), st.lists(st.sampled_from(names), min_size=1, unique=True))),
        "services": draw(st.sampled_from([[], [selecting({"app": "a"})]])),
        "replicaSets": [selecting({"matchLabels": labels}, name) for name, labels in TEMPLATES.items()],
        "plugins": PLUGINS,
    }
    text = json.dumps(question)
    for short, key in KEYS.items():
        text = text.replace(f'"{short}"', f'"{key}"')
    found: dict[str, Any] = json.loads(text)
    return found


def selecting(selector: dict[str, Any], name: str = "s") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns"}, "spec": {"selector": selector}}


def state(node: dict[str, Any], pods: Objects) -> NodeState:
    there = [each for each in pods if each["spec"]["nodeName"] == node["metadata"]["name"]]
    used = [effective_requests(msgspec.convert(each, Pod, strict=False)) for each in there]
    return NodeState(
        node=node["metadata"]["name"],
        allocatable=in_base_units(node["status"]["allocatable"]),
        requested={name: sum(each.get(name, 0) for each in used) for name in ("cpu", "memory")},
        pods=len(there),
        labels=node["metadata"]["labels"],
        taints=tuple(f"{each['key']}=:{each['effect']}" for each in node["spec"]["taints"]),
        neighbours=tuple(map(neighbour, there)),
    )


@settings(settings.get_profile("oracle"))
@given(questions(), namespaces, st.sampled_from([None, None, "ns", "other"]))
def test_scores_are_what_the_schedulers_plugins_give(
    kubernetes: Oracles, question: dict[str, Any], spaces: dict[str, dict[str, str]], unseen: str | None
) -> None:
    answer = kubernetes.ask("scores", {**question, "namespaces": namespace_objects(spaces)})
    pod = msgspec.convert(question["pod"], Pod, strict=False)
    nodes = [state(each, question["pods"]) for each in question["nodes"]]
    request = PodRequest((), effective_requests(pod), neighbour(question["pod"]), tuple(pod.spec.tolerations or ()))
    known = {name: labels for name, labels in spaces.items() if name != unseen}
    itself, places = in_namespaces(request.itself, [place_of(each, request) for each in nodes], known)
    there = {
        node.node: node._replace(neighbours=tuple(place.pods)) for node, place in zip(nodes, places, strict=True)
    }
    passing = [there[name] for name in question["passing"]]
    found = scored(request._replace(itself=itself), [*there.values()], passing)
    for plugin in PLUGINS:
        if plugin in found.unknown:
            assert plugin == "PodTopologySpread" or (plugin == "InterPodAffinity" and unseen)
        else:
            assert answer[plugin] == {name: of[plugin] for name, of in found.by_node.items()}, plugin
