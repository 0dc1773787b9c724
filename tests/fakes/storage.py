"""Claims, volumes, classes and drivers, so alike that they often concern each other, and what is known of them."""

from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from components.rows import T0
from fakes.places import Objects, node_term, optional
from ingest.model.records import ScheduledObjectRecord
from ingest.resources.table import SCHEDULED
from streams.analytics.scheduling.scheduled_objects import REDUCER
from streams.fold.findings import ScheduledObject

RESOURCES: Final = (
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses",
    "csinodes",
    "csidrivers",
    "volumeattachments",
)
DRIVERS: Final = ["disk.example.com", "file.example.com"]
CLAIMS: Final = ["a", "b", "p-scratch"]
VOLUMES: Final = ["v0", "v1", "v2"]
CLASSES: Final = ["fast", "slow", "local"]
zone_labels = optional(
    {
        "topology.kubernetes.io/zone": st.sampled_from(["a", "b", "a__b"]),
        "failure-domain.beta.kubernetes.io/zone": st.sampled_from(["a", "b"]),
        "topology.kubernetes.io/region": st.sampled_from(["r", "s"]),
    }
)
node_labels = optional(
    {
        "topology.kubernetes.io/zone": st.sampled_from(["a", "b"]),
        "failure-domain.beta.kubernetes.io/zone": st.sampled_from(["a", "b"]),
        "topology.kubernetes.io/region": st.sampled_from(["r", "s"]),
        "zone": st.sampled_from(["a", "b"]),
        "disk": st.sampled_from(["a", "7"]),
    }
)
sizes = st.sampled_from(["1Gi", "2Gi", "3G"])
access = st.sampled_from(
    [*[["ReadWriteOnce"]] * 4, ["ReadWriteMany"], ["ReadWriteOnce", "ReadWriteMany"], ["ReadWriteOncePod"]]
)
modes = optional({"volumeMode": st.sampled_from(["Filesystem"] * 5 + ["Block"])})


def rarely(draw: st.DrawFn) -> bool:
    return draw(st.integers(0, 24)) == 7


@st.composite
def claim(draw: st.DrawFn, name: str) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": "ns", "uid": f"u-{name}"}
    if name == "p-scratch":
        owner = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "new", "controller": True}
        metadata["ownerReferences"] = [] if rarely(draw) else [owner]
    spec = {
        "storageClassName": "none" if rarely(draw) else draw(st.sampled_from(CLASSES)),
        "accessModes": draw(access),
        "resources": {"requests": {"storage": draw(sizes)}},
        **draw(modes),
    }
    if draw(st.booleans()):
        spec["volumeName"] = "v9" if rarely(draw) else draw(st.sampled_from(VOLUMES))
        metadata["annotations"] = {} if rarely(draw) else {"pv.kubernetes.io/bind-completed": "yes"}
    elif not draw(st.integers(0, 3)):
        metadata["annotations"] = {"volume.kubernetes.io/selected-node": draw(st.sampled_from(["n0", "n1"]))}
    if not draw(st.integers(0, 3)):
        spec["selector"] = {"matchLabels": {"tier": "x"}}
    if rarely(draw):
        metadata["deletionTimestamp"] = "2026-07-01T12:00:00Z"
        metadata["finalizers"] = ["kubernetes.io/pvc-protection"]
    return {"metadata": metadata, "spec": spec, "status": {"phase": "Lost" if rarely(draw) else "Pending"}}


@st.composite
def volume(draw: st.DrawFn, name: str) -> dict[str, Any]:
    labels = {**draw(zone_labels), **draw(optional({"tier": st.sampled_from(["x", "y"])}))}
    spec: dict[str, Any] = {
        "storageClassName": draw(st.sampled_from(CLASSES)),
        "capacity": {"storage": draw(sizes)},
        "accessModes": draw(access),
        **draw(modes),
    }
    if draw(st.integers(0, 3)):
        spec["csi"] = {
            "driver": draw(st.sampled_from(DRIVERS)),
            "volumeHandle": draw(st.sampled_from([name, name, "h"])),
        }
    else:
        spec["nfs"] = {"server": "s", "path": "/"}
    if not draw(st.integers(0, 3)):
        of = draw(st.sampled_from(CLAIMS))
        spec["claimRef"] = {
            "namespace": "ns",
            "name": of,
            **draw(optional({"uid": st.sampled_from([f"u-{of}", "u"])})),
        }
    if draw(st.booleans()):
        terms = draw(st.lists(node_term, min_size=1, max_size=2))
        for term in terms:
            term.pop("matchFields", None)
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}
    phase = draw(st.sampled_from(["Available", "Available", "Released"]))
    return {
        "metadata": {"name": name, "uid": f"u-{name}", "labels": labels},
        "spec": spec,
        "status": {"phase": phase},
    }


