"""What somebody meant who mistyped a name."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

ALIKE: Final = 0.7
"""Of 1; what is less alike is a guess."""


def match(name: str, known: Iterable[str]) -> str:
    """What is spelled most alike; empty where nothing is."""
    found = get_close_matches(name[:100], list(known), n=1, cutoff=ALIKE)
    return found[0] if found else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """A question that names what is spelled alike; empty where nothing is."""
    found = match(name, known)
    return f"Did you mean {found}?" if found else ""
