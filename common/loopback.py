"""Recognises the names of loopback, because anyone can point another name to it (DNS rebinding)."""

import ipaddress
import re
from typing import Final

LOCAL_NAMES: Final = frozenset({"localhost"})
_HOST: Final = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::[0-9]{1,5})?")
"""Splits a name or address from a port."""


def is_loopback(host: str) -> bool:
    """Tell whether an address, or a host name of this machine, can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in LOCAL_NAMES


def is_own_name(host_header: str) -> bool:
    """Tell whether a request to a server on loopback used a name of loopback, not one that somebody pointed here."""
    found = _HOST.fullmatch(host_header)
    return found is not None and is_loopback(found[1])
