"""Tracks the progress of one resource's stream, decides how it continues after an error, and when to compare it with
a full list (rules: list-and-watch; delivery.md#reconciling). A watch alone is not enough: after etcd is restored from
a snapshot, versions go back, and later the same numbers belong to other objects.
"""

import math
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from common.clock import Clock
from ingest.apiserver.requests import ApiError
from ingest.resources.resource import ApiResource

EVENT_TTL_SECONDS: Final = 3600.0
"""Time that the API server keeps an Event after its last write (rules: event-counts)."""
_RELIST_CODES: Final = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.NOT_FOUND})


class ListAt(NamedTuple):
    """The version at which a list is requested, and its resourceVersionMatch."""

    version: str
    match: str = ""


class Progress:
    """Tracks one stream. It resumes at the stored `version`, or starts with a list if that is empty.

    An empty `namespace` means all namespaces.
    """

    def __init__(self, resource: ApiResource[Any], version: str, namespace: str = "") -> None:
        self.version = version
        self.list_is_due = not version
        self.inventory_is_due = bool(version)
        """True while the objects at the resumed version are unknown."""
        self.gap = ""
        """Reason why versions may have been missed since the last emitted one; empty if none can have been."""
        self._resource = resource
        self._namespace = namespace
        self._paths = resource.served_at(namespace)
        self._paths_missing = 0
        self._version_is_unavailable = False
        self._has_caught_up = False
        self._opened_at: datetime | None = None
        self._contact_at_seconds = -math.inf
        self.complete_at: datetime | None = None
        """Wall-clock time until which every change is emitted; None if it is unknown."""

    @property
    def path(self) -> str:
        """Return the path at which the API server serves the resource, as far as is known."""
        return self._paths[0]

    @property
    def absent(self) -> bool:
        """True if the cluster does not have this custom resource at any of its paths."""
        return self._paths_missing >= len(self._paths)

    @property
    def awaits_first_list(self) -> bool:
        """True until the first list, if no version was stored."""
        return not self.version

    def contacted(self, at_seconds: float) -> None:
        """Record that the path answered; `at_seconds` is by the monotonic clock."""
        self._paths_missing = 0
        self._contact_at_seconds = at_seconds

    def opened(self, at: datetime) -> None:
        """Record that a watch began. Until its first bookmark it repeats the changes since its version.

        A resource without bookmarks counts as complete at once.
        """
        self._has_caught_up, self._opened_at = not self._resource.bookmarks, at
        self.seen_until(at)

    def bookmarked(self) -> None:
        """Record a bookmark: everything before it was received."""
        self._has_caught_up = True

    def seen_until(self, at: datetime) -> None:
        """Record that every change until `at` is emitted. This counts once a watch has caught up."""
        if self._has_caught_up:
            self.complete_at = at

    def ended(self) -> None:
        """Record that a watch ended at its timeout. It had every change from before it was opened."""
        self.bookmarked()
        if self._opened_at is not None:
            self.seen_until(max(self._opened_at, self.complete_at or self._opened_at))

    def reached(self, version: str) -> None:
        """Record that everything up to this version is emitted; an empty version changes nothing."""
        self.version = version or self.version

    def list_at(self) -> ListAt:
        """Return a version no older than the last one.

        It is the most recent version if none is known, if the server refused the last one, or before a watch
        delivered anything. It is never any cached state (`0`), because a server that lags would lack objects that the
        logs already have.
        """
        if self._version_is_unavailable or self.complete_at is None:
            return ListAt("")
        return ListAt(self.version, "NotOlderThan") if self.version not in {"", "0"} else ListAt("")

    def listed(self, version: str, at_seconds: float, began: datetime) -> None:
        """Record that a complete list closed the gap. It lacks the changes made while its pages were read."""
        self._paths_missing, self.complete_at = 0, began
        self.version, self.gap = version, ""
        self.list_is_due = self._version_is_unavailable = False
        self._contact_at_seconds = at_seconds

    def nothing_was_missed(self, changes: int, now_seconds: float) -> bool:
        """Return True for Events if a list after a short gap has nothing new: an Event of the gap would still exist.

        Return False for other resources, whose objects can be deleted unseen. Their stream has no bookmarks, and
        without events its version becomes too old (rules: list-and-watch).
        """
        silent_seconds = now_seconds - self._contact_at_seconds
        return not changes and not self._resource.deletion_is_news and silent_seconds < EVENT_TTL_SECONDS

    def cannot_resume(self, error: ApiError) -> bool:
        """Return True if the server no longer has the version, does not have it yet, or calls it invalid."""
        return error.expired or error.too_large_version or error.code == HTTPStatus.BAD_REQUEST

    def lost(self, why: str) -> None:
        """Record that a watch cannot continue at the version, so a new list is due."""
        self.gap, self.list_is_due = why, True

    def refused(self, error: ApiError) -> str:
        """Decide how to continue after an error; return the text to report, or an empty one.

        For an optional resource, the next path is tried. A list that is refused at its version is requested at the
        most recent one, and a refused watch is followed by a list.
        """
        if error.code == HTTPStatus.NOT_FOUND and self._resource.optional:
            self.list_is_due = True
            self._paths.append(self._paths.pop(0))
            self._paths_missing += 1
            return ""
        unavailable = error.expired or error.too_large_version
        if self.list_is_due and not self._version_is_unavailable and unavailable:
            self._version_is_unavailable = True
            return ""
        if not self.list_is_due and (unavailable or error.code in _RELIST_CODES):
            self.lost(str(error))
            return ""
        if error.code == HTTPStatus.FORBIDDEN:
            role = "Role" if self._namespace else "ClusterRole"
            return f"{error}: allow list and watch on {self._resource.name} in the {role}"
        if error.code == HTTPStatus.UNAUTHORIZED:
            return f"{error}: check the credentials"
        return str(error)


