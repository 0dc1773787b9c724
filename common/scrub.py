"""Credentials leave a text before it is logged, sent or stored. Pure."""

import re
from functools import lru_cache
from typing import Final

REDACTED: Final = "[redacted]"

_NAME: Final = (
    r"(?:pass(?:word|wd|phrase)|secret|token|credentials?|(?<![a-z])(?:pass|pwd)"
    r"|(?:api|secret|private|account|access|shared[_-]?access)[_-]?key)"
)
"""Names of secrets, with any prefix, for example AWS_SECRET_ACCESS_KEY or MYSQL_PWD."""
_OPAQUE: Final = re.compile(
    r"(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web tokens
    r"|(?<![\w-])(?:gh[oprsu]_|github_pat_|glpat-|xox[abprs]-)[\w-]{16,}"  # GitHub, GitLab, Slack
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"  # AWS
    r"|-----BEGIN [A-Z0-9 ]{1,40}-----.*?(?:-----END [A-Z0-9 ]{1,40}-----|\Z)",  # PEM, or its beginning
    re.DOTALL,
)
"""Texts that are secret by their own shape."""
_OPAQUE_BEGINS: Final = ("eyJ", "-----BEGIN ", "AKIA", "ASIA", "glpat-", "xox")
_OPAQUE_LEAST: Final = 20
"""Characters of the shortest."""
_SECRET: Final = re.compile(
    r"(?P<url>://)[^/\s\"'?#]{1,2000}@"
    r"|(?P<scheme>\b(?:bearer|basic) )[a-z0-9._~+/=-]{8,}"
    rf"|(?P<name>(?:{_NAME}|signature|(?<![a-z])sig) ?= ?(?:\\*[\"'])?)[^\s&\"',;]+"
    rf"|(?P<key>{_NAME}(?:\\*[\"'])?\s*:\s*)(?P<quote>\\*[\"'])(?:(?!(?P=quote)).)+"
    rf"|(?P<flag>(?<![\w-])--?[a-z0-9_-]{{0,40}}{_NAME} (?:\\*[\"'])?)(?![-=:\[])[^\s\"',;]+"
    rf"|(?P<prose>{_NAME}(?:\\*[\"'])?: )(?![a-z]+[ ,.;:]|[\"'\[(<{{])[^\s\"',;]+",
    re.IGNORECASE | re.DOTALL,
)
"""A URL's user info, an Authorization header, and values that a query, an assignment, JSON, YAML or a flag calls a
secret.

In prose such as "cannot fetch token: not found", a lower-case word with more words behind it is not a secret.
"""
_RANDOM: Final = re.compile(r"(?<![\w+])(?=\w*[a-z])(?=\w*[A-Z])(?=(?:[a-zA-Z_+]*\d){3})[\w+]{32,}={0,2}", re.ASCII)
"""The last net, in sentences only: nothing of Kubernetes is so long and of both cases and digits. Uids, digests and
names of pods have small letters."""
_RANDOM_LEAST: Final = 32
_ADDRESS: Final = re.compile(r"(https?://[^\s\"'\\/?#]*)([^\s\"'\\?#]*)([?#][^\s\"'\\]*)?", re.IGNORECASE)
"""An address of HTTP: its host, its path, and its query or fragment."""
_SECRET_SEGMENT: Final = re.compile(
    r"(?<=/)(?=[^/]*[a-z])(?=[^/]*[A-Z])(?=[^/]*[0-9])[^/]{10,}"  # a key, as in the path of a webhook
    r"|(?<=/services/)[^/]+/[^/]+/[^/]+|(?<=/bot)[0-9]+:[^/]+"  # Slack, Telegram
)
"""A secret segment of a path. Names, uids and digests of Kubernetes and of registries have lower-case letters only.
"""
_SECRET_VALUE: Final = re.compile(
    r"(?<=[?#&;=])(?!\[(?:redacted|withheld))"
    r"(?![A-Za-z_.-]{1,20}=|[a-z_-]{1,12}(?:[&;#]|$)|[0-9]{1,6}[a-z]{0,2}(?:[&;#]|$))[^&;=#]+"
    r"|(?<=[?&;]key=)[^&;#\[]+|(?<=[?&;]auth=)[^&;#\[]+|(?<=[?&;]code=)[^&;#\[]+"
)
"""A secret behind a path: it is called a key, or is neither a lower-case word nor a small number nor a duration."""
_IS_NAME: Final = re.compile(rf"{_NAME}$", re.IGNORECASE)
_WORDS: Final = ("pass", "pwd", "secret", "token", "credential", "key", "bearer ", "basic ")
_LAST_WORDS: Final = tuple("password passwd passphrase pass pwd secret token credential credentials key".split())  # noqa: SIM905 - a word a name
"""Last words of `_NAME`, for a quick test."""


def scrub(text: str) -> str:
    """The text without what looks like a credential."""
    if " " not in text and '"' not in text and "@" not in text and "=" not in text and "\n" not in text:
        # almost all strings
        opaque = len(text) >= _OPAQUE_LEAST and _is_opaque(text)
        return _without_keys_of_addresses(_OPAQUE.sub(REDACTED, text) if opaque else text)
    if _is_opaque(text):
        text = _OPAQUE.sub(REDACTED, text)
    folded = text.lower()
    if "@" in text or "=" in text or any(word in folded for word in _WORDS):
        text = _SECRET.sub(_without_secret, text)
    text = _without_keys_of_addresses(text)
    return _RANDOM.sub(REDACTED, text) if len(text) >= _RANDOM_LEAST else text


def is_suspicious(document: str) -> bool:
    """Tell whether a text in a JSON document without white space may have a credential: much faster."""
    if "@" in document or "=" in document or " --" in document or _is_opaque(document):
        return True
    if _without_keys_of_addresses(document) != document:
        return True
    folded = document.lower()
    if "bearer " in folded or "basic " in folded:
        return True
    return any(_names_secret(folded, separator) for separator in (": ", '\\":') if separator in folded)


def _names_secret(folded: str, separator: str) -> bool:
    return any(part[-20:].rstrip("\\\"'").endswith(_LAST_WORDS) for part in folded.split(separator)[:-1])


@lru_cache(4096)
def is_secret(name: str) -> bool:
    """Tell whether a field of this name holds a secret."""
    return _IS_NAME.search(name) is not None


def _is_opaque(text: str) -> bool:
    return any(begin in text for begin in _OPAQUE_BEGINS) or ("_" in text and ("gh" in text or "_pat_" in text))


def _without_keys_of_addresses(text: str) -> str:
    return _ADDRESS.sub(_without_secret_path, text) if "://" in text else text


def _without_secret_path(found: re.Match[str]) -> str:
    """An address without the segments and values that no one would choose as a name."""
    return found[1] + _SECRET_SEGMENT.sub(REDACTED, found[2]) + _SECRET_VALUE.sub(REDACTED, found[3] or "")


def _without_secret(found: re.Match[str]) -> str:
    begin = found["url"] or found["scheme"] or found["name"] or found["flag"] or found["prose"]
    return f"{begin or found['key'] + found['quote']}{REDACTED}{'@' if found['url'] else ''}"
