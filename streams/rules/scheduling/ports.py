"""Host ports, of which a node has each only once (rules: scheduler-fit)."""

from collections.abc import Iterable, Sequence
from typing import Final

from streams.rules.scheduling.constraints import ANY_ADDRESS, HostPort

FREE_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"


def conflict(wanted: Sequence[HostPort], used: Iterable[HostPort]) -> bool:
    """The same port of the same protocol, of one address or of all."""
    return any(_clash(each, other) for other in used for each in wanted)


def _clash(one: HostPort, other: HostPort) -> bool:
    addresses = {one.host_ip, other.host_ip}
    return (one.protocol, one.port) == (other.protocol, other.port) and (
        len(addresses) == 1 or ANY_ADDRESS in addresses
    )
