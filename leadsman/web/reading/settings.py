"""Settings of the page and the report."""

from typing import Annotated, Final, TypeAlias

import pydantic

from common.settings import Section

Steps: TypeAlias = tuple[float, float, float]
"""Shares of the remaining amount below which a node is scarce, low, and has some; rising."""
STEPS: Final[Steps] = (0.05, 0.15, 0.30)
Percent = Annotated[float, pydantic.Field(gt=0, lt=100)]


class PageSettings(Section):
    room_steps_percent: tuple[Percent, Percent, Percent] = (5, 15, 30)
    """Steps of the map's colours: below these shares of the amount above a threshold, a node has scarce, low or some
    room.
    """

    address: Annotated[str, pydantic.Field(pattern=r"^(https?://[^\s<>|]+)?$")] = ""
    """The page's public address, to which alerts in Slack and their runbooks link; empty for no links to nodes."""

    @pydantic.field_validator("room_steps_percent")
    @classmethod
    def _rising(cls, steps: tuple[float, float, float]) -> tuple[float, float, float]:
        if not steps[0] < steps[1] < steps[2]:
            raise ValueError("the three steps must increase, for example [5, 15, 30]")
        return steps

    @property
    def steps(self) -> Steps:
        scarce, low, wide = self.room_steps_percent
        return scarce / 100, low / 100, wide / 100
