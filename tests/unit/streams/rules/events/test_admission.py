"""Every text of a kubelet's admission, as its sources write them (1.20 to 1.36), and who refused by each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.events.admission import REFUSERS, parse_refusal

UNEXPECTED = "UnexpectedAdmissionError"


def allocate(cause: str) -> str:
    return f"Allocate failed due to {cause}, which is unexpected"


@pytest.mark.parametrize("prefix", ["", "Pod ", "Pod was rejected: "])
@pytest.mark.parametrize(
    ("reason", "text", "expected"),
    [
        (
            "OutOfcpu",
            "Node didn't have enough resource: cpu, requested: 1000, used: 8000, capacity: 8000",
            ("resources", "cpu", 1000, 0),
        ),
        (
            "OutOfmemory",
            "Node didn't have enough resource: memory, requested: 1024, used: 512, capacity: 2048",
            ("resources", "memory", 1024, 1536),
        ),
        (
            "OutOfpods",
            "Node didn't have enough resource: pods, requested: 1, used: 110, capacity: 110",
            ("resources", "pods", 1, 0),
        ),
        (
            "OutOfephemeral-storage",
            "Node didn't have enough resource: ephemeral-storage, requested: 9, used: 1, capacity: 5",
            ("resources", "ephemeral-storage", 9, 4),
        ),
        (
            "OutOfexample.com/nic",
            "Node didn't have enough resource: example.com/nic, requested: 2, used: 3, capacity: 4",
            ("resources", "example.com/nic", 2, 1),
        ),
        ("OutOfcpu", "", ("resources", "cpu", None, None)),
        (
            UNEXPECTED,
            allocate("requested number of devices unavailable for nvidia.com/gpu. Requested: 1, Available: 0"),
            ("device_manager", "nvidia.com/gpu", 1, 0),
        ),
        (
            UNEXPECTED,
            (
                "Update plugin resources failed due to requested number of devices unavailable for nvidia.com/gpu. "
                "Requested: 8, Available: 0, which is unexpected."
            ),
            ("device_manager", "nvidia.com/gpu", 8, 0),
        ),
        (
            UNEXPECTED,
            allocate("no healthy devices present; cannot allocate unhealthy devices amd.com/gpu"),
            ("device_manager", "amd.com/gpu", None, None),
        ),
        (
            UNEXPECTED,
            allocate("previously allocated devices are no longer healthy; cannot allocate unhealthy devices a.b/c"),
            ("device_manager", "a.b/c", None, None),
        ),
        (
            UNEXPECTED,
            allocate("cannot allocate unregistered device nvidia.com/gpu"),
            ("device_manager", "nvidia.com/gpu", None, None),
        ),
        (
            UNEXPECTED,
            allocate("device plugin PreStartContainer rpc failed with err: rpc error: code = Unknown"),
            ("device_manager", "", None, None),
        ),
        (
            UNEXPECTED,
            allocate("not enough cpus available to satisfy request: requested=12, available=1"),
            ("cpu_manager", "cpu", 12_000, 1000),
        ),
        (
            UNEXPECTED,
            allocate("not enough cpus available to satisfy request"),
            ("cpu_manager", "cpu", None, None),
        ),
        (
            UNEXPECTED,
            allocate(
                "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is"
                " available"
            ),
            ("memory_manager", "memory", None, None),
        ),
        (
            UNEXPECTED,
            allocate("[memorymanager] preferred hint violates NUMA node allocation"),
            ("memory_manager", "memory", None, None),
        ),
        (UNEXPECTED, allocate("something that no version writes"), ("", "", None, None)),
        (
            "SMTAlignmentError",
            "SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2",
            ("cpu_manager", "cpu", 3000, None),
        ),
        (
            "SMTAlignmentError",
            (
                "SMT Alignment Error: not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4,"
                " CPUs per core = 2"
            ),
            ("cpu_manager", "cpu", 4000, 2000),
        ),
        (
            "TopologyAffinityError",
            "Resources cannot be allocated with Topology locality",
            ("topology_manager", "", None, None),
        ),
        (
            "EmptyPodSharedPoolError",
            "pod rejected, pod has shared init containers but no cpus available for them",
            ("cpu_manager", "cpu", None, None),
        ),
        ("NodeAffinity", "Predicate NodeAffinity failed", ("node_labels", "", None, None)),
        (
            "NodeAffinity",
            "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
            ("node_labels", "", None, None),
        ),
        ("TaintToleration", "Predicate TaintToleration failed", ("taint", "", None, None)),
        ("NodePorts", "Predicate NodePorts failed", ("host_port", "", None, None)),
        ("NodeName", "Predicate NodeName failed", ("node_name", "", None, None)),
        ("Evicted", "The node had condition: [DiskPressure]. ", ("node_pressure", "DiskPressure", None, None)),
        ("NodeShutdown", "Pod was rejected as the node is shutting down.", ("node_shutdown", "", None, None)),
        (
            "Shutdown",
            "Node is in progress of shutting down, not admitting any new pods",
            ("node_shutdown", "", None, None),
        ),
        (
            UNEXPECTED,
            (
                "Unexpected error while attempting to recover from admission failure: preemption: error finding a set"
                " of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 2550), ]"
            ),
            ("resources", "cpu", None, None),
        ),
        (
            UNEXPECTED,
            (
                'Update plugin resources failed due to failed to write checkpoint file "kubelet_internal_checkpoint":'
                " write /var/lib/kubelet/device-plugins/.2615: no space left on device, which is unexpected."
            ),
            ("device_manager", "", None, None),
        ),
        (
            UNEXPECTED,
            "Update plugin resources failed due to node lister returned no node, which is unexpected.",
            ("device_manager", "", None, None),
        ),
        (
            UNEXPECTED,
            allocate("rpc error: code = Unknown desc = device number not matched"),
            ("device_manager", "", None, None),
        ),
        (
            UNEXPECTED,
            allocate("can't allocate unregistered device amd.com/gpu"),
            ("device_manager", "amd.com/gpu", None, None),
        ),
        (UNEXPECTED, allocate("endpoint &{0xc0 0} has been stopped"), ("device_manager", "", None, None)),
        (
            "PodOSNotSupported",
            "Failed to admit pod as the OS field doesn't match node OS",
            ("system", "", None, None),
        ),
        ("SysctlForbidden", 'forbidden sysctl: "kernel.msgmax" not allowlisted', ("security", "", None, None)),
        ("AppArmor", "Cannot enforce AppArmor: profile is not loaded", ("security", "", None, None)),
        ("InvalidNodeInfo", "Kubelet cannot get node info.", ("node_info", "", None, None)),
        (
            "PodFeatureUnsupported",
            "Pod requires node features that are not available: X",
            ("feature", "", None, None),
        ),
    ],
)
def test_a_refusal_names_the_manager_and_the_resource(
    prefix: str, reason: str, text: str, expected: tuple[object, ...]
) -> None:
    found = parse_refusal(reason, f"{prefix}{text}")
    assert (found.refused_by, found.resource, found.requested, found.available) == expected
    assert found.refused_by in {"", *REFUSERS}


@pytest.mark.parametrize(
    "cause",
    [
        "requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 0",
        "[memorymanager] failed to get the default NUMA affinity, no NUMA nodes with enough memory is available",
        "rpc error: code = Unavailable",
    ],
)
def test_cpus_are_mentioned_only_for_a_reason_about_cpus(cause: str) -> None:
    assert "CPU" not in parse_refusal(UNEXPECTED, allocate(cause)).words


@pytest.mark.parametrize(
    ("resource", "words"),
    [
        ("nvidia.com/gpu", "no device plugin had registered it"),
        ("ephemeral-storage", "did not know yet how much it has, or it has none"),
        ("hugepages-2Mi", "According to its kubelet, the node has no hugepages-2Mi."),
    ],
)
def test_a_kubelet_without_the_resource_is_not_a_full_node(resource: str, words: str) -> None:
    text = f"Node didn't have enough resource: {resource}, requested: 1, used: 0, capacity: 0"
    found = parse_refusal(f"OutOf{resource}", text)
    assert (found.available, found.capacity) == (0, 0)
    assert words in found.words


@given(st.sampled_from([UNEXPECTED, "OutOfcpu", "SMTAlignmentError", "Evicted", "x"]) | st.text(), st.text())
def test_no_text_raises_and_an_unknown_one_is_not_explained(reason: str, text: str) -> None:
    found = parse_refusal(reason, text)
    assert found.refused_by or not found.words
