"""What the live commands share: flags over settings, signals, and mistakes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from common.stopping import stop_on_signals
from common.tls import FilesUnusable
from ingest.apiserver.versions import VersionsError

if TYPE_CHECKING:
    from leadsman.run.settings import Settings
from leadsman.cli.console import EXIT_NO_KAFKA, EXIT_NO_SOURCE, EXIT_USAGE, fail
from leadsman.cli.options import pair

Result = TypeVar("Result")


def watch_flags(
    cluster: str | None,
    kubeconfig: Path | None,
    context: str | None,
    access: str | None,
    addresses: list[str] | None,
    ca_file: Path | None,
    every_seconds: float | None,
    *,
    insecure: bool | None,
    versions_file: Path | None = None,
    leader_election: bool | None = None,
) -> dict[str, Any]:
    """The flags that were given, as settings."""
    kubelet = {
        "access": access,
        "addresses": dict(pair(text) for text in addresses) if addresses else None,
        "ca_file": ca_file,
        "insecure": insecure,
        "summary_seconds": every_seconds,
        "metrics_seconds": every_seconds,
    }
    return _given(
        {
            "cluster": cluster,
            "kubeconfig": kubeconfig,
            "context": context,
            "versions_file": versions_file,
            "kubelet": _given(kubelet),
            "election": _given({"enabled": leader_election}),
        }
    )


def kafka_flags(servers: str | None) -> dict[str, Any]:
    return _given({"bootstrap_servers": servers})


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def live_settings(config: Path | None, **flags: Any) -> "Settings":
    """The settings in force; raises SettingsError."""
    from leadsman.run.settings import load  # noqa: PLC0415 - other commands do without

    return load(config, **flags)


async def until_signal(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    with stop_on_signals() as stop:
        await work(stop)


def run_served(settings: "Settings", part: str, work: Awaitable[Result]) -> Result:
    """Run a part to its end; meanwhile its telemetry is where the settings say. Raises CannotServe."""
    import uvloop  # noqa: PLC0415 - other commands do without

    from common.logs import configure  # noqa: PLC0415 - as above
    from common.telemetry import served  # noqa: PLC0415 - as above

    configure(settings.log, sys.stderr if part == "agent" else sys.stdout)  # an agent's captures go to the latter

    async def run() -> Result:
        async with served(settings.telemetry.host, settings.telemetry.port, part):
            return await work

    return uvloop.run(run())  # a tenth less for each message than asyncio's own loop


@contextmanager
def live_mistakes() -> Iterator[None]:
    """Settings, a cluster, Kafka, or a place for a capture, that cannot be used."""
    try:
        yield
    except Exception as error:
        if files := _unusable_files(error):
            fail(f"Kafka cannot be used: kafka.{files}", EXIT_NO_KAFKA)
        status = _status_of(error)
        if status is None:
            raise
        fail(str(error), status)


def _unusable_files(error: BaseException | None) -> FilesUnusable | None:
    """What a client of Kafka died of, however deep in it."""
    while error is not None and not isinstance(error, FilesUnusable):
        error = error.__cause__
    return error


def _status_of(error: Exception) -> int | None:
    """The status with which a live command ends for this; None where it is no mistake of the user's."""
    # imported only now: their clients take seconds, and most commands need one or none of them
    from common.telemetry import CannotServe  # noqa: PLC0415
    from ingest.apiserver.connect import KubeconfigError  # noqa: PLC0415
    from ingest.kafka.admin import TopicsUnusable  # noqa: PLC0415
    from leadsman.run.settings import SettingsError  # noqa: PLC0415
    from leadsman.run.watch import ElectionRefusedError  # noqa: PLC0415
    from streams.alerting.rules_file import BadRules  # noqa: PLC0415

    statuses: dict[type[Exception], int] = {
        SettingsError: EXIT_USAGE,
        CannotServe: EXIT_USAGE,
        BadRules: EXIT_USAGE,
        TopicsUnusable: EXIT_NO_KAFKA,
        KubeconfigError: EXIT_NO_SOURCE,
        VersionsError: EXIT_NO_SOURCE,
        ElectionRefusedError: EXIT_NO_SOURCE,
        FileNotFoundError: EXIT_NO_SOURCE,
        PermissionError: EXIT_NO_SOURCE,
    }
    return next((status for kind, status in statuses.items() if isinstance(error, kind)), None)
