"""Types for the settings of alerts; each alert declares its settings in its own file."""

from typing import Annotated, Any, Literal, TypeAlias

import pydantic

from common.durations import InvalidDuration, parse_duration

Severity: TypeAlias = Literal["critical", "warning", "info"]


def seconds(value: Any) -> float:
    """Parse a duration. Raises ValueError for any other text."""
    if not isinstance(value, str):
        raise ValueError("a duration is written as 30s, 5m or 1h30m")  # noqa: TRY004  # pydantic reports a ValueError
    try:
        seconds = parse_duration(value)
    except InvalidDuration as error:
        raise ValueError(str(error)) from None
    if seconds < 0:
        raise ValueError("a duration must not be negative")
    return seconds


Seconds: TypeAlias = Annotated[float, pydantic.BeforeValidator(seconds)]
"""Written as a duration: `30s`, `5m`, `1h30m`."""
Count: TypeAlias = Annotated[int, pydantic.Field(ge=1)]
Ratio: TypeAlias = Annotated[float, pydantic.Field(gt=0, le=1)]
Percent: TypeAlias = Annotated[float, pydantic.Field(gt=0, le=1000)]


class Model(pydantic.BaseModel):
    """Part of a rules file. Its fields have no defaults: these are in `defaults.yaml`."""

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class RuleSettings(Model):
    enabled: bool
    severity: Severity
    for_seconds: Seconds = pydantic.Field(alias="for")
    """Time for which it must be true before it fires; a storm is collected into one alert in this time."""
    keep_firing_seconds: Seconds = pydantic.Field(alias="keep_firing")
    """Time for which it must be quiet before it is resolved."""
    cordoned: bool
    """Raise it also for a node that is cordoned, or that an autoscaler drains."""
