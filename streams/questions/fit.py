"""How many pods of a kind fit a cluster now, where, and by which placement they would (rules: exclusive-cpus,
scheduler-fit).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from common.errors import WrongUsage
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.fit import Judgement, NodeState, PodRequest, Verdict, rooms, take
from streams.rules.values.quantity import InvalidQuantity, base_units, millicores

MILLI: Final = 1000
_NOT_DEVICES: Final = frozenset({"cpu", "memory", "pods"})
_MEMORY_TYPES: Final = ("memory", "hugepages-")


class BadQuestion(WrongUsage):
    """An impossible pod; the message has what to write instead."""


class Question(NamedTuple):
    """`count` identical pods of `containers` identical containers each; amounts are those of one container."""

    cpu_millicores: int
    memory_bytes: int = 0
    exclusive: bool = False
    devices: dict[str, int] = {}  # noqa: RUF012  a NamedTuple's default; nobody mutates it
    """Amounts of every other resource in base units; huge pages in bytes."""
    containers: int = 1
    count: int = 1  # type: ignore[assignment]  # the command's word; tuple.count is not used


class Candidate(NamedTuple):
    state: NodeState
    source: str = ""
    """Of the NUMA numbers."""
    fidelity: str = ""
    """`exact`, `count`, `none`, or empty where no source reports NUMA nodes."""
    numa_doubts: tuple[str, ...] = ()
    """Why its NUMA numbers may be wrong; of no concern to a pod without exclusive CPUs and devices."""
    largest_fits: dict[str, int] = {}  # noqa: RUF012  as above
    """The largest exclusive request that one of its NUMA nodes could take, by strategy (`numa_whatif`)."""


class NumaAnswer(msgspec.Struct, frozen=True):
    numa_node: int
    takes: bool
    """The whole pod, by itself."""
    free_cpus: int
    lacks: list[str]


class HintAnswer(msgspec.Struct, frozen=True):
    numa_nodes: list[int] | None
    """None where any will do."""
    preferred: bool


class NodeAnswer(msgspec.Struct, frozen=True):
    node: str
    verdict: Verdict
    pods: int
    """How many of the requested pods it takes."""
    reasons: list[str]
    numa_nodes: list[int]
    """On which the pods would lie; empty where that is not known or any will do."""
    hint: HintAnswer | None
    """The Topology Manager's for the first pod."""
    numa: list[NumaAnswer]
    topology_manager_policy: str
    """Empty where no source reports it."""
    topology_manager_scope: str
    source: str
    fidelity: str
    notes: list[str]
    strategies: list[str]
    """With which the node, its pods placed again, would have a NUMA node for it."""


class StrategyAnswer(msgspec.Struct, frozen=True):
    """The cluster's exclusive pods placed again by a strategy."""

    strategy: str
    largest_fit_cpus: int
    takes: bool
    """One such pod, by the CPUs of one NUMA node."""


class Answer(msgspec.Struct, frozen=True):
    pods: int
    """How many of the requested pods the cluster takes; at most `count`."""
    fits: bool
    """All of them."""
    nodes: list[NodeAnswer]
    """Those that take most first, then those of which it is unknown, then by name."""
    strategies: list[StrategyAnswer]
    free_exclusive_cpus: int
    """Of the nodes whose NUMA nodes are known and whose CPU Manager pins."""
    largest_free_cpus: int
    """Of these on one NUMA node."""


class AskedLine(msgspec.Struct, forbid_unknown_fields=True):
    """A question as a line of JSON: quantities as in a manifest, as text or number."""

    cpu: str | int | float
    id: Any = None
    """Whatever the asker finds the answer by."""
    memory: str | int | float = "0"
    containers: Annotated[int, msgspec.Meta(ge=1, le=100)] = 1
    exclusive: bool = False
    count: Annotated[int, msgspec.Meta(ge=1)] = 1
    devices: dict[str, str | int] = {}
    node: str = ""
    """Empty asks all nodes."""

    def question(self) -> Question:
        """Raises BadQuestion."""
        devices = [f"{name}={amount}" for name, amount in self.devices.items()]
        return question(
            str(self.cpu),
            str(self.memory),
            devices,
            exclusive=self.exclusive,
            containers=self.containers,
            count=self.count,
        )


_read_line: Final = msgspec.json.Decoder(AskedLine).decode


