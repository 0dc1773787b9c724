"""Kubernetes versions, for rules that changed between releases."""

import re
from functools import lru_cache
from typing import Final

_VERSION: Final = re.compile(r"v?([0-9]{1,4})\.([0-9]{1,4})")


@lru_cache(maxsize=256)
def minor_version(version: str) -> tuple[int, int] | None:
    """Return major and minor of a component's version: `v1.31.4+k3s1` is (1, 31); None for another text."""
    match = _VERSION.match(version[:32])
    return (int(match[1]), int(match[2])) if match else None


def is_at_least(version: str, minor: int) -> bool:
    """Tell whether `version` is 1.`minor` or newer. An unknown version counts as newest."""
    known = minor_version(version)
    return known is None or known >= (1, minor)