@st.composite
def storage_class(draw: st.DrawFn, name: str) -> dict[str, Any]:
    static = "kubernetes.io/no-provisioner"
    made: dict[str, Any] = {
        "metadata": {"name": name, "uid": f"u-{name}"},
        "provisioner": static if name == "local" else draw(st.sampled_from(DRIVERS)),
        "volumeBindingMode": draw(st.sampled_from([*["WaitForFirstConsumer"] * 9, "Immediate"])),
    }
    expression = st.fixed_dictionaries(
        {"key": st.sampled_from(["zone", "disk"]), "values": st.lists(st.sampled_from(["a", "7"]), min_size=1)}
    )
    if not draw(st.integers(0, 2)):
        term = st.fixed_dictionaries({"matchLabelExpressions": st.lists(expression, max_size=2)})
        made["allowedTopologies"] = draw(st.lists(term, min_size=1, max_size=2))
    return made


@st.composite
def csi_node(draw: st.DrawFn, name: str) -> dict[str, Any]:
    drivers = [
        {"name": driver, "nodeID": name, **draw(optional({"allocatable": optional({"count": st.integers(0, 2)})}))}
        for driver in draw(st.lists(st.sampled_from(DRIVERS), unique=True))
    ]
    return {"metadata": {"name": name, "uid": f"u-{name}"}, "spec": {"drivers": drivers}}


@st.composite
def attachment(draw: st.DrawFn, index: int) -> dict[str, Any]:
    spec = {
        "attacher": draw(st.sampled_from(DRIVERS)),
        "nodeName": draw(st.sampled_from(["n0", "n1"])),
        "source": {"persistentVolumeName": draw(st.sampled_from([*VOLUMES, "v9"]))},
    }
    return {"metadata": {"name": f"a{index}", "uid": f"u-a{index}"}, "spec": spec}


def some(names: list[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), unique=True)


pod_volumes = st.lists(st.sampled_from(["a", "b", "p-scratch", "none"]), unique=True, min_size=1, max_size=3).map(
    lambda names: [
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}
        if name == "p-scratch"
        else {"name": name, "emptyDir": {}}
        if name == "none"
        else {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for name in names
    ]
)


@st.composite
def storages(draw: st.DrawFn) -> dict[str, Any]:
    """Nodes, pods on them, a pod, and objects by their resource."""
    nodes = [{"metadata": {"name": f"n{index}", "labels": draw(node_labels)}} for index in range(2)]
    pods: Objects = []
    for index, claims in enumerate(draw(st.lists(some(["a", "b", "c"]), max_size=2))):
        volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
        metadata = {"name": f"o{index}", "namespace": "ns", "uid": f"o{index}"}
        spec = {"nodeName": draw(st.sampled_from(["n0", "n1"])), "volumes": volumes, "containers": [{"name": "c"}]}
        pods.append({"metadata": metadata, "spec": spec})
    asked = {
        "metadata": {"name": "p", "namespace": "ns", "uid": "new"},
        "spec": {"volumes": draw(pod_volumes), "containers": [{"name": "c"}]},
    }
    names = {name for name in ["a", "b", "c", "p-scratch"] if not rarely(draw)}
    return {
        "nodes": nodes,
        "pods": pods,
        "pod": asked,
        "persistentvolumeclaims": [draw(claim(name)) for name in sorted(names)],
        "persistentvolumes": [draw(volume(name)) for name in VOLUMES if not rarely(draw)],
        "storageclasses": [draw(storage_class(name)) for name in CLASSES if not rarely(draw)],
        "csinodes": [draw(csi_node(name)) for name in draw(some(["n0", "n1"]))],
        "csidrivers": [
            {
                "metadata": {"name": name, "uid": f"u-{name}"},
                "spec": draw(optional({"storageCapacity": st.booleans()})),
            }
            for name in draw(some(DRIVERS))
        ],
        "volumeattachments": [draw(attachment(index)) for index in range(draw(st.integers(0, 2)))],
    }


def rows(objects: dict[str, Any], cluster: str = "c") -> list[ScheduledObject]:
    """Return the rows that the pipeline makes, by their resource."""
    made = []
    for resource in sorted(SCHEDULED & objects.keys()):
        for each in objects[resource]:
            metadata = each["metadata"]
            record = ScheduledObjectRecord(
                ts=T0,
                cluster=cluster,
                resource=resource,
                change="ADDED",
                namespace=metadata.get("namespace", ""),
                name=metadata["name"],
                uid=metadata["uid"],
                object=msgspec.json.encode(each).decode(),
            )
            (row,) = REDUCER.step(REDUCER.state(), record)[1]
            assert isinstance(row, ScheduledObject)
            made.append(row)
    return made
