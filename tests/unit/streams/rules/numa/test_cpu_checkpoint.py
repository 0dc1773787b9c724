"""Checkpoints of the CPU and memory managers (rules: cpu-checkpoint, memory-checkpoint, recorded-behaviour;
vectors of Kubernetes' own tests).
"""

import gzip
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes.checkpoints import write_cpu_manager_state, write_memory_manager_state
from paths import NODE_PRESSURE
from profiles import EXAMPLES
from streams.rules.numa.cpu_checkpoint import (
    BadCheckpoint,
    CpuManagerState,
    Version,
    fnv1a_32,
    parse_cpu_manager_state,
)
from streams.rules.numa.memory_checkpoint import (
    MemoryBlock,
    MemoryManagerState,
    MemoryNode,
    MemoryTable,
    parse_memory_manager_state,
)

MACHINE = (
    '"machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":2048,"systemReserved":512,'
    '"allocatable":1536,"reserved":512,"free":1024}},"cells":[]}},'
    '"entries":{"pod":{"container1":[{"numaAffinity":[0],"type":"memory","size":512}]}}'
)

lists = st.sampled_from(["", "0", "1-3", "0-1,4,6-7", "10"])
names = st.text(alphabet="abcdef0123456789-", min_size=1, max_size=8)


def test_fnv1a_of_the_empty_text_is_its_offset_basis() -> None:
    assert fnv1a_32("") == 2166136261
    assert fnv1a_32("a") == 0xE40C292C  # the reference vectors of FNV-1a


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('{"policyName":"none","defaultCpuSet":"","checksum":1353318690}', 2),
        ('{"policyName":"none","defaultCpuSet":"","checksum":3242152201}', 1),
        ('{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":354655845}', 2),
        ('{"policyName":"none","defaultCPUSet":"4-6","entries":{},"checksum":2912033808}', 1),
        (
            (
                '{"policyName":"none","defaultCPUSet":"1-3","entries":{"container1":"4-6","container2":"1-3"},'
                '"checksum":1535905563}'
            ),
            1,
        ),
        (
            (
                '{"policyName":"none","defaultCPUSet":"1-3",'
                '"entries":{"pod":{"container1":"4-6","container2":"1-3"}},"checksum":3610638499}'
            ),
            2,
        ),
        (
            (
                '{"policyName":"static","defaultCPUSet":"1-2","entries":{"pod1":{"container1":"5-6","container2":"3-4"}},'
                '"podEntries":{"pod2":{"cpuSet":"7-9"}},"checksum":2284712151}'
            ),
            3,
        ),
        (
            (
                '{"policyName":"static","defaultCpuSet":"0",'
                '"entries":{"d8828c67-f6dc-44ad-96ba-579737f23b05":{"w":"1"}},"checksum":2703986358}'
            ),
            2,
        ),
    ],
)
def test_a_checkpoint_of_a_real_kubelet_has_the_checksum_of_its_version(text: str, version: int) -> None:
    assert parse_cpu_manager_state(text).version == version
    wrong = text[:-2] + ("1}" if text[-2] != "1" else "2}")
    with pytest.raises(BadCheckpoint, match="has checksum"):
        parse_cpu_manager_state(wrong)


def test_every_checkpoint_of_the_recording_verifies() -> None:
    with gzip.open(NODE_PRESSURE, "rt") as lines:
        observed = [json.loads(line) for line in lines]
    texts = [json.dumps(o["object"]) for o in observed if o["resource"] == "cpu_manager_state"]
    states = {parse_cpu_manager_state(text).exclusive_cpus() for text in texts}
    assert len(texts) == 70
    assert states == {frozenset({1}), frozenset()}


def test_keys_match_in_any_case_as_in_go() -> None:
    state = parse_cpu_manager_state('{"POLICYNAME":"none","DefaultCpuset":"4-6","checkSum":354655845}')
    assert (state.policy, state.default_cpuset) == ("none", "4-6")


@pytest.mark.parametrize("stored", ['"checksum":0', '"entries":null'])
def test_a_checksum_of_zero_or_none_is_accepted_without_pod_entries(stored: str) -> None:
    assert parse_cpu_manager_state(f'{{"policyName":"static","defaultCpuSet":"0-3",{stored}}}').version == 2


def test_a_checksum_of_zero_is_refused_with_pod_entries() -> None:
    with pytest.raises(BadCheckpoint):
        parse_cpu_manager_state('{"policyName":"static","podEntries":{"uid":{"cpuSet":"1"}},"checksum":0}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "{}",
        '"text"',
        '{"unrelated":1}',
        '{"policyName":1}',
        '{"policyName":"static","entries":[]}',
        '{"policyName":"static","entries":{"pod":{"c":3}}}',
        '{"policyName":"static","entries":{"pod":{"c":"3-1"}}}',
        '{"policyName":"static","entries":{"pod":{"c":"a"}}}',
        '{"policyName":"static","entries":{"pod":{"c":"0-99999999999"}}}',
        '{"policyName":"static","defaultCpuSet":"0, 1"}',
        '{"policyName":"static","checksum":true}',
        '{"policyName":"static","checksum":-1}',
        '{"policyName":"static","podEntries":{"uid":"1-2"}}',
        '{"policyName":"static","entries":{"pod":{"c":"1"},"container":"2"}}',
        "[" * 100_000,
    ],
)
def test_a_text_that_is_not_a_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        parse_cpu_manager_state(text)


