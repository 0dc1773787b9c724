"""QoS classes (rules: qos-class)."""

from typing import Any

import msgspec
import pytest

from ingest.model.objects.pod import Pod
from streams.rules.pods.qos import qos_class


def pod_of(*containers: dict[str, Any], **spec: Any) -> Pod:
    named = [{"name": f"c{number}", "resources": resources} for number, resources in enumerate(containers)]
    return msgspec.convert({"metadata": {"name": "p"}, "spec": {"containers": named, **spec}}, Pod)


BOTH = {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "0", "memory": "0"}}, "BestEffort"),
        ({"requests": {"ephemeral-storage": "1Gi"}, "limits": {"nvidia.com/gpu": "1"}}, "BestEffort"),
        ({"requests": {"cpu": "1m"}}, "Burstable"),
        ({"limits": {"memory": "1Gi"}}, "Burstable"),
        ({"requests": BOTH, "limits": BOTH}, "Guaranteed"),
        ({"requests": {"cpu": "1000m", "memory": "1024Mi"}, "limits": BOTH}, "Guaranteed"),
        ({"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": BOTH}, "Burstable"),
        ({"requests": BOTH, "limits": {"cpu": "1"}}, "Burstable"),
        ({"requests": {"cpu": "0", "memory": "1Gi"}, "limits": {"cpu": "0", "memory": "1Gi"}}, "Burstable"),
    ],
)
def test_one_container_decides_by_its_cpu_and_memory(resources: dict[str, Any], expected: str) -> None:
    assert qos_class(pod_of(resources)) == expected


def test_a_missing_request_defaults_to_the_limit_for_the_qos_class() -> None:
    assert qos_class(pod_of({"limits": BOTH})) == "Guaranteed"
    assert qos_class(pod_of({"requests": {"cpu": "1"}, "limits": BOTH})) == "Guaranteed"


def test_every_container_needs_both_limits_to_be_guaranteed() -> None:
    whole = {"requests": BOTH, "limits": BOTH}
    assert qos_class(pod_of(whole, whole)) == "Guaranteed"
    assert qos_class(pod_of(whole, {})) == "Burstable"


def test_sums_are_compared_not_containers() -> None:
    """More requested than limited in one container is no valid pod, but the rule looks at the sums alone."""
    first = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "1Gi"}}
    second = {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
    assert qos_class(pod_of(first, second)) == "Guaranteed"


def test_init_containers_count_like_containers() -> None:
    whole = {"requests": BOTH, "limits": BOTH}
    assert qos_class(pod_of(whole, initContainers=[{"name": "i"}])) == "Burstable"
    assert qos_class(pod_of({}, initContainers=[{"name": "i", "resources": {"limits": {"cpu": "1"}}}])) == "Burstable"


def test_the_status_wins_over_the_spec() -> None:
    pod = pod_of({})
    claimed = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, qos_class="Guaranteed"))
    assert qos_class(claimed) == "Guaranteed"


def test_an_unknown_class_in_the_status_is_ignored() -> None:
    pod = pod_of({})
    claimed = msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, qos_class="'; DROP TABLE"))
    assert qos_class(claimed) == "BestEffort"


@pytest.mark.parametrize(
    ("pod_level", "expected"),
    [
        ({"requests": BOTH, "limits": BOTH}, "Guaranteed"),
        ({"requests": BOTH}, "Burstable"),
        ({"requests": BOTH, "limits": {"cpu": "1"}}, "Burstable"),
        ({}, "BestEffort"),
    ],
)
def test_with_pod_level_resources_the_containers_do_not_count(pod_level: dict[str, Any], expected: str) -> None:
    assert qos_class(pod_of({}, {"requests": {"cpu": "1m"}}, resources=pod_level)) == expected
