"""Settings of alerts: one model for each alert name. Defaults are in `defaults.yaml`."""

from typing import Annotated, Any, Final, Literal, TypeAlias

import pydantic

from common.durations import InvalidDuration, parse_duration

Severity: TypeAlias = Literal["critical", "warning", "info"]


def _seconds(value: Any) -> float:
    if not isinstance(value, str):
        raise ValueError("a duration is written as 30s, 5m or 1h30m")  # noqa: TRY004  # pydantic tells a ValueError
    try:
        seconds = parse_duration(value)
    except InvalidDuration as error:
        raise ValueError(f"{error}; a duration is written as 30s, 5m or 1h30m") from None
    if seconds < 0:
        raise ValueError("a duration is not negative")
    return seconds


Seconds: TypeAlias = Annotated[float, pydantic.BeforeValidator(_seconds)]
Count: TypeAlias = Annotated[int, pydantic.Field(ge=1)]
Ratio: TypeAlias = Annotated[float, pydantic.Field(gt=0, le=1)]
Percent: TypeAlias = Annotated[float, pydantic.Field(gt=0, le=1000)]


class _Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", strict=True)


class Rule(_Model):
    """What every alert has."""

    enabled: bool
    severity: Severity
    for_seconds: Seconds = pydantic.Field(alias="for")
    """How long it must be true before it fires; also the time in which a storm gathers."""
    keep_firing_seconds: Seconds = pydantic.Field(alias="keep_firing")
    """How long it must have been quiet before it is resolved."""


class EvictionThresholdNear(Rule):
    within_seconds: Seconds = pydantic.Field(alias="within")
    wait_for_image_gc: bool


class PodsEvicted(Rule):
    pods_pressure: Count
    pods_admission: Count
    pods_limit: Count


class PressureOscillation(Rule):
    times: Annotated[int, pydantic.Field(ge=2)]
    window_seconds: Seconds = pydantic.Field(alias="window")


class NumaSkewHigh(Rule):
    node_skew_ratio: Ratio
    cluster_skew_ratio: Ratio
    exclusive_cpus: Count


class NumaFragmented(Rule):
    request_cpus: Count
    scopes: list[Literal["node", "cluster"]]


class NodeOvercommitted(Rule):
    requested_percent: Percent
    used_percent: Percent


class StreamStalled(Rule):
    failures: Count


class DeadLetters(Rule):
    letters: Count


class Alerts(_Model):
    """One rule for each alert name."""

    EvictionThresholdNear: EvictionThresholdNear
    PodsEvicted: PodsEvicted
    PressureOscillation: PressureOscillation
    ImageGCInvalidCapacity: Rule
    ImageGCInsufficientFreed: Rule
    ImageGCRestartLoop: Rule
    NUMASkewHigh: NumaSkewHigh
    NUMAFragmented: NumaFragmented
    SchedulerBlindSpot: Rule
    NodeOvercommitted: NodeOvercommitted
    StreamStalled: StreamStalled
    DeadLetters: DeadLetters


class AlertRules(_Model):
    """A whole rules file."""

    runbooks: Annotated[str, pydantic.Field(pattern=r"^https?://\S+/$")]
    """Where the pages of `deploy/runbooks` are served; each alert's page is `<alertname>.md` there."""
    every_invalid_disk_capacity: bool
    alerts: Alerts

    def of(self, alertname: str) -> Rule:
        """The rule of an alert name."""
        rule: Rule = getattr(self.alerts, alertname)
        return rule


ALERT_NAMES: Final = tuple(Alerts.model_fields)
