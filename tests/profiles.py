"""Profiles of random tests: enough at every change, more by night, and less for a changed line (LEADSMAN_PROFILE)."""

import os
from typing import Final, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

_PROFILE: Final = os.environ.get("LEADSMAN_PROFILE", "")
NIGHT: Final = _PROFILE == "night"
EXAMPLES: Final = {"quick": 20, "night": 1000}.get(_PROFILE, 100)
"""Examples of a property that does not set its own."""
T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], number: int, *, night: int) -> list[T]:
    """Draw as many examples as a property, for a test that looks at all of them at once: one query takes as long as
    many.
    """
    found: list[T] = []

    @settings(
        max_examples=night if NIGHT else number,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
        database=None,
    )
    @given(strategy)
    def draw(example: T) -> None:
        found.append(example)

    draw()
    return found
