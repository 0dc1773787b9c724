"""Our order of eviction against the kubelet's own comparators (rules: eviction-order)."""

from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from ingest.model.records import SummaryRecord
from ingest.model.summary import Summary
from ingest.resources.stats_summary import node_sample, pod_columns
from oracle.programs import Oracles
from streams.analytics.eviction.prediction import ranked_pods, sample_of, specs_of
from streams.rules.eviction.order import rank
from streams.rules.eviction.signals import SIGNALS, Layout

Objects: TypeAlias = list[dict[str, Any]]

NOW: Final = datetime(2026, 11, 22, tzinfo=UTC)
LAYOUTS: Final = {Layout.SINGLE: (False, False), Layout.SEPARATE_IMAGEFS: (True, False), Layout.SPLIT: (True, True)}
FEW: Final = st.sampled_from([0, 1, 2, 3, 1000, 1 << 20, 1 << 40])
"""So few that pods often compare equal but for one number."""
KINDS: Final[dict[str, Any]] = {
    "hostPath": {"path": "/x"},
    "emptyDir": {},
    "configMap": {"name": "c"},
    "secret": {"secretName": "s"},
    "projected": {"sources": []},
    "downwardAPI": {},
    "gitRepo": {"repository": "r"},
    "persistentVolumeClaim": {"claimName": "d"},
}


def optional(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


amounts = optional({"memory": FEW.map(str), "ephemeral-storage": FEW.map(str), "cpu": FEW.map(str)})
containers = st.fixed_dictionaries({"resources": st.fixed_dictionaries({"requests": amounts})})
sidecars = st.fixed_dictionaries(
    {"resources": st.fixed_dictionaries({"requests": amounts})}, optional={"restartPolicy": st.just("Always")}
)
own_requests = (
    optional({"memory": FEW.map(str), "cpu": FEW.map(str)}).filter(bool).map(lambda requests: {"requests": requests})
)
usage = optional({"usedBytes": FEW, "inodesUsed": FEW})


@st.composite
def volumes(draw: st.DrawFn) -> tuple[Objects, Objects]:
    """In a pod's spec and in its statistics; each may lack some that the other has."""
    specs: Objects = []
    measured: Objects = []
    for name in draw(st.lists(st.sampled_from(["v", "w", "x-1", "y"]), unique=True, max_size=3)):
        kind = draw(st.sampled_from(sorted(KINDS)))
        source = {"medium": "Memory"} if kind == "emptyDir" and draw(st.booleans()) else KINDS[kind]
        claim = {"pvcRef": {"name": "d", "namespace": "ns"}} if kind == "persistentVolumeClaim" else {}
        if draw(st.integers(0, 5)):
            specs.append({"name": name, kind: source})
        if draw(st.integers(0, 5)):
            measured.append({"name": name, **claim, **draw(usage)})
    return specs, measured


@st.composite
def allocations(draw: st.DrawFn, spec: dict[str, Any]) -> dict[str, Any]:
    """Names the containers, and what the kubelet allocated to some of them and to the pod."""
    status: dict[str, Any] = {}
    for kind, letter in (("containers", "c"), ("initContainers", "i")):
        statuses = status[f"{kind[:-1]}Statuses"] = []
        for number, container in enumerate(spec.get(kind, [])):
            container["name"] = f"{letter}{number}"
            # What is empty is left out by the API server; only sidecars are resized while others start.
            resized = kind == "containers" or "restartPolicy" in container
            if resized and (given := draw(amounts)):
                statuses.append({"name": container["name"], "allocatedResources": given})
    if "resources" in spec and draw(st.booleans()):
        status["allocatedResources"] = {name: str(draw(FEW)) for name in spec["resources"]["requests"]}
    return status


@st.composite
def pods(draw: st.DrawFn) -> tuple[Objects, Objects]:
    """Pods as the API has them, and the statistics of most of them."""
    specs: Objects = []
    measured: Objects = []
    for number in range(draw(st.integers(1, 6))):
        of_spec, of_stats = draw(volumes())
        reference = {"name": f"p{number}", "namespace": "ns", "uid": f"uid-{number}"}
        spec: dict[str, Any] = draw(
            st.fixed_dictionaries(
                {"containers": st.lists(containers, min_size=1, max_size=2), "volumes": st.just(of_spec)},
                optional={
                    "initContainers": st.lists(sidecars, max_size=2),
                    "overhead": amounts,
                    "resources": own_requests,
                    "priority": st.sampled_from([-1, 0, 1000]),
                },
            )
        )
        specs.append({"metadata": reference, "spec": spec, "status": draw(allocations(spec))})
        if draw(st.integers(0, 5)):
            of_containers = st.lists(st.fixed_dictionaries({"rootfs": usage, "logs": usage}), max_size=2)
            parts = optional(
                {
                    "memory": optional({"workingSetBytes": FEW}),
                    "containers": of_containers.map(lambda each: [{"name": str(i), **c} for i, c in enumerate(each)]),
                    "process_stats": optional({"process_count": FEW}),
                }
            )
            measured.append({"podRef": reference, "volume": of_stats, **draw(parts)})
    return specs, measured


def ours(signal: str, layout: Layout, specs: Objects, measured: Objects, answer: list[str]) -> list[str]:
    """Our order; of pods that compare equal the kubelet may take any first, so here the one that it did."""
    known = {each.metadata.uid: specs_of(each) for each in msgspec.convert(specs, list[Pod])}
    summary = msgspec.convert({"node": {"nodeName": "n"}, "pods": measured}, Summary)
    record = SummaryRecord(
        ts=NOW, cluster="c", node="n", sample=node_sample(summary.node), pods=pod_columns(summary.pods or [])
    )
    ranked = [
        pod._replace(namespace=f"{answer.index(pod.name):03}")
        for pod in ranked_pods(sample_of(record.folded(), known))
    ]
    return [ranked[place].name for place in rank(signal, layout, ranked, "v1.36.3")]


@settings(settings.get_profile("oracle"))
@given(st.sampled_from(SIGNALS), st.sampled_from(list(LAYOUTS)), pods())
def test_the_order_of_eviction_is_the_kubelets(
    kubernetes: Oracles, signal: str, layout: Layout, case: tuple[Objects, Objects]
) -> None:
    specs, measured = case
    with_imagefs, is_split = LAYOUTS[layout]
    question = {"signal": signal, "imageFs": with_imagefs, "split": is_split, "pods": specs, "stats": measured}
    answer = kubernetes.ask("eviction_order", question)
    assert ours(signal, layout, specs, measured, answer) == answer
