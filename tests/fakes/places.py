"""Nodes and pods with labels, affinity, spread and ports, so alike that they often concern each other."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import msgspec
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from streams.rules.scheduling.constraints import (
    ANY_ADDRESS,
    constraints_of,
    preferences_of,
    preferred,
    restored,
    stored,
)
from streams.rules.scheduling.neighbours import Neighbour

Objects: TypeAlias = list[dict[str, Any]]


def optional(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


ZONES: Final = ["zone", "host", "rack"]
labels = optional({key: st.sampled_from(["a", "b", "3", "x7"]) for key in ("app", "tier", "version")})
node_labels = optional({key: st.sampled_from(["a", "b", "7", "12"]) for key in (*ZONES, "disk")})
taints = st.lists(
    st.fixed_dictionaries(
        {
            "key": st.sampled_from(["t", "u"]),
            "effect": st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"]),
        }
    ),
    max_size=1,
)


def expression(keys: list[str], operators: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    values = st.lists(st.sampled_from(["a", "b", "3", "7", "12"]), min_size=1, max_size=2, unique=True)

    def of(drawn: tuple[str, str, list[str]]) -> dict[str, Any]:
        key, operator, some = drawn
        if operator in {"Exists", "DoesNotExist"}:
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": some[:1] if operator in {"Gt", "Lt"} else some}

    return st.tuples(st.sampled_from(keys), st.sampled_from(operators), values).map(of)


SETS: Final = ["In", "NotIn", "Exists", "DoesNotExist"]
label_selectors = optional(
    {
        "matchLabels": optional({"app": st.sampled_from(["a", "b"])}),
        "matchExpressions": st.lists(expression(["app", "tier", "version"], SETS), max_size=2),
    }
)
teams = optional({"team": st.sampled_from(["a", "b"]), "stage": st.just("7")})
namespace_selectors = optional(
    {
        "matchLabels": optional({"team": st.sampled_from(["a", "b"])}),
        "matchExpressions": st.lists(expression(["team", "stage"], SETS), max_size=1),
    }
)
namespaces = st.fixed_dictionaries({"ns": teams, "other": teams})
"""Their labels by name."""
node_term = optional(
    {
        "matchExpressions": st.lists(expression([*ZONES, "disk"], [*SETS, "Gt", "Lt"]), max_size=2),
        "matchFields": st.lists(
            st.fixed_dictionaries(
                {
                    "key": st.just("metadata.name"),
                    "operator": st.sampled_from(["In", "NotIn"]),
                    "values": st.sampled_from(["n0", "n1"]).map(lambda name: [name]),
                }
            ),
            max_size=1,
        ),
    }
)
pod_term = st.fixed_dictionaries(
    {"topologyKey": st.sampled_from(ZONES)},
    optional={
        "labelSelector": label_selectors,
        "namespaces": st.lists(st.sampled_from(["ns", "other"]), min_size=1, unique=True),
        "namespaceSelector": namespace_selectors,
    },
)
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
weights = st.sampled_from([1, 10, 100])
pod_terms = optional(
    {
        REQUIRED: st.lists(pod_term, min_size=1, max_size=2),
        PREFERRED: st.lists(
            st.fixed_dictionaries({"weight": weights, "podAffinityTerm": pod_term}), min_size=1, max_size=2
        ),
    }
)
preferred_nodes = st.fixed_dictionaries(
    {
        "weight": weights,
        "preference": optional({"matchExpressions": st.lists(expression([*ZONES, "disk"], SETS), max_size=2)}),
    }
)
inclusion = st.sampled_from(["Honor", "Ignore"])
spread = st.fixed_dictionaries(
    {
        "topologyKey": st.sampled_from(ZONES),
        "maxSkew": st.integers(1, 2),
        "whenUnsatisfiable": st.sampled_from(["DoNotSchedule", "DoNotSchedule", "ScheduleAnyway"]),
    },
    optional={
        "labelSelector": label_selectors,
        "minDomains": st.integers(1, 3),
        "nodeAffinityPolicy": inclusion,
        "nodeTaintsPolicy": inclusion,
        "matchLabelKeys": st.just(["version"]),
    },
)
port = st.fixed_dictionaries(
    {"containerPort": st.just(80), "protocol": st.sampled_from(["TCP", "UDP"])},
    optional={
        "hostPort": st.sampled_from([80, 81]),
        "hostIP": st.sampled_from(["", ANY_ADDRESS, "127.0.0.1", "10.0.0.1"]),
    },
)
ports = st.lists(port, max_size=2)


def container(name: str, **more: Any) -> st.SearchStrategy[dict[str, Any]]:
    return ports.map(lambda found: {"name": name, "ports": found, **more})


affinity = optional(
    {
        "nodeAffinity": optional(
            {
                REQUIRED: st.lists(node_term, min_size=1, max_size=2).map(lambda terms: {"nodeSelectorTerms": terms}),
                PREFERRED: st.lists(preferred_nodes, max_size=2),
            }
        ),
        "podAffinity": pod_terms,
        "podAntiAffinity": pod_terms,
    }
)
specs = st.fixed_dictionaries(
    {"containers": st.tuples(container("c")).map(list)},
    optional={
        "initContainers": st.tuples(container("i"), container("s", restartPolicy="Always")).map(list),
        "affinity": affinity,
        "nodeSelector": node_labels,
        "topologySpreadConstraints": st.lists(spread, min_size=1, max_size=2),
        "tolerations": st.just([{"key": "t", "operator": "Exists"}]),
    },
)


@st.composite
def a_pod(draw: st.DrawFn, node: str = "") -> dict[str, Any]:
    metadata = {"name": "p", "namespace": draw(st.sampled_from(["ns", "ns", "other"])), "labels": draw(labels)}
    if node and draw(st.integers(0, 5)) == 0:
        metadata["deletionTimestamp"] = "2026-07-01T12:00:00Z"
    return {"metadata": metadata, "spec": {**draw(specs), "nodeName": node}, "status": {}}


@st.composite
def clusters(draw: st.DrawFn) -> tuple[Objects, Objects]:
    """Nodes, and the pods on them."""
    names = [f"n{index}" for index in range(draw(st.integers(1, 4)))]
    nodes = [
        {"metadata": {"name": name, "labels": draw(node_labels)}, "spec": {"taints": draw(taints)}} for name in names
    ]
    pods = [draw(a_pod(name)) for name in draw(st.lists(st.sampled_from(names), max_size=5))]
    for index, each in enumerate(pods):
        each["metadata"]["uid"] = each["metadata"]["name"] = f"p{index}"
    return nodes, pods


def namespace_objects(labels: Mapping[str, Mapping[str, str]]) -> Objects:
    return [
        {"metadata": {"name": name, "uid": f"u-{name}", "labels": {**of}}, "spec": {}} for name, of in labels.items()
    ]


def neighbour(of: dict[str, Any]) -> Neighbour:
    """Return the row as it comes back from the database."""
    pod = msgspec.convert(of, Pod, strict=False)
    constraints = restored(stored(constraints_of(pod)))
    return Neighbour(
        pod.metadata.namespace,
        pod.metadata.labels or {},
        constraints,
        pod.metadata.deletion_timestamp is not None,
        preferred(stored(preferences_of(pod))),
    )
