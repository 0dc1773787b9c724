"""A machine and a kubelet's settings from what was told, and what a pod leaves of the machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.rules.numa.cpu_assignment import StaticPolicyOptions
from streams.rules.numa.topology_manager import Settings
from streams.rules.scheduling.fit_machine import NumaCpus, Policies, machine_of, options_not_followed, settings_of

GIB = 1 << 30


def test_cpu_ids_are_kept_as_they_are() -> None:
    part = NumaCpus(2, 4, 1, 2, frozenset({8}), (frozenset({0, 8}), frozenset({2, 10})))
    machine = machine_of([part], {}, {})
    assert machine is not None
    assert [(node.numa_node, node.cores) for node in machine.topology.numa_nodes] == [(2, part.core_cpus)]
    assert machine.free == {8}


def test_sockets_and_reserved_cpus_come_from_the_source() -> None:
    cores = (frozenset({0, 8}), frozenset({2, 10}))
    machine = machine_of(
        [NumaCpus(0, 4, 3, 2, frozenset({8, 2, 10}), cores, core_sockets=(1, 0), reserved=frozenset({0}))], {}, {}
    )
    assert machine is not None
    # In the order of (socket, core).
    assert machine.topology.numa_nodes[0].cores == cores[::-1]
    assert machine.topology.numa_nodes[0].sockets == (0, 1)
    assert machine.reserved == {0}


def test_a_numa_node_is_its_own_socket_without_a_source_for_sockets() -> None:
    machine = machine_of([NumaCpus(0, 2, 2), NumaCpus(3, 2, 2)], {}, {})
    assert machine is not None
    assert [node.sockets for node in machine.topology.numa_nodes] == [(0, 0), (3, 3)]


@given(
    st.lists(
        st.tuples(st.integers(1, 9), st.sampled_from([1, 2, 4]), st.integers(0, 40)),
        min_size=1,
        max_size=4,
    )
)
def test_counts_make_a_machine_with_those_counts(parts: list[tuple[int, int, int]]) -> None:
    reported = [
        NumaCpus(numa, cores * threads, min(free, cores * threads), cores)
        for numa, (cores, threads, free) in enumerate(parts)
    ]
    machine = machine_of(reported, {}, {})
    assert machine is not None
    for node, part in zip(machine.topology.numa_nodes, reported, strict=True):
        assert (node.numa_node, len(node.cpus), len(node.cores)) == (part.numa_node, part.cpus, part.cores)
        assert len(node.cpus & machine.free) == part.free_cpus
        # Those that are free are taken to be whole cores, as far as their number allows.
        whole = sum(core <= machine.free for core in node.cores)
        assert whole == (part.free_cpus or 0) // max(map(len, node.cores))


@pytest.mark.parametrize(
    "parts",
    [
        [],
        [NumaCpus(0, 8, None)],
        [NumaCpus(0, 8, 8), NumaCpus(1, None, None)],
        [NumaCpus(0, 1, 1, 1, frozenset(), (frozenset({0}),)), NumaCpus(1, 1, 1, 1, frozenset(), (frozenset({0}),))],
    ],
)
def test_unknown_or_impossible_cpus_give_no_machine(parts: list[NumaCpus]) -> None:
    assert machine_of(parts, {}, {}) is None


def test_reported_settings_are_the_only_candidates() -> None:
    reported = Policies(
        "static", "restricted", "pod", {"full-pcpus-only": "true"}, {"prefer-closest-numa-nodes": "true"}
    )
    assert settings_of(reported) == (Settings("restricted", "pod", assignment=StaticPolicyOptions(whole_cores=True)),)
    assert [each.split()[1] for each in options_not_followed(reported)] == ["prefer-closest-numa-nodes"]
    names = ("distribute-cpus-across-numa", "distribute-cpus-across-cores", "align-by-socket")
    every = reported._replace(cpu_options=dict.fromkeys((*names, "prefer-align-cpus-by-uncorecache"), "true"))
    assignment = StaticPolicyOptions(across_numa=True, across_cores=True, by_socket=True)
    assert settings_of(every) == (Settings("restricted", "pod", assignment=assignment, prefer_uncore_cache=True),)
    off = reported._replace(
        cpu_options={"full-pcpus-only": "false"}, topology_options={"max-allowable-numa-nodes": "x"}
    )
    assert settings_of(off) == (Settings("restricted", "pod"),)
    assert list(options_not_followed(off)) == []


def test_unreported_settings_are_tried_as_the_laxest_and_the_strictest() -> None:
    strictest = Settings("single-numa-node", assignment=StaticPolicyOptions(whole_cores=True))
    assert settings_of(Policies()) == (Settings(), strictest, Settings(cpu_policy="none"))
    assert settings_of(Policies("static")) == (Settings(), strictest)
    assert settings_of(Policies("static", "best-effort")) == (
        Settings("best-effort"),
        Settings("best-effort", assignment=StaticPolicyOptions(whole_cores=True)),
    )
    assert settings_of(Policies("none", "none", "container", {}, {})) == (Settings(cpu_policy="none"),)
