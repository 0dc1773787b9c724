"""Finds the attempt of a container that an Event is about, by the restarts in its pod (rules: how-pods-end)."""

from datetime import datetime
from typing import NamedTuple

from ingest.model.objects.pod import Pod
from streams.rules.pod_ends.causes import container_ends, known_code


class Restarts(NamedTuple):
    number: int
    started_at: datetime | None
    """When it last started; None while it waits for its next start."""
    exit_codes: tuple[tuple[int, int], ...] = ()
    """Number and exit code of each attempt whose end the status shows."""


def restarts_of(pod: Pod) -> dict[str, Restarts]:
    """Return the restarts of each container that was restarted or waits for it, by its name."""
    codes: dict[str, tuple[tuple[int, int], ...]] = {}
    for each in container_ends(pod):
        if (code := known_code(each.terminated)) is not None:
            codes[each.container] = (*codes.get(each.container, ()), (each.attempt, code))
    return {
        each.name: Restarts(
            each.restart_count,
            each.state.running.started_at if each.state and each.state.running else None,
            codes.get(each.name, ()),
        )
        for each in (*(pod.status.init_container_statuses or ()), *(pod.status.container_statuses or ()))
        if each.restart_count or (each.last_state and each.last_state.terminated)
    }


def attempt_that_ended(restarts: Restarts | None, at: datetime, before: datetime | None = None) -> int:
    """Return the attempt that ended then, 0 the first: an Event can arrive after the status of the restart that it
    caused.

    `before` is the end of the attempt before the last start, if known. It decides if an end is in the second of that
    start, because these times are in whole seconds.
    """
    if restarts is None:
        return 0
    started_at = restarts.started_at
    is_earlier = started_at is not None and (at < started_at or (at == started_at and before in (None, at)))
    return restarts.number - 1 if is_earlier else restarts.number