SOON_SECONDS: Final = 10.0
"""Delay before a comparison after the server was unavailable."""
ANSWER_SECONDS: Final = 15.0
"""Minimum wait for a comparison, in which a server can start a watch after an outage."""
PAUSE_SECONDS: Final = 300.0
"""Minimum time between two comparisons, in case the server restarts repeatedly.

It does not apply after versions went back.
"""
EVERY_SECONDS: Final = 4 * 3600.0
"""Mean time between two comparisons with a full list."""
JITTER: Final = 0.5
"""Relative variation of that time, so that watches do not all list at once."""


def went_back(version: str, before: str) -> bool:
    """Tell whether a version is older than the previous one; False if one of them is not a number."""
    return version.isdecimal() and before.isdecimal() and int(version) < int(before)


class Reconciling:
    """Schedules the next reconciliation of a watch with a list."""

    def __init__(self, clock: Clock) -> None:
        self.must_emit_all = False
        """True if the next comparison must emit every object: an earlier process's messages are unknown."""
        self._resumes = False
        """True after resuming at a version older than the last published one, so that a watch must run first."""
        self._clock = clock
        self._due_at_seconds = math.inf
        self._not_before_seconds = -math.inf

    @property
    def is_due(self) -> bool:
        return not self._resumes and self._clock.monotonic() >= self._due_at_seconds

    @property
    def due_in_seconds(self) -> float:
        """Return the time until the next comparison, at least ANSWER_SECONDS."""
        return max(ANSWER_SECONDS, self._due_at_seconds - self._clock.monotonic())

    def resumed(self) -> None:
        """Record that the stream resumed at a stored version; the watch then repeats everything published since."""
        self.must_emit_all = self._resumes = True
        self.schedule_soon()

    def watched(self) -> None:
        self._resumes = False

    def schedule_soon(self) -> None:
        """Schedule a comparison after an outage, but not after every one of a server that restarts repeatedly."""
        self._due_at_seconds = min(self._due_at_seconds, max(self._after(SOON_SECONDS), self._not_before_seconds))

    def schedule_now(self) -> None:
        """Make the comparison due at once, because versions went back."""
        self._due_at_seconds = self._clock.monotonic()

    def started(self) -> None:
        """Schedule a retry, in case this comparison fails."""
        self._not_before_seconds = self._due_at_seconds = self._after(PAUSE_SECONDS)

    def done(self) -> None:
        self.must_emit_all = False
        self._due_at_seconds = self._after(EVERY_SECONDS)

    def listed(self) -> None:
        """Record a list, which replaces the comparison unless a comparison must emit every object."""
        if not self.must_emit_all:
            self.done()

    def _after(self, seconds: float) -> float:
        return self._clock.monotonic() + seconds * (1 - JITTER + 2 * JITTER * self._clock.random())
