"""Who may read the page: anyone on this machine, or whoever has the token."""

import base64
import binascii
import hmac
import ipaddress
from pathlib import Path
from typing import Final

from common.errors import FilesUnusable, WrongUsage
from common.private import check_secret

LEAST_TOKEN: Final = 16
LOCAL_NAMES: Final = frozenset({"localhost"})


class BadAccess(WrongUsage):
    """The message has what is wrong and what to do."""


def is_loopback(host: str) -> bool:
    """Whether an address, or a name of this machine, is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host in LOCAL_NAMES


def read_token(file: Path | None, host: str) -> str:
    """The token of a file, or empty where none is needed. Raises BadAccess."""
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
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise BadAccess(f"--token-file {file} cannot be read: {reason}") from None
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable():
        raise BadAccess(
            f"--token-file {file} must hold at least {LEAST_TOKEN} printable ASCII characters, "
            "as openssl rand -hex 32 writes them"
        )
    return token


def may_read(token: str, authorization: str) -> bool:
    """Whether an Authorization header carries the token: as Bearer, or as the password of Basic."""
    if not token:
        return True
    kind, _, value = authorization.partition(" ")
    given = value.strip() if kind.lower() == "bearer" else _password(value) if kind.lower() == "basic" else ""
    return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())


def is_own_name(host_header: str) -> bool:
    """Whether a page on loopback was asked by a name of loopback, and not by one that someone pointed here."""
    host = host_header.rsplit(":", 1)[0] if not host_header.endswith("]") else host_header
    return is_loopback(host)


def _password(value: str) -> str:
    try:
        return base64.b64decode(value, validate=True).decode("utf-8").partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
