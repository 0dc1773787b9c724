"""Takes away what stands between the objects of a file: what kubectl and a terminal print, logs of containers."""

import re
from typing import Final

NEWLINE: Final = b"\n"
_LOGS: Final = re.compile(
    rb"^==== START logs for container [^\n]*\n.*?(?:^==== END logs for container [^\n]*\n?|\Z)",
    re.MULTILINE | re.DOTALL,
)
"""What `kubectl cluster-info dump` prints between its lists."""
TYPED: Final = rb"```|[^\n{}\"]{0,80}[$#>] +\w"
"""How a line begins that a ticket or a terminal has around objects: a fence, or a prompt and a command."""
_WARNINGS: Final = re.compile(rb"^(?:Warning: |[IWE]\d{4} \d\d:\d\d:\d\d|" + TYPED + rb")[^\n]*$", re.MULTILINE)
"""What kubectl and client-go print beside objects is left out with them."""
_ERRORS: Final = re.compile(
    rb"^(?:Error from server|error: |The connection to the server|Unable to connect to the server)[^\n]*$",
    re.MULTILINE,
)


def without_logs(data: bytes) -> bytes:
    """The text without what containers printed, which has as many lines."""
    return _LOGS.sub(_blank, data)


def _blank(log: re.Match[bytes]) -> bytes:
    """Replaces what a container printed by as many empty lines."""
    return NEWLINE * log[0].count(NEWLINE)


def without_lines(document: bytes) -> tuple[bytes, bytes]:
    """A document without what kubectl printed before and behind it, and the errors in that."""
    text = _WARNINGS.sub(b"", document)
    errors = [found[0].strip() for found in _ERRORS.finditer(text)] if b"rror" in text else []
    return (_ERRORS.sub(b"", text), b"; ".join(errors)) if errors else (text, b"")
