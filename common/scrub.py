"""Credentials leave a text before it is logged, sent or stored. Pure."""

import re
from typing import Final

REDACTED: Final = "[redacted]"

_SECRET: Final = re.compile(
    r"(?P<url>://)[^/\s\"'?#]{1,2000}@"
    r"|(?P<scheme>\b(?:bearer|basic) )[a-z0-9._~+/=-]{8,}"
    r"|(?P<name>(?:password|passwd|secret|token|api[_-]?key|signature|credential)=)[^\s&\"',;]+",
    re.IGNORECASE,
)
"""A URL's user info, an Authorization header, and what a URL's query or a flag calls a secret."""


def scrub(text: str) -> str:
    """The text without what looks like a credential."""
    if "@" not in text and "=" not in text and " " not in text:
        return text  # almost all strings
    return _SECRET.sub(_without_secret, text)


def is_suspicious(text: str) -> bool:
    """Whether `scrub` may find something: a test of a long text that is much faster than its search."""
    if "@" in text or "=" in text:
        return True
    folded = text.casefold()
    return "bearer " in folded or "basic " in folded


def _without_secret(found: re.Match[str]) -> str:
    end = "@" if found["url"] else ""
    return f"{found['url'] or found['scheme'] or found['name']}{REDACTED}{end}"
