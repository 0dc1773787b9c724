"""A new node like another takes what nobody holds there yet; what is not known of that one stays unknown."""

from ingest.model.machine import Cpu
from streams.questions.fit import Candidate, answer
from streams.questions.fit_like import PerNodePod, adds_up, as_new
from streams.questions.fit_request import FitRequest
from streams.rules.numa.memory_checkpoint import MemoryNode, MemoryTable
from streams.rules.numa.topology import numa_topology
from streams.rules.numa.topology_manager import Devices, Machine, Settings
from streams.rules.scheduling.constraints import ClaimedDevices, ClaimedVolume, Constraints, NeighbourTerm
from streams.rules.scheduling.device_claims import NO_DEVICES, DeviceClaim, Slice
from streams.rules.scheduling.device_claims import Devices as Claimable
from streams.rules.scheduling.filters import NodeState, PodRequest
from streams.rules.scheduling.neighbours import Neighbour

MINOR = 36
CPUS = [Cpu(cpu=cpu, core=cpu, socket=cpu // 4, numa=cpu // 4) for cpu in range(8)]
FULL = Machine(
    numa_topology(CPUS),
    frozenset({7}),
    frozenset({0}),
    {0: MemoryNode(2, {"memory": MemoryTable(100, 10, 90, 60, 30)}, (0, 1))},
    {"example.com/nic": Devices({0: 4, 1: 4}, {0: 0, 1: 1})},
)
STATE = NodeState(
    "old",
    {"cpu": 8000, "pods": 110},
    {"cpu": 7500},
    9,
    ready=False,
    unschedulable=True,
    taints=("node.kubernetes.io/not-ready=:NoExecute", "karpenter.sh/disrupted=:NoSchedule", "team=a:NoSchedule"),
    settings=(Settings("single-numa-node"),),
    machine=FULL,
    labels={"kubernetes.io/hostname": "old", "pool": "big"},
)
AGENT = PerNodePod({"cpu": 300}, Neighbour("kube-system"))


def test_a_new_node_is_ready_and_has_only_what_comes_to_every_node() -> None:
    found = as_new(Candidate(STATE), [AGENT, AGENT], "new", NO_DEVICES).state
    assert (found.node, found.ready, found.unschedulable, found.taints) == (
        "new",
        True,
        False,
        ("team=a:NoSchedule",),
    )
    assert (found.requested, found.pods, len(found.neighbours)) == ({"cpu": 600}, 2, 2)
    assert found.labels == {"kubernetes.io/hostname": "new", "pool": "big"}


def test_nobody_holds_cpus_memory_or_devices_of_a_new_node() -> None:
    machine = as_new(Candidate(STATE), [], "new", NO_DEVICES).state.machine
    assert machine is not None
    assert machine.free == frozenset(range(1, 8))
    assert machine.memory == {0: MemoryNode(0, {"memory": MemoryTable(100, 10, 90, 0, 90)}, ())}
    assert machine.devices == {"example.com/nic": Devices({0: 4, 1: 4}, {0: 4, 1: 4})}


def test_a_pod_that_the_full_node_refuses_goes_to_a_new_one() -> None:
    """4 exclusive CPUs: NUMA node 0 has three beside the reserved one, NUMA node 1 four."""
    want, usable = FitRequest(4000, exclusive=True, count=2), STATE._replace(taints=())
    (now,) = answer(want, [Candidate(usable._replace(unschedulable=False))], {}, MINOR).nodes
    (new,) = answer(want, [as_new(Candidate(usable), [], "new", NO_DEVICES)], {}, MINOR).nodes
    assert (now.verdict, now.pods) == ("refused_by_scheduler", 0)
    assert (new.verdict, new.pods, new.numa_nodes) == ("fits", 1, [1])


def test_without_the_reserved_cpus_free_ones_are_unknown() -> None:
    unnamed = STATE._replace(taints=(), machine=FULL._replace(reserved=frozenset()))
    new = as_new(Candidate(unnamed), [], "new", NO_DEVICES)
    assert new.state.machine is None
    assert answer(FitRequest(4000, exclusive=True), [new], {}, MINOR).nodes[0].verdict == "unknown"
    assert answer(FitRequest(4000), [new], {}, MINOR).nodes[0].verdict == "fits"


def test_nobody_has_the_devices_of_a_new_node_but_those_of_a_network_are_taken() -> None:
    slices = [
        Slice("gpu.example.com", "old", 1, 1, node="old", devices=["0", "1"], plain=True),
        Slice("disk.example.com", "all", 1, 1, everywhere=True, devices=["a", "b"], plain=True),
    ]
    held = [("gpu.example.com", "old", "0"), ("gpu.example.com", "old", "1"), ("disk.example.com", "all", "a")]
    known = Claimable(
        listed={"resourceslices", "resourceclaims"}, claims={("ns", "c"): DeviceClaim(held=held)}, slices=slices
    )
    found = as_new(Candidate(STATE), [], "new", known).state.devices
    assert found.free == {"gpu.example.com": 2, "disk.example.com": 1}


def test_further_nodes_take_as_many_unless_pods_share_a_zone_or_a_claim() -> None:
    """Pods that may not share a zone: the second new node is in the zone of the first."""

    def alike(wants: Constraints) -> bool:
        return adds_up(PodRequest((), {}, Neighbour("ns", constraints=wants)))

    host, zone = (NeighbourTerm(key, [], []) for key in ("kubernetes.io/hostname", "topology.kubernetes.io/zone"))
    assert adds_up(None)
    assert alike(Constraints(anti_affinity=[host]))
    assert not alike(Constraints(anti_affinity=[host, zone]))
    assert not alike(Constraints(affinity=[host]))
    assert not alike(Constraints(claimed=[ClaimedVolume("data", "shared")]))
    assert not alike(Constraints(devices=[ClaimedDevices("gpu", "a")]))
