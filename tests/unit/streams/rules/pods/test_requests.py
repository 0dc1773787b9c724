"""Effective requests and limits, pinned CPUs, ranking, critical pods (rules: pod-requests, exclusive-cpus,
eviction-order, eviction-loop).
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.model.objects.pod import Pod
from streams.rules.pods.requests import (
    added_by_scores,
    cpu_limit,
    effective_limits,
    effective_requests,
    eviction_requests,
    exclusive_cpus,
    is_critical,
    memory_limit,
)
from streams.rules.values.quantity import InvalidQuantity

MI = 2**20


def pod_of(spec: dict[str, Any], status: dict[str, Any] | None = None, **metadata: Any) -> Pod:
    return msgspec.convert({"metadata": {"name": "p", **metadata}, "spec": spec, "status": status or {}}, Pod)


def container(name: str = "c", **requests: str) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": requests}}


def sidecar(name: str = "s", **requests: str) -> dict[str, Any]:
    return {**container(name, **requests), "restartPolicy": "Always"}


def whole(name: str, cpu: str, memory: str = "1Gi") -> dict[str, Any]:
    both = {"cpu": cpu, "memory": memory}
    return {"name": name, "resources": {"requests": both, "limits": both}}


def test_containers_add_up_in_millicores_and_base_units() -> None:
    pod = pod_of(
        {
            "containers": [
                container("a", cpu="100m", memory="1Mi"),
                container("b", cpu="1", **{"ephemeral-storage": "1Ki", "example.com/gpu": "2"}),
            ]
        }
    )
    assert effective_requests(pod) == {"cpu": 1100, "memory": MI, "ephemeral-storage": 1024, "example.com/gpu": 2}


def test_the_sum_is_rounded_up_once() -> None:
    pod = pod_of({"containers": [container("a", cpu="400u"), container("b", cpu="500u")]})
    assert effective_requests(pod) == {"cpu": 1}


def test_a_pod_without_requests_has_none() -> None:
    assert effective_requests(pod_of({"containers": [{"name": "c"}]})) == {}
    assert effective_limits(pod_of({"containers": [{"name": "c", "resources": {}}]})) == {}


def test_a_missing_request_is_the_limit() -> None:
    resources = {"limits": {"cpu": "2", "memory": "2Mi"}, "requests": {"cpu": "0"}}
    pod = pod_of({"containers": [{"name": "c", "resources": resources}]})
    assert effective_requests(pod) == {"cpu": 0, "memory": 2 * MI}


def test_an_init_container_counts_only_if_it_needs_more_than_all_containers() -> None:
    spec = {
        "initContainers": [container("i", cpu="3", memory="1Mi"), container("j", cpu="2")],
        "containers": [container("a", cpu="1", memory="2Mi"), container("b", cpu="1", memory="2Mi")],
    }
    assert effective_requests(pod_of(spec)) == {"cpu": 3000, "memory": 4 * MI}


def test_a_sidecar_runs_beside_containers_and_later_init_containers_only() -> None:
    spec = {"containers": [container("a", cpu="1")]}
    before = {**spec, "initContainers": [sidecar(cpu="1"), container("i", cpu="4")]}
    after = {**spec, "initContainers": [container("i", cpu="4"), sidecar(cpu="1")]}
    assert effective_requests(pod_of(before)) == {"cpu": 5000}
    assert effective_requests(pod_of(after)) == {"cpu": 4000}
    assert effective_requests(pod_of({**spec, "initContainers": [sidecar(cpu="1")]})) == {"cpu": 2000}


def test_pod_level_values_replace_only_cpu_memory_and_huge_pages() -> None:
    spec = {
        "containers": [container(cpu="1", memory="1Mi", **{"hugepages-2Mi": "2Mi", "ephemeral-storage": "1Ki"})],
        "resources": {
            "requests": {"cpu": "500m", "hugepages-2Mi": "4Mi", "ephemeral-storage": "9Ki"},
        },
    }
    assert effective_requests(pod_of(spec)) == {
        "cpu": 500,
        "memory": MI,
        "hugepages-2Mi": 4 * MI,
        "ephemeral-storage": 1024,
    }


def test_a_pod_level_limit_is_the_request_where_no_container_has_one() -> None:
    spec = {
        "containers": [container(cpu="1")],
        "resources": {"limits": {"cpu": "4", "memory": "4Mi"}},
    }
    assert effective_requests(pod_of(spec)) == {"cpu": 1000, "memory": 4 * MI}


def test_overhead_is_added_to_requests_and_to_existing_limits() -> None:
    spec = {
        "containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "0"}}}],
        "overhead": {"cpu": "250m", "memory": "10Mi"},
    }
    assert effective_requests(pod_of(spec)) == {"cpu": 1250, "memory": 10 * MI}
    assert effective_limits(pod_of(spec)) == {"cpu": 2250, "memory": 0}


def test_the_ranking_adds_overhead_only_to_a_request_that_is_not_zero() -> None:
    """A pod that asks for no memory exceeds its request with its first byte (rules: eviction-order)."""
    overhead = {"memory": "10Mi", "cpu": "250m"}
    assert eviction_requests(pod_of({"containers": [container(memory="1Mi")], "overhead": overhead})) == {
        "memory": 11 * MI
    }
    assert eviction_requests(pod_of({"containers": [container(cpu="1", memory="0")], "overhead": overhead})) == {
        "cpu": 1250,
        "memory": 0,
    }


def resizing(spec_cpu: str, status: dict[str, Any], *, condition: dict[str, str] | None = None) -> Pod:
    conditions = [{"type": "PodResizePending", "status": "True", **condition}] if condition else []
    return pod_of(
        {"containers": [container(cpu=spec_cpu)]},
        {"containerStatuses": [{"name": "c", **status}], "conditions": conditions},
    )


@pytest.mark.parametrize(
    ("spec", "allocated", "actual", "expected"),
    [("3", "2", "1", 3000), ("1", "2", "1", 2000), ("1", "1", "3", 3000), ("1", "1", "1", 1000)],
)
def test_during_a_resize_the_largest_of_desired_allocated_and_actual_counts(
    spec: str, allocated: str, actual: str, expected: int
) -> None:
    status = {"allocatedResources": {"cpu": allocated}, "resources": {"requests": {"cpu": actual}}}
    assert effective_requests(resizing(spec, status)) == {"cpu": expected}


def test_a_resize_that_is_infeasible_does_not_count_and_a_deferred_one_does() -> None:
    status = {"allocatedResources": {"cpu": "2"}, "resources": {"requests": {"cpu": "1"}}}
    assert effective_requests(resizing("64", status, condition={"reason": "Infeasible"})) == {"cpu": 2000}
    assert effective_requests(resizing("64", status, condition={"reason": "Deferred"})) == {"cpu": 64000}


def test_an_infeasible_resize_of_the_alpha_field_does_not_count() -> None:
    status = {"containerStatuses": [{"name": "c", "allocatedResources": {"cpu": "700m"}, "resources": {}}]}
    for field, expected in (("Infeasible", 700), ("Deferred", 6000), ("", 6000)):
        pod = pod_of({"containers": [container(cpu="6")]}, status | {"resize": field})
        assert effective_requests(pod) == {"cpu": expected}, field


def test_an_infeasible_resize_without_a_status_leaves_the_spec() -> None:
    assert effective_requests(resizing("2", {}, condition={"reason": "Infeasible"})) == {"cpu": 2000}


def test_limits_follow_a_resize_too() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Mi"}}
    status = {"containerStatuses": [{"name": "c", "resources": {"limits": {"cpu": "3", "memory": "1Mi"}}}]}
    pod = pod_of({"containers": [{"name": "c", "resources": resources}]}, status)
    assert effective_limits(pod) == {"cpu": 3000, "memory": MI}


def test_a_sidecar_is_resized_by_its_own_status_and_other_init_containers_are_not() -> None:
    status = {"name": "s", "allocatedResources": {"cpu": "2"}, "resources": {}}
    spec = {"containers": [container(cpu="1")], "initContainers": [sidecar(cpu="1")]}
    assert effective_requests(pod_of(spec, {"initContainerStatuses": [status]})) == {"cpu": 3000}
    starting = {**spec, "initContainers": [container("s", cpu="1")]}
    assert effective_requests(pod_of(starting, {"initContainerStatuses": [status]})) == {"cpu": 1000}


def test_allocated_resources_count_only_with_actual_ones() -> None:
    """Kubernetes: `cs.Resources != nil` in k8s.io/component-helpers/resource."""
    assert effective_requests(resizing("1", {"allocatedResources": {"cpu": "2"}})) == {"cpu": 1000}
    assert effective_requests(resizing("1", {"allocatedResources": {"cpu": "2"}, "resources": {}})) == {"cpu": 2000}


def test_a_pod_level_resize_counts_with_its_largest_amount() -> None:
    spec = {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "2"}}}
    status = {"allocatedResources": {"cpu": "3"}, "resources": {"requests": {"cpu": "1"}}}
    assert effective_requests(pod_of(spec, status)) == {"cpu": 3000}
    assert effective_requests(pod_of(spec, {"allocatedResources": {"cpu": "3"}})) == {"cpu": 2000}
    infeasible = {**status, "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}
    larger = {**spec, "resources": {"requests": {"cpu": "64"}}}
    assert effective_requests(pod_of(larger, infeasible)) == {"cpu": 3000}


def test_the_ranking_compares_with_allocated_requests() -> None:
    """The kubelet ranks pods as it allocated them (pkg/kubelet/kubelet_pods.go, getAllocatedPods)."""
    spec = {"containers": [container(memory="4Mi")]}
    status = {"name": "c", "allocatedResources": {"memory": "1Mi"}, "resources": {"requests": {"memory": "2Mi"}}}
    assert eviction_requests(pod_of(spec, {"containerStatuses": [status]})) == {"memory": MI}


def test_the_ranking_uses_only_the_requests_of_pod_level_resources() -> None:
    """Kubernetes: SkipContainerLevelResources in pkg/api/v1/resource, defaultPodRequests in pkg/apis/core/v1."""
    containers = [container(memory="1Mi", cpu="1", **{"ephemeral-storage": "1Gi"})]
    asked = {"containers": containers, "resources": {"requests": {"memory": "3Mi"}}}
    assert eviction_requests(pod_of(asked)) == {"memory": 3 * MI}
    limited = {"containers": containers, "resources": {"limits": {"memory": "4Mi"}}}
    assert eviction_requests(pod_of(limited)) == {"memory": MI, "cpu": 1000}


def test_a_pod_has_a_limit_only_where_every_container_has_one() -> None:
    limited = {"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Mi"}}}
    only_cpu = {"name": "b", "resources": {"limits": {"cpu": "500m"}}}
    pod = pod_of({"containers": [limited, only_cpu]})
    assert cpu_limit(pod) == 1500
    assert memory_limit(pod) is None
    assert effective_limits(pod) == {"cpu": 1500, "memory": MI}


def test_an_init_container_without_a_limit_leaves_the_pod_without() -> None:
    limited = {"name": "a", "resources": {"limits": {"cpu": "1", "memory": "1Mi"}}}
    pod = pod_of({"containers": [limited], "initContainers": [{"name": "i"}]})
    assert cpu_limit(pod) is None
    assert memory_limit(pod) is None


def test_a_limit_of_zero_is_no_limit() -> None:
    pod = pod_of({"containers": [{"name": "a", "resources": {"limits": {"cpu": "0"}}}]})
    assert cpu_limit(pod) is None


def test_a_pod_level_limit_holds_regardless_of_its_containers() -> None:
    spec = {"containers": [{"name": "a"}], "resources": {"limits": {"memory": "3Mi"}}}
    assert memory_limit(pod_of(spec)) == 3 * MI
    assert cpu_limit(pod_of(spec)) is None


def test_only_whole_cpus_of_a_guaranteed_pod_are_exclusive() -> None:
    mixed = {"containers": [whole("a", "2"), whole("b", "1500m"), whole("c", "1000m")]}
    assert exclusive_cpus(pod_of(mixed)) == 3
    assert exclusive_cpus(pod_of({"containers": [container(cpu="2", memory="1Gi")]})) == 0


def test_used_cpus_of_an_init_container_count_once() -> None:
    containers = {"containers": [whole("a", "2"), whole("b", "2")]}
    assert exclusive_cpus(pod_of({**containers, "initContainers": [whole("i", "3")]})) == 4
    assert exclusive_cpus(pod_of({**containers, "initContainers": [whole("i", "8")]})) == 8


def test_cpus_of_a_sidecar_are_not_taken_over() -> None:
    side = {**whole("s", "1"), "restartPolicy": "Always"}
    assert exclusive_cpus(pod_of({"containers": [whole("a", "2")], "initContainers": [side]})) == 3
    assert exclusive_cpus(pod_of({"containers": [whole("a", "2")], "initContainers": [side, whole("i", "4")]})) == 5


def test_exclusive_cpus_are_those_that_the_kubelet_allocated() -> None:
    status = {"containerStatuses": [{"name": "a", "allocatedResources": {"cpu": "2", "memory": "1Gi"}}]}
    assert exclusive_cpus(pod_of({"containers": [whole("a", "4")]}, status)) == 2


def test_a_pod_with_pod_level_resources_is_not_pinned() -> None:
    own = {"cpu": "2", "memory": "2Gi"}
    spec = {"containers": [whole("a", "2")], "resources": {"requests": own, "limits": own}}
    assert exclusive_cpus(pod_of(spec)) == 0


@pytest.mark.parametrize(
    ("priority", "critical"), [(None, False), (0, False), (1_999_999_999, False), (2_000_000_000, True)]
)
def test_a_system_priority_is_critical(priority: int | None, critical: bool) -> None:
    assert is_critical(pod_of({"containers": [], "priority": priority})) is critical


@pytest.mark.parametrize(
    ("annotations", "critical"),
    [
        ({"kubernetes.io/config.source": "api"}, False),
        ({"kubernetes.io/config.source": "file"}, True),
        ({"kubernetes.io/config.source": "http"}, True),
        ({"kubernetes.io/config.mirror": "b6f2e9"}, True),
        ({"example.com/other": "file"}, False),
    ],
)
def test_static_and_mirror_pods_are_critical(annotations: dict[str, str], critical: bool) -> None:
    assert is_critical(pod_of({"containers": []}, annotations=annotations)) is critical


def test_a_broken_quantity_is_an_error_that_names_it() -> None:
    with pytest.raises(InvalidQuantity, match="'lots'"):
        effective_requests(pod_of({"containers": [container(cpu="lots")]}))


def test_absurd_amounts_stay_within_64_bits() -> None:
    pod = pod_of({"containers": [container("a", memory="1e100"), container("b", memory="8Ei")]})
    assert effective_requests(pod) == {"memory": 2**63 - 1}


amounts = st.integers(0, 9)
inits = st.lists(st.tuples(st.booleans(), amounts), max_size=6)


@given(st.lists(amounts, max_size=4), inits)
def test_requests_are_the_peak_of_the_pods_life(
    containers: list[int], init_containers: list[tuple[bool, int]]
) -> None:
    """An independent model: walk through the pod's life and note what runs at each moment."""
    moments = [
        cpus + sum(earlier for stays, earlier in init_containers[:number] if stays)
        for number, (_, cpus) in enumerate(init_containers)
    ]
    moments.append(sum(containers) + sum(cpus for stays, cpus in init_containers if stays))
    pod = pod_of(
        {
            "containers": [container(f"c{number}", cpu=str(cpus)) for number, cpus in enumerate(containers)],
            "initContainers": [
                (sidecar if stays else container)(f"i{number}", cpu=str(cpus))
                for number, (stays, cpus) in enumerate(init_containers)
            ],
        }
    )
    assert effective_requests(pod).get("cpu", 0) == 1000 * max(moments)


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.lists(st.integers(1, 9), max_size=4))
def test_exclusive_cpus_are_the_union_after_reuse(containers: list[int], init_containers: list[int]) -> None:
    """An independent model: hand out CPU ids, and first those that an ended init container left behind."""
    held: list[int] = []
    for wanted in init_containers:
        held += range(len(held), max(len(held), wanted))
    left = list(held)
    for wanted in containers:
        taken, left = left[:wanted], left[wanted:]
        held += range(len(held), len(held) + wanted - len(taken))
    pod = pod_of(
        {
            "containers": [whole(f"c{number}", str(cpus)) for number, cpus in enumerate(containers)],
            "initContainers": [whole(f"i{number}", str(cpus)) for number, cpus in enumerate(init_containers)],
        }
    )
    assert exclusive_cpus(pod) == len(set(held))


def test_scores_add_100m_and_200_mi_for_each_container_without_requests() -> None:
    """A request of 0 is a request, and an init container adds only what it needs beyond the others."""
    one_lacks = {"containers": [container("a", cpu="1"), container("b", cpu="0")], "initContainers": [container("i")]}
    assert added_by_scores(pod_of(one_lacks)) == {"memory": 400 * MI}
    assert added_by_scores(pod_of({"containers": [container("a")], "initContainers": [sidecar()]})) == {
        "cpu": 200,
        "memory": 400 * MI,
    }
    assert added_by_scores(pod_of({"containers": [whole("a", "1")]})) == {}
    limited = {"name": "a", "resources": {"limits": {"cpu": "1"}}}
    assert added_by_scores(pod_of({"containers": [limited]})) == {"memory": 200 * MI}


def test_scores_add_defaults_to_pod_level_requests_only_for_unrequested_resources() -> None:
    own = {"resources": {"requests": {"cpu": "1"}}}
    assert added_by_scores(pod_of({"containers": [container("a"), container("b")], **own})) == {"memory": 400 * MI}
    # The API server makes the pod's own request for memory from that of its containers.
    assert added_by_scores(pod_of({"containers": [container("a", memory="1Mi"), container("b")], **own})) == {}
