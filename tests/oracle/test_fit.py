"""Our judgement of what a node lacks against the scheduler's plugin NodeResourcesFit (rules: scheduler-fit,
pod-requests).
"""

from collections import Counter
from typing import Any, Final

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from oracle.programs import Oracles
from oracle.test_eviction_order import Objects, optional
from streams.rules.pods.requests import effective_requests
from streams.rules.scheduling.filters import shortages
from streams.rules.values.quantity import in_base_units

MINOR: Final = 36
CPU: Final = st.sampled_from(["0", "1m", "100m", "0.5", "1", "1500m", "2", "8", "0.0001", "1n", "1e-2", "3k"])
BYTES: Final = st.sampled_from(["0", "1", "1k", "1Ki", "100Mi", "1536Mi", "2G", "1e9", "1500m", "8Gi", "0.1"])
COUNT: Final = st.sampled_from(["0", "1", "2", "3"])
RESOURCES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "cpu": CPU,
    "memory": BYTES,
    "ephemeral-storage": BYTES,
    "hugepages-2Mi": st.sampled_from(["0", "2Mi", "4Mi"]),
    "example.com/gpu": COUNT,
}

amounts = optional(RESOURCES)
of_pods = optional({name: RESOURCES[name] for name in ("cpu", "memory", "hugepages-2Mi")})
resources = amounts.map(lambda requests: {"requests": requests})
sidecar = optional({"restartPolicy": st.just("Always")})


@st.composite
def named(draw: st.DrawFn, names: str, parts: st.SearchStrategy[dict[str, Any]], least: int = 0) -> Objects:
    """Objects, each with a name of its own out of these letters."""
    found = draw(st.lists(st.sampled_from(names), unique=True, min_size=least))
    return [{"name": name, **draw(parts)} for name in found]


containers = resources.map(lambda each: {"resources": each})
init_containers = st.tuples(containers, sidecar).map(lambda parts: {**parts[0], **parts[1]})
specs = st.fixed_dictionaries(
    {"containers": named("ab", containers, least=1)},
    optional={
        "initContainers": named("ij", init_containers),
        "overhead": optional({"cpu": CPU, "memory": BYTES}),
        "resources": of_pods.map(lambda requests: {"requests": requests}),
    },
)
asked_for = amounts.filter(bool)  # an API server leaves out what is empty
of_container = optional({"allocatedResources": asked_for, "resources": resources})
own_status = optional(
    {"allocatedResources": of_pods.filter(bool), "resources": of_pods.map(lambda requests: {"requests": requests})}
)
resizes = st.sampled_from(["", "Deferred", "Infeasible"])


@st.composite
def running(draw: st.DrawFn) -> dict[str, Any]:
    """A pod on the node, which may be being resized."""
    status: dict[str, Any] = {"phase": "Running", **draw(own_status)}
    status["containerStatuses"] = draw(named("ab", of_container))
    status["initContainerStatuses"] = draw(named("ij", of_container))
    if reason := draw(resizes):
        status["conditions"] = [{"type": "PodResizePending", "status": "True", "reason": reason}]
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": draw(specs), "status": status}


nodes = st.fixed_dictionaries({}, optional={**RESOURCES, "pods": st.sampled_from(["0", "1", "2", "110"])})


@settings(settings.get_profile("oracle"))
@given(nodes, st.lists(running(), max_size=3), specs)
def test_what_a_node_lacks_is_what_the_scheduler_finds(
    kubernetes: Oracles, allocatable: dict[str, str], pods: list[dict[str, Any]], spec: dict[str, Any]
) -> None:
    pod = {"metadata": {"name": "new", "namespace": "ns"}, "spec": spec, "status": {}}
    node = {"metadata": {"name": "n"}, "status": {"allocatable": allocatable}}
    answer = kubernetes.ask("fit", {"node": node, "pods": pods, "pod": pod})
    wanted = effective_requests(msgspec.convert(pod, Pod))
    used = Counter[str]()
    for each in msgspec.convert(pods, list[Pod]):
        used.update(effective_requests(each))
    room = in_base_units(allocatable)
    found = shortages(wanted, room, used, len(pods), room.get("pods", 0), MINOR)
    reasons = [each.reason for each in found]
    assert sorted(reasons) == sorted(each["reason"] for each in answer)
    for each in answer:
        name = each["resource"]
        ours = (1, len(pods)) if name == "pods" else (wanted[name], used[name])
        assert (*ours, room.get(name, 0)) == (each["requested"], each["used"], each["capacity"]), name
