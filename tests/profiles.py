"""How much is drawn: enough at every change, and more by night (LEADSMAN_PROFILE=night)."""

import os
from typing import Final, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

NIGHT: Final = os.environ.get("LEADSMAN_PROFILE") == "night"
T = TypeVar("T")


def drawn(strategy: SearchStrategy[T], number: int, *, night: int) -> list[T]:
    """As many examples as that, for a test that looks at all of them at once: one query takes as long as many."""
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