def asked_line(line: bytes | str) -> AskedLine:
    """Raises BadQuestion for what is not a question."""
    try:
        return _read_line(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadQuestion(f"not a question: {error}") from None


def line_id(line: bytes | str) -> Any:
    """The id of a line that may not be a question; None where there is none."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found.get("id") if isinstance(found, dict) else None


def question(
    cpu: str, memory: str, devices: Iterable[str], *, exclusive: bool, containers: int = 1, count: int = 1
) -> Question:
    """Quantities as in a manifest, devices as `name=quantity`. Raises BadQuestion."""
    asked = Question(_amount("cpu", cpu), _amount("memory", memory), exclusive, {}, containers, count)
    for text in devices:
        name, equals, quantity = text.partition("=")
        if not equals or not name or name in _NOT_DEVICES or name in asked.devices:
            raise BadQuestion(f"{text[:200]!r}: write each device once, as nvidia.com/gpu=1")
        asked.devices[name] = _amount(name, quantity)
    if exclusive and (asked.cpu_millicores % MILLI or not asked.cpu_millicores):
        raise BadQuestion("exclusive CPUs are whole ones: write --cpu 8, not a part of a CPU")
    return asked


def pod_of(asked: Question) -> PodRequest:
    """An exclusive pod is Guaranteed, so that the memory manager pins its memory too (rules: exclusive-cpus)."""
    amounts = {"cpu": asked.cpu_millicores, "memory": asked.memory_bytes, **asked.devices}
    pinned = {name: size for name, size in amounts.items() if name.startswith(_MEMORY_TYPES)}
    container = Request(
        cpus=asked.cpu_millicores // MILLI if asked.exclusive else 0,
        memory_bytes=pinned if asked.exclusive else {},
        devices={name: size for name, size in asked.devices.items() if name not in pinned},
    )
    requests = {name: size * asked.containers for name, size in amounts.items() if size}
    return PodRequest((container,) * asked.containers, requests)


def answer(
    asked: Question, candidates: Sequence[Candidate], strategies: Mapping[str, int], scheduler_minor: int
) -> Answer:
    """`strategies`: the largest fit in CPUs of the whole cluster's exclusive pods placed again.

    The pods are identical and no node's judgement depends on another's, so what the nodes take adds up.
    """
    pod = pod_of(asked)
    nodes = [_node_answer(asked, pod, each, scheduler_minor) for each in candidates]
    takes = min(asked.count, sum(each.pods for each in nodes))
    free = [cpus for each in candidates for cpus in _free_exclusive(each.state)]
    needed = max(container.cpus for container in pod.containers)
    return Answer(
        pods=takes,
        fits=takes >= asked.count,
        nodes=sorted(nodes, key=lambda each: (-each.pods, _ORDER.index(each.verdict), each.node)),
        strategies=[
            StrategyAnswer(name, fit, needed <= fit) for name, fit in sorted(strategies.items()) if asked.exclusive
        ],
        free_exclusive_cpus=sum(free),
        largest_free_cpus=max(free, default=0),
    )


_ORDER: Final[tuple[Verdict, ...]] = (
    "fits",
    "unknown",
    "refused_by_kubelet",
    "refused_by_scheduler",
    "not_exclusive",
)


def _node_answer(asked: Question, pod: PodRequest, each: Candidate, scheduler_minor: int) -> NodeAnswer:
    state = each.state
    judgement, pods, numa_nodes = take(state, pod, scheduler_minor, asked.count)
    needed = max(container.cpus for container in pod.containers)
    could = judgement.verdict in {"fits", "refused_by_kubelet", "unknown"}
    policies = {each.topology_policy for each in state.settings}
    return NodeAnswer(
        node=state.node,
        verdict=judgement.verdict,
        pods=pods,
        reasons=list(judgement.reasons),
        numa_nodes=numa_nodes,
        hint=_hint(judgement),
        numa=[NumaAnswer(room.numa_node, room.takes, room.free_cpus, list(room.lacks)) for room in rooms(state, pod)],
        topology_manager_policy=policies.pop() if len(policies) == 1 else "",
        topology_manager_scope=state.settings[0].topology_scope,
        source=each.source,
        fidelity=each.fidelity,
        notes=_notes(each, asked, judgement),
        strategies=sorted(name for name, fit in each.largest_fits.items() if could and 0 < needed <= fit),
    )


def _notes(each: Candidate, asked: Question, judgement: Judgement) -> list[str]:
    notes = [judgement.note] if judgement.note else []
    if judgement.verdict != "refused_by_scheduler" and (asked.exclusive or asked.devices):
        known = each.state.machine.devices if each.state.machine else {}
        notes += [
            f"no source reports the NUMA nodes of {name}: they give no hint"
            for name in sorted(asked.devices)
            if name not in known and not name.startswith(_MEMORY_TYPES)
        ]
        notes += each.numa_doubts
    return notes


def _hint(judgement: Judgement) -> HintAnswer | None:
    if judgement.hint is None:
        return None
    affinity = judgement.hint.affinity
    return HintAnswer(None if affinity is None else sorted(affinity), judgement.hint.preferred)


def _free_exclusive(state: NodeState) -> list[int]:
    """Of each NUMA node; none where the CPU Manager pins nothing or the NUMA nodes are not known."""
    if state.machine is None or all(each.cpu_policy != "static" for each in state.settings):
        return []
    return [len(numa.cpus & state.machine.free) for numa in state.machine.topology.numa_nodes]


def _amount(name: str, text: str) -> int:
    try:
        amount = millicores(text) if name == "cpu" else base_units(text)
    except InvalidQuantity as error:
        raise BadQuestion(f"{name}: {error}") from None
    if amount < 0:
        raise BadQuestion(f"{name}: {text[:80]} is below 0")
    return amount
