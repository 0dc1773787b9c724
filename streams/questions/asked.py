"""The question of `leadsman fit`: a pod by its amounts, one a line of JSON, or on the command line."""

from collections.abc import Iterable
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from common.errors import WrongUsage
from streams.rules.numa.topology_manager import Request
from streams.rules.scheduling.filters import PodRequest
from streams.rules.values.quantity import InvalidQuantity, base_units, millicores

MILLI: Final = 1000
_NOT_DEVICES: Final = frozenset({"cpu", "memory", "pods"})
MOST_CONTAINERS: Final = 100
MEMORY_TYPES: Final = ("memory", "hugepages-")


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


class AskedLine(msgspec.Struct, forbid_unknown_fields=True):
    """A question as a line of JSON: quantities as in a manifest, as text or number."""

    cpu: str | int | float
    id: Any = None
    """Any value by which the asker finds the answer."""
    memory: str | int | float = "0"
    containers: Annotated[int, msgspec.Meta(ge=1, le=MOST_CONTAINERS)] = 1
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
    """The id of a line that may not be a question; None if there is none."""
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return found.get("id") if isinstance(found, dict) else None


def question(
    cpu: str, memory: str, devices: Iterable[str], *, exclusive: bool, containers: int = 1, count: int = 1
) -> Question:
    """Quantities as in a manifest, devices as `name=quantity`. Raises BadQuestion."""
    if not 1 <= containers <= MOST_CONTAINERS or count < 1:
        raise BadQuestion(f"a pod has 1 to {MOST_CONTAINERS} containers here, and there is at least one pod")
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
    pinned = {name: size for name, size in amounts.items() if name.startswith(MEMORY_TYPES)}
    container = Request(
        cpus=asked.cpu_millicores // MILLI if asked.exclusive else 0,
        memory_bytes=pinned if asked.exclusive else {},
        devices={name: size for name, size in asked.devices.items() if name not in pinned},
    )
    requests = {name: size * asked.containers for name, size in amounts.items() if size}
    return PodRequest((container,) * asked.containers, requests)


def _amount(name: str, text: str) -> int:
    try:
        amount = millicores(text) if name == "cpu" else base_units(text)
    except InvalidQuantity as error:
        raise BadQuestion(f"{name}: {error}") from None
    if amount < 0:
        raise BadQuestion(f"{name}: {text[:80]} is below 0")
    return amount
