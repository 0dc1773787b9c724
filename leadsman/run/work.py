"""Runs `leadsman work`."""

import socket
from collections.abc import Collection, Sequence
from typing import Any

from common.tasks import stop_on_signals
from leadsman.run.kafka import make_topics
from leadsman.run.reducers import all_reducers
from leadsman.run.settings import Settings
from streams.fold.reducer import Reducer
from streams.kafka.app import Worker


async def run_worker(
    settings: Settings, reducers: Sequence[Reducer[Any]] | None = None, skipped: Collection[str] = ()
) -> None:
    """Fold the logs until SIGTERM or SIGINT. Raises BadRules, KafkaUnusable, and every error that stops the worker.

    Without `reducers`, all analytics run, and alerts by the configured rules. `skipped` are positions of records,
    TOPIC:PARTITION@OFFSET, that become dead letters.
    """
    kafka = settings.kafka
    worker = worker_of(settings, reducers, skipped)
    await make_topics(kafka, settings.work.flat)
    with stop_on_signals() as stop:
        await worker.run(stop)


def worker_of(
    settings: Settings, reducers: Sequence[Reducer[Any]] | None = None, skipped: Collection[str] = ()
) -> Worker:
    """Build the worker without running it. Raises BadRules."""
    kafka = settings.kafka
    return Worker(
        reducers or all_reducers(settings),
        kafka.topics(),
        kafka.bootstrap_servers,
        group=kafka.work_group(),
        instance=settings.work.instance or socket.gethostname(),
        replication_factor=kafka.replication_factor,
        client_options=kafka.client_options(),
        unacknowledged=kafka.unacknowledged_messages,
        skipped=skipped,
        state_seconds=settings.work.state_seconds,
        flat=settings.work.flat,
    )