def test_used_cpus_of_an_init_container_count_once() -> None:
    state = CpuManagerState("static", "0,5-7", {"pod": {"init": "1-4", "app": "1-2", "side": "3"}}, {}, 2)
    assert state.exclusive_cpus() == {1, 2, 3, 4}
    assert state.all_cpus() == set(range(8))


@given(
    default=lists,
    entries=st.dictionaries(names, st.dictionaries(names, lists, max_size=3), max_size=3),
    pods=st.dictionaries(names, lists, max_size=3),
    version=st.sampled_from([1, 2, 3]),
)
@settings(max_examples=EXAMPLES * 3 // 5)
def test_cpu_checkpoints_of_all_versions_round_trip(
    default: str, entries: dict[str, dict[str, str]], pods: dict[str, str], version: Version
) -> None:
    if version == 1:
        containers = {name: cpus for members in entries.values() for name, cpus in members.items()}
        entries = {"": containers} if containers else {}
    state = CpuManagerState("static", default, entries, pods if version == 3 else {}, version)
    assert parse_cpu_manager_state(write_cpu_manager_state(state)) == state


@given(st.text(max_size=40))
@settings(max_examples=EXAMPLES * 3 // 5)
def test_any_text_is_a_state_or_a_bad_checkpoint(text: str) -> None:
    for parse in (parse_cpu_manager_state, parse_memory_manager_state):
        with pytest.raises(BadCheckpoint):
            parse(text)


def test_memory_checkpoints_verify_against_the_kubelets_own_vectors() -> None:
    first = parse_memory_manager_state(f'{{"policyName":"static",{MACHINE},"checksum":4215593881}}')
    assert first.machine == {0: MemoryNode(0, {"memory": MemoryTable(2048, 512, 1536, 512, 1024)}, ())}
    assert first.entries == {"pod": {"container1": (MemoryBlock((0,), "memory", 512),)}}
    pods = '"podEntries":{"pod":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}}'
    second = parse_memory_manager_state(f'{{"policyName":"static",{MACHINE},{pods},"checksum":1278640530}}')
    assert (first.version, second.version) == (1, 2)
    with pytest.raises(BadCheckpoint, match="101010"):
        parse_memory_manager_state(f'{{"policyName":"static",{MACHINE},"checksum":101010}}')


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[]",
        '{"policyName":"Static","machineState":{"a":{}}}',
        '{"policyName":"Static","machineState":{"-1":{}}}',
        '{"policyName":"Static","machineState":{"0":{"cells":["0"]}}}',
        '{"policyName":"Static","machineState":{"0":{"memoryMap":{"memory":{"total":-1}}}}}',
        '{"policyName":"Static","entries":{"pod":{"c":{}}}}',
    ],
)
def test_a_text_that_is_not_a_memory_checkpoint_is_refused(text: str) -> None:
    with pytest.raises(BadCheckpoint):
        parse_memory_manager_state(text)


sizes = st.integers(0, 2**64 - 1)
blocks = st.lists(
    st.builds(MemoryBlock, st.lists(st.integers(0, 7), max_size=2).map(tuple), names, sizes), max_size=2
).map(tuple)
nodes = st.builds(
    MemoryNode,
    st.integers(0, 9),
    st.dictionaries(names, st.builds(MemoryTable, sizes, sizes, sizes, sizes, sizes), max_size=2),
    st.lists(st.integers(0, 7), max_size=3).map(tuple),
)


@given(
    machine=st.dictionaries(st.integers(0, 11), nodes, max_size=3),
    entries=st.dictionaries(names, st.dictionaries(names, blocks, max_size=2), max_size=2),
    pods=st.dictionaries(names, blocks, max_size=2),
    is_second=st.booleans(),
)
@settings(max_examples=EXAMPLES * 2 // 5)
def test_memory_checkpoints_of_both_versions_round_trip(
    machine: dict[int, MemoryNode],
    entries: dict[str, dict[str, tuple[MemoryBlock, ...]]],
    pods: dict[str, tuple[MemoryBlock, ...]],
    is_second: bool,
) -> None:
    state = MemoryManagerState("Static", machine, entries, pods if is_second else {}, 2 if is_second else 1)
    assert parse_memory_manager_state(write_memory_manager_state(state)) == state
