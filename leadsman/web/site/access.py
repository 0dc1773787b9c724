"""Controls access to the page: everyone on this machine, or everyone with the token."""

import base64
import binascii
import hmac
import ipaddress
from collections import OrderedDict
from collections.abc import Callable, Mapping
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from common.errors import FilesUnusable, WrongUsage
from common.loopback import is_loopback
from common.private import check_secret

LEAST_TOKEN: Final = 16
FREE_GUESSES: Final = 5
LONGEST_PAUSE_SECONDS: Final = 60.0
MOST_ADDRESSES: Final = 4096
"""Number of addresses with wrong tokens that are remembered."""


class BadAccess(WrongUsage):
    """The page cannot be protected as configured; the message has what is wrong and what to do."""


def read_token(file: Path | None, host: str) -> str:
    """Read the token from a file; empty if none is needed. Raises BadAccess."""
    if file is None:
        if not is_loopback(host):
            raise BadAccess(
                f"--host {host} is reached from other machines: give --token-file FILE with a secret of at least "
                f"{LEAST_TOKEN} characters, or leave --host away"
            )
        return ""
    try:
        token = file.read_text("utf-8").strip()
        check_secret(file)
    except FilesUnusable as error:
        raise BadAccess(f"--token-file {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise BadAccess(f"--token-file {file} cannot be read: {reason}") from None
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise BadAccess(
            f"--token-file {file} must hold at least {LEAST_TOKEN} printable ASCII characters, "
            "as openssl rand -hex 32 writes them"
        )
    return token


class Refusal(NamedTuple):
    """The answer to a client without access."""

    status: int
    text: str
    headers: dict[str, str]


class Guesses:
    """Counts wrong tokens by the address that they came from.

    After a few, the address must wait, each time twice as long. While it waits, its tokens are not checked, not even
    right ones: clients that share an address share the wait.
    """

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        self._now = now
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        """Wrong attempts of an address, and the time until which no other is accepted."""
        self.total = 0

    def refusal(self, token: str, given: str, remote: str, challenge: str) -> Refusal | None:
        """Return the refusal of a request; None if no token is needed, or if the header Authorization has it."""
        if not token:
            return None
        if given and (pause := self.pause(remote)):
            text = f"Too many wrong tokens came from this address. Try again in {pause} s.\n"
            return Refusal(429, text, {"Retry-After": str(pause)})
        if may_read(token, given):
            self.right(remote)
            return None
        if given:
            self.wrong(remote)
        return Refusal(401, "The token is needed.\n", {"WWW-Authenticate": challenge})

    def pause(self, remote: str) -> int:
        """Return the whole seconds that an address must wait, or 0."""
        _, until = self._wrong.get(_network(remote), (0, 0.0))
        return max(0, ceil(until - self._now()))

    def wrong(self, remote: str) -> None:
        network = _network(remote)
        times = self._wrong.pop(network, (0, 0.0))[0] + 1
        pause = min(LONGEST_PAUSE_SECONDS, 2.0 ** min(times - FREE_GUESSES, 10)) if times >= FREE_GUESSES else 0.0
        self._wrong[network] = times, self._now() + pause
        self.total += 1
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def right(self, remote: str) -> None:
        self._wrong.pop(_network(remote), None)


def _network(remote: str) -> str:
    """Return an IPv4 address, or the first 64 bits of an IPv6 address, because a host usually has all of them."""
    try:
        address = ipaddress.ip_address(remote.partition("%")[0])
    except ValueError:
        return ""
    return remote if address.version == 4 else str(ipaddress.ip_network((int(address) >> 64 << 64, 64)))  # noqa: PLR2004


def may_read(token: str, authorization: str) -> bool:
    """Tell whether an Authorization header contains the token: as Bearer, or as the password of Basic."""
    if not token:
        return True
    kind, _, value = authorization.partition(" ")
    given = value.strip() if kind.lower() == "bearer" else _password(value) if kind.lower() == "basic" else ""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def is_own_request(headers: Mapping[str, str]) -> bool:
    """Tell whether no other site made a reader's browser send this: the browser confirms it, or the token is a
    Bearer. Browsers do not store Bearer tokens. Over plain HTTP they send no Sec-Fetch-Site; then the Referer must be
    of this site.
    """
    site = headers.get("Sec-Fetch-Site", "")
    if site:
        return site in {"same-origin", "none"}
    if headers.get("Authorization", "").lower().startswith("bearer "):
        return True
    try:
        left = urlsplit(headers.get("Referer", "")).netloc
    except ValueError:
        return False
    return left != "" and left.lower() == headers.get("Host", "").lower()


def _password(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
