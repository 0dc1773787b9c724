"""Base class of all settings, and the settings of telemetry."""

from typing import Annotated

import pydantic

from common.errors import WrongUsage


class SettingsError(WrongUsage):
    """The settings cannot be used; the message names each setting and what is wrong with it."""


class Section(pydantic.BaseModel):
    """Immutable settings of one package; unknown names are an error.

    Its validator is built on first use, because most commands validate nothing.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)


class TelemetrySettings(Section):
    """Address at which a running command serves `/healthz`, `/readyz` and `/metrics`."""

    port: Annotated[int, pydantic.Field(ge=0, le=65535)] = 0
    """0 is off. The parts of `up` use the next ports, in the order land, work, watch."""
    host: str = "127.0.0.1"
    """The address to listen on; `0.0.0.0` in a pod. Metrics contain names of topics and resources, but no secrets."""
    otlp_endpoint: Annotated[str, pydantic.Field(pattern=r"^(https?://\S+)?$")] = ""
    """Address to which metrics are also pushed by OTLP over HTTP, for example `http://collector:4318/v1/metrics`;
    empty is off. It needs the extra `otlp`.
    """
    otlp_seconds: Annotated[float, pydantic.Field(ge=1)] = 60.0
    """Seconds between pushes."""
