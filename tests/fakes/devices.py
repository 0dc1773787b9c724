"""Claims of devices, classes and slices, so alike that they often concern each other."""

from typing import Any, Final

from hypothesis import strategies as st

from fakes.places import Objects, optional
from fakes.storage import rarely, some

DEVICES: Final = ("resourceclaims", "deviceclasses", "resourceslices")
GPU: Final = "gpu.example.com"
NIC: Final = "nic.example.com"
OF_GPU: Final = f'device.driver == "{GPU}"'
OF_NIC: Final = f" device.driver=='{NIC}' "
UNDECIDED: Final = [
    f"{OF_GPU} && device.driver.endsWith('com')",
    f"{OF_GPU} && device.driver.endsWith('none')",
    f"{OF_GPU} && false || {OF_NIC}",
    f'device.driver != "{NIC}"',
    f'{OF_GPU} ? false : device.driver == "{NIC}"',
]
expressions = st.sampled_from([OF_GPU] * 4 + [OF_NIC] * 2 + UNDECIDED)
selectors = st.lists(expressions.map(lambda text: {"cel": {"expression": text}}), max_size=2)
node_labels = optional({"zone": st.sampled_from(["a", "b"])})
IN_A: Final = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
ON_1: Final = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
node_selectors = st.sampled_from([{"nodeSelectorTerms": [IN_A]}, {"nodeSelectorTerms": [ON_1]}])
alone = st.fixed_dictionaries({"nodeSelector": node_selectors})
odd: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [
        {"taints": [{"key": "t", "effect": "NoSchedule"}]},
        {"allowMultipleAllocations": True},
        {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]},
    ]
)


@st.composite
def request(draw: st.DrawFn, index: int) -> dict[str, Any]:
    exact = {
        "deviceClassName": "none" if rarely(draw) else draw(st.sampled_from(["gpu", "gpu", "nic", "any"])),
        "selectors": [] if draw(st.integers(0, 3)) else draw(selectors),
        "allocationMode": "ExactCount",
        "count": draw(st.integers(1, 2)),
    }
    if rarely(draw):
        return {"name": f"r{index}", "firstAvailable": [{"name": "s", **exact}]}
    if not draw(st.integers(0, 9)):
        exact |= {"allocationMode": "All", "count": 0}
    return {"name": f"r{index}", "exactly": {**exact, **({"adminAccess": True} if rarely(draw) else {})}}


@st.composite
def results(draw: st.DrawFn) -> Objects:
    where = st.sampled_from([(GPU, "n0"), (GPU, "n1"), (NIC, "nics")])
    held = draw(st.lists(st.tuples(where, st.sampled_from(["d0", "d1"])), max_size=2, unique=True))
    more = optional({"adminAccess": st.just(True), "shareID": st.just("9d5a7b2c")})
    return [
        {"request": "r0", "driver": driver, "pool": pool, "device": device, **(draw(more) if rarely(draw) else {})}
        for (driver, pool), device in held
    ]


@st.composite
def claim(draw: st.DrawFn, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    if name == "p-made":
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "new", "controller": True}
        metadata["ownerReferences"] = [] if rarely(draw) else [owner]
    if rarely(draw):
        metadata["deletionTimestamp"] = "2026-07-01T12:00:00Z"
        metadata["finalizers"] = ["resource.kubernetes.io/delete-protection"]
    wanted: dict[str, Any] = {"requests": [draw(request(index)) for index in range(draw(st.integers(1, 2)))]}
    if rarely(draw):
        wanted["constraints"] = [{"matchAttribute": f"{GPU}/model"}]
    status: dict[str, Any] = {}
    if name not in {"a", "p-made"} or not draw(st.integers(0, 2)):
        found = draw(results())
        if found and rarely(draw):
            found[0] |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["failed"]}
        status["allocation"] = {"devices": {"results": found}, **(draw(alone) if draw(st.booleans()) else {})}
    return {"metadata": metadata, "spec": {"devices": wanted}, "status": status}


@st.composite
def resource_slice(
    draw: st.DrawFn, driver: str, pool: str, where: dict[str, Any], index: int = 0, of: int = 1
) -> dict[str, Any]:
    devices = [
        {"name": f"d{number + 3 * index}", **(draw(odd) if rarely(draw) else {})}
        for number in range(draw(st.integers(1, 3)))
    ]
    if where.get("perDeviceNodeSelection"):
        devices = [{**each, "nodeName": draw(st.sampled_from(["n0", "n1"]))} for each in devices]
    counted = {
        "name": pool,
        "generation": 2 if rarely(draw) else 1,
        "resourceSliceCount": 3 if rarely(draw) else of,
    }
    name = f"{driver}-{pool}-{index}"
    return {
        "metadata": {"name": name, "uid": f"u-{name}"},
        "spec": {"driver": driver, "pool": counted, "devices": devices, **where},
    }


anywhere: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{"allNodes": True}, {"nodeSelector": {"nodeSelectorTerms": [IN_A]}}, {"perDeviceNodeSelection": True}]
)
names = st.sampled_from(
    [["a"], ["p-made"], ["b"], ["a", "b"], ["p-made", "b"], ["a", "p-made", "needless"], ["unmade"]]
)


@st.composite
def device_clusters(draw: st.DrawFn) -> dict[str, Any]:
    """Nodes, a pod, and objects by their resource."""
    nodes = [{"metadata": {"name": f"n{index}", "labels": draw(node_labels)}} for index in range(2)]
    named = [
        {"name": name, "resourceClaimTemplateName": "t"}
        if name in {"p-made", "unmade", "needless"}
        else {"name": name, "resourceClaimName": name}
        for name in draw(names)
    ]
    made = [{"name": "p-made", "resourceClaimName": "p-made"}, {"name": "needless"}]
    slices = [draw(resource_slice(GPU, node, {"nodeName": node})) for node in draw(some(["n0", "n1"]))]
    shared = draw(st.integers(0, 2))
    slices += [draw(resource_slice(NIC, "nics", draw(anywhere), index, shared)) for index in range(shared)]
    classes = {
        "gpu": [{"cel": {"expression": OF_GPU}}],
        "nic": [{"cel": {"expression": OF_NIC}}],
        "any": draw(selectors),
    }
    return {
        "nodes": nodes,
        "pods": [],
        "pod": {
            "metadata": {"name": "p", "namespace": "ns", "uid": "new"},
            "spec": {"resourceClaims": named, "containers": [{"name": "c"}]},
            "status": {"resourceClaimStatuses": made},
        },
        "resourceclaims": [draw(claim(name)) for name in ["a", "b", "c", "p-made"] if not rarely(draw)],
        "deviceclasses": [
            {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": {"selectors": chosen}}
            for name, chosen in classes.items()
        ],
        "resourceslices": slices,
    }
