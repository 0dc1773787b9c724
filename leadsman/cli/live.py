"""Shared parts of the live commands: flags over settings, signals, logs and telemetry."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    import asyncio

    from leadsman.run.settings import Settings

Result = TypeVar("Result")
ANSWERING: Final = frozenset({"agent", "look"})
"""Parts that print findings to standard output, and therefore log to standard error."""


def watch_flags(
    *,
    kubelet: str | None,
    kubelet_address: Sequence[tuple[str, str]],
    kubelet_ca: Path | None,
    kubelet_insecure: bool | None,
    every: float | None,
    versions: Path | None = None,
    leader_election: bool | None = None,
    **named_alike: Any,
) -> dict[str, Any]:
    """Return the options of `options.live` that were given, as settings."""
    of_kubelets = {
        "access": kubelet,
        "addresses": dict(kubelet_address) or None,
        "ca_file": kubelet_ca,
        "insecure": kubelet_insecure,
        "summary_seconds": every,
        "metrics_seconds": every,
    }
    sections = {"kubelet": _given(of_kubelets), "election": _given({"enabled": leader_election})}
    return _given({**named_alike, "versions_file": versions, **sections})


def live_settings(config: Path | None, *, kafka: str | None = None, **flags: Any) -> Settings:
    """Return the settings in force. Raises SettingsError."""
    from leadsman.run.settings import load

    return load(config, kafka=_given({"bootstrap_servers": kafka}), **flags)


async def until_signal(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run work until it ends; SIGTERM and SIGINT set its event."""
    from common.tasks import stop_on_signals

    with stop_on_signals() as stop:
        await work(stop)


def run_served(settings: Settings, part: str, work: Awaitable[Result]) -> Result:
    """Run a part to its end, with logs and telemetry as set. Raises WrongUsage."""
    from common.logs import configure

    configure(settings.log, sys.stderr if part in ANSWERING else sys.stdout)
    return run_part(settings, part, work)


def run_part(settings: Settings, part: str, work: Awaitable[Result]) -> Result:
    """Run a part to its end with telemetry, without changing the logs."""
    from common import loop
    from common.cycles import timed_searches
    from common.telemetry import served

    async def run() -> Result:
        async with (
            served(settings.telemetry.host, settings.telemetry.port, part),
            push_metrics(settings, part),
            timed_searches(),
        ):
            return await work

    return loop.run(run())  # uvloop takes a tenth less time for each message than asyncio's own loop


@asynccontextmanager
async def push_metrics(settings: Settings, part: str) -> AsyncIterator[None]:
    """Push the metrics of a part to an OpenTelemetry collector while it runs, if configured."""
    if not settings.telemetry.otlp_endpoint:
        yield
        return
    from common.otlp import pushing

    async with pushing(settings.telemetry.otlp_endpoint, settings.telemetry.otlp_seconds, part):
        yield


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}
