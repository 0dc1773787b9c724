"""Parses the kubelet's texts about evictions, of all versions (rules: eviction-messages).

Texts are hostile: nothing here raises, and an unknown text is None. Amounts are exact, in base units: bytes for
memory and ephemeral-storage, else inodes or processes.
"""

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

from ingest.messages.reasons import without_rejection
from ingest.resources.kubelet_log import OWN_LIMIT
from streams.rules.events.messages import message_body
from streams.rules.values.quantity import INT64_MAX, NANO, InvalidQuantity, nano_units

_RESOURCE: Final = "(memory|ephemeral-storage|inodes|pids|(?:nodefs|imagefs)(?:Inodes)?)"
_BEFORE_1_12: Final = {
    "nodefs": "ephemeral-storage",
    "imagefs": "ephemeral-storage",
    "nodefsInodes": "inodes",
    "imagefsInodes": "inodes",
}
"""Current names of resources, by the file systems that kubelets before 1.12 named."""
_RECLAIM: Final = re.compile(f"Attempting to reclaim {_RESOURCE}")
_QUANTITY: Final = "(-?[0-9]{1,32}[A-Za-z]{0,2}[0-9]{0,3})"
_CONTAINER: Final = "([a-z0-9][-a-z0-9]{0,62})"
_POD: Final = "([a-z0-9][-a-z0-9.]{0,252})"
# A sentence's full stop is followed by a space, or ends the text, whose trailing space was stripped.
_STOP: Final = r"\.(?: |$)"
_LARGER: Final = f"{_QUANTITY}, request is {_QUANTITY}, has larger consumption of [-a-z]{{1,32}}{_STOP}"


class Offender(NamedTuple):
    """A container, or a pod with pod-level requests (1.34 and later), that uses more than it requested."""

    kind: Literal["container", "pod"]
    name: str
    usage: int
    request: int


class PressureEviction(NamedTuple):
    """A running pod evicted because the node was low on a resource."""

    resource: str
    threshold: int | None = None
    """None before 1.26."""
    available: int | None = None
    offenders: tuple[Offender, ...] = ()
    complete: bool = True
    """True unless the text continues in an unknown form, or was cut off."""


class AdmissionRejection(NamedTuple):
    """A pod that was not admitted because its node had these conditions; it never ran."""

    conditions: tuple[str, ...]


LimitKind: TypeAlias = Literal["", "emptydirfs.limit", "ephemeralpodfs.limit", "ephemeralcontainerfs.limit"]


class LimitEviction(NamedTuple):
    """A pod evicted for its own limit of local storage; `kind` is the kubelet's metric label, empty if unknown."""

    kind: LimitKind
    name: str
    """Name of the volume or container; empty for the whole pod."""
    limit: int | None
    """Limit in bytes; None if it is not a whole number."""


class UnexplainedEviction(NamedTuple):
    """A pod with only the word Evicted, or with a log line without a reason: it can be any of these three kinds."""


Eviction: TypeAlias = PressureEviction | AdmissionRejection | LimitEviction

