"""A kubelet that admits a pod bound by name: what a scheduler would have kept from it comes to its own checks."""

from typing import Final

from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.fit import Judgement, _kubelets


def kubelet_judgement(node: NodeState, pod: PodRequest) -> Judgement:
    """The kubelet's answers to a pod that no scheduler placed. NUMA comes first, then the node's resources.

    Kubernetes: pkg/kubelet/allocation/allocation_manager.go, pkg/kubelet/lifecycle/predicate.go.
    """
    judgement = _kubelets(node, pod)[0]
    if judgement.verdict in {"refused_by_kubelet", "not_exclusive"}:
        return judgement
    free = {name: amount - node.requested.get(name, 0) for name, amount in node.allocatable.items()}
    asked = {"pods": 1, **{name: size for name, size in pod.requests.items() if name in free}}
    used = {**node.requested, "pods": node.pods}
    for name in sorted(asked, key=lambda name: (_CHECKED.index(name) if name in _CHECKED else len(_CHECKED), name)):
        if 0 < asked[name] > free[name] - (node.pods if name == "pods" else 0):
            text = (
                f"Node didn't have enough resource: {name}, requested: {asked[name]}, used: {used.get(name, 0)}, "
                f"capacity: {node.allocatable[name]}"
            )
            return Judgement("refused_by_kubelet", (f"OutOf{name}: {text}",))
    return judgement


_CHECKED: Final = ("pods", "cpu", "memory", "ephemeral-storage")
