"""Suggests the intended name for a mistyped one."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

ALIKE: Final = 0.7
"""Similarity from 0 to 1 below which a match is only a guess."""


def match(name: str, known: Iterable[str]) -> str:
    """Return the most similar name; empty if none is similar."""
    found = get_close_matches(name[:100], list(known), n=1, cutoff=ALIKE)
    return found[0] if found else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a question that suggests the most similar name; empty if none is similar."""
    found = match(name, known)
    return f"Did you mean {found}?" if found else ""