_LOW_ON: Final = re.compile(f"The node was low on resource: {_RESOURCE}{_STOP}")
_LOW: Final = "The node was low on compute resources."
"""Kubelets before 1.5 did not name the resource."""
_QUANTITIES: Final = re.compile(f"Threshold quantity: {_QUANTITY}, available: {_QUANTITY}{_STOP}")
_POD_OFFENDS: Final = re.compile(f"Pod {_POD} was using {_LARGER}")
_CONTAINER_OFFENDS: Final = re.compile(f"Container {_CONTAINER} was using {_LARGER}")
_CONTAINER_EXCEEDS: Final = re.compile(
    f"Container {_CONTAINER} was using {_QUANTITY}, which exceeds its request of {_QUANTITY}{_STOP}"
)
# The first is of kubelets before 1.15 (seen in clusters of 2020).
_HAD_CONDITION: Final = re.compile(
    r"The node (?:was low on resource|had condition): \[([A-Za-z]{1,64}(?: [A-Za-z]{1,64}){0,15})\]\."
)
_GO_STRUCT: Final = r"\{\{[0-9]{1,20} [0-9]{1,3}\} \{<nil>\} [0-9A-Za-z]{0,32} [A-Za-z]{1,16}\}"
"""A quantity as Go prints its fields, in kubelets before 1.14."""
_END: Final = r"(?(old)|\.)"
"""Kubelets before 1.14 begin with a small letter, and end without a full stop."""
_LIMITS: Final[tuple[tuple[LimitKind, re.Pattern[str]], ...]] = (
    (
        "emptydirfs.limit",
        re.compile(
            rf'(?:(?P<old>u)|U)sage of EmptyDir volume "(?P<name>{_CONTAINER})" exceeds the limit '
            rf'"(?P<limit>{_QUANTITY})"{_END}'
        ),
    ),
    (
        "ephemeralpodfs.limit",
        re.compile(
            rf"(?:(?P<old>p)|P)od ephemeral local storage usage exceeds the total limit of containers "
            rf"(?:(?P<limit>{_QUANTITY})|{_GO_STRUCT}){_END}"
        ),
    ),
    (
        "ephemeralcontainerfs.limit",
        re.compile(
            rf"(?:(?P<old>c)|C)ontainer (?P<name>{_CONTAINER}) exceeded its local ephemeral storage limit "
            rf'"(?P<limit>{_QUANTITY})"{_END}'
        ),
    ),
)


def parse_reclaim(reason: str, message: str) -> str | None:
    """Return the resource that a kubelet tries to reclaim, as it is named now; None for another Event."""
    match = _RECLAIM.fullmatch(message_body(message)) if reason == "EvictionThresholdMet" else None
    return match and _BEFORE_1_12.get(match[1], match[1])


@lru_cache(maxsize=16)  # each analytic asks about the same text
def parse_evicted(message: str) -> Eviction | None:
    """Parse a message of reason Evicted: of an event, a pod's status, or its condition DisruptionTarget."""
    text = message_body(message)
    return _pressure(text) or _limit(text) or _rejection(without_rejection(text))


def _pressure(text: str) -> PressureEviction | None:
    low_on = _LOW_ON.match(text)
    if low_on is None:
        return PressureEviction("") if text == _LOW else None
    position = low_on.end()
    threshold = available = None
    if quantities := _QUANTITIES.match(text, position):
        threshold, available = _whole(quantities[1]), _whole(quantities[2])
        position = quantities.end()
    offenders, position = _offenders(text, position)
    resource = _BEFORE_1_12.get(low_on[1], low_on[1])
    return PressureEviction(resource, threshold, available, offenders, complete=position == len(text))


def _offenders(text: str, position: int) -> tuple[tuple[Offender, ...], int]:
    """Return the sentences about pod and containers from `position`, and where the first other text begins."""
    offenders = []
    while position < len(text):
        pod = _POD_OFFENDS.match(text, position)
        match = pod or _CONTAINER_OFFENDS.match(text, position) or _CONTAINER_EXCEEDS.match(text, position)
        usage, request = (_whole(match[2]), _whole(match[3])) if match else (None, None)
        if match is None or usage is None or request is None:
            break
        offenders.append(Offender("pod" if pod else "container", match[1], usage, request))
        position = match.end()
    return tuple(offenders), position


def _limit(text: str) -> LimitEviction | None:
    if text == OWN_LIMIT:
        return LimitEviction("", "", None)
    for kind, pattern in _LIMITS:
        if match := pattern.fullmatch(text):
            named = match.groupdict()
            return LimitEviction(kind, named.get("name", ""), _whole(named["limit"] or ""))
    return None


def _rejection(text: str) -> AdmissionRejection | None:
    match = _HAD_CONDITION.fullmatch(text)
    return AdmissionRejection(tuple(match[1].split(" "))) if match else None


def _whole(quantity: str) -> int | None:
    """Return a quantity in base units; None if it is not a whole number of them within 64 bits."""
    try:
        nanos = nano_units(quantity)
    except InvalidQuantity:
        return None
    value, rest = divmod(nanos, NANO)
    return value if rest == 0 and abs(value) <= INT64_MAX else None
