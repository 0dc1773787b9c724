"""Lists and watches one resource until cancelled, like client-go's reflector (delivery.md#watching, rules:
list-and-watch).

Three nested generators: `follow` retries forever, `_list_then_watch` runs until an error, `_watch` is one HTTP call.
"""

import math
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, TypeAlias

import aiohttp
import msgspec
from kubernetes_asyncio.client.api_client import ApiClient

from common.amounts import counted
from common.clock import Backoff, Clock
from common.lines import Line, Splitter
from common.text import plain
from ingest.apiserver.changes import Changes, Key, Step
from ingest.apiserver.progress import ListAt, Progress, Reconciling, went_back
from ingest.apiserver.requests import (
    TRANSPORT_ERRORS,
    ApiError,
    TooLargeError,
    describe_transport_error,
    get,
    keep_alive,
)
from ingest.apiserver.watch_events import HEAD_BYTES, LINE_LIMIT_BYTES, StreamError, pages, read_event, read_oversized
from ingest.model.observation import UNDECODABLE
from ingest.model.reports import Failure, Tally
from ingest.resources.resource import ApiResource

WATCH_TIMEOUT_SECONDS: Final = 300
"""A watch requests a timeout of one to two times this value."""
SILENCE_SECONDS: Final = 100.0
"""A watch that receives no byte for this long is restarted at the same version; bookmarks come about every minute."""
PROBE_PART: Final = 0.1
"""Fraction of SILENCE_SECONDS after which the server is asked to end a watch that follows a silent one.

Bookmarks are not promised (rules: list-and-watch), but an answer that ends in time contained everything that happened
before it started.
"""
OPEN_PART: Final = 0.5
"""An answer that ended before this fraction of the requested time was not ended by the server's own, earlier
timer.
"""
SHORT_WATCH_SECONDS: Final = 1.0
WELL_SECONDS: Final = 10.0
"""A watch that was open for this long resets the backoff.

A longer time would hide that a restored server has another history.
"""
CONNECT_SECONDS: Final = 15.0
ABSENT_SECONDS: Final = 300.0
"""Pause before a custom resource that the cluster lacks is requested again."""


_End: TypeAlias = Callable[[str, int, datetime], Iterator[Step]]
"""The last steps of a list, from its version, the number of changes in it, and its start."""


class _CutError(Exception):
    """A watch ended early without an error of the server: wait, then reopen it at the same version."""


_FAILURES: Final = (_CutError, StreamError, ApiError, TooLargeError, *UNDECODABLE, *TRANSPORT_ERRORS)


class Watch:
    """Follows one resource of one cluster. `version` is the stored version at which to resume; empty to list again.

    With `namespace`, only its objects are listed. `contact` is called with the stream's name for each page of a list,
    line of a watch and 404 of an optional resource. `glance` is called with the name and the text of each existing
    object, even without news. The tally counts `unchanged`, `bookmark`, `oversized`, `undecodable`, `unknown_type`,
    `list`, `gap`, `cut`, `silent` and `failure`.
    """

    def __init__(
        self,
        resource: ApiResource[Any],
        cluster: str,
        client: ApiClient,
        *,
        clock: Clock,
        tally: Tally,
        version: str = "",
        namespace: str = "",
        contact: Callable[[str], None] = lambda _: None,
        glance: Callable[[str, msgspec.Raw], None] = lambda *_: None,
        silence_seconds: float = SILENCE_SECONDS,
        line_limit_bytes: int = LINE_LIMIT_BYTES,
    ) -> None:
        self.resource = resource
        self.failure = Failure(clock)
        self._client = client
        self._clock = clock
        self._contact = contact
        self._silence_seconds = silence_seconds
        self._line_limit_bytes = line_limit_bytes
        self._backoff = Backoff(clock)
        self._changes = Changes(resource, cluster, clock, tally, glance)
        self._progress = Progress(resource, version, namespace)
        self._reconciling = Reconciling(clock)
        self._opened_at_seconds = math.inf
        """Monotonic time when the server began the last watch; infinite before the first and after a failure."""
        self._was_silent = False
        """True if the last watch gave no sign of life."""

    @property
    def absent(self) -> bool:
        """True if the cluster does not have this custom resource."""
        return self._progress.absent

    @property
    def complete_at(self) -> datetime | None:
        """Time until which every change was seen. None before the first complete list, and while a list is due."""
        return None if self._progress.list_is_due else self._progress.complete_at

    @property
    def known(self) -> int:
        """Number of objects that the stream has emitted and that still exist."""
        return self._changes.known

    async def follow(self) -> AsyncGenerator[Step, None]:
        """Yield changes until cancelled. Failures are retried.

        If they need attention, they are emitted as ERROR observations, and repeated every 5 minutes.
        """
        while True:
            try:
                async with aclosing(self._list_then_watch()) as steps:
                    async for seen in steps:
                        yield seen
            except _FAILURES as problem:
                wait_seconds, report = self._failed(problem)
            if report:
                self._changes.count("failure")
            if report and self.failure.should_report(report):
                yield self._changes.error(f"{self.resource.name} cannot be read: {report}")
            if self.absent:
                await self._clock.sleep(ABSENT_SECONDS)
            else:
                await self._backoff.wait(wait_seconds)

    def _failed(self, problem: Exception) -> tuple[float, str]:
        """Return the seconds that the server asks to wait, and a text to report; decide whether a new list is
        needed.
        """
        if self._clock.monotonic() - self._opened_at_seconds >= WELL_SECONDS:
            self._backoff.reset()
        self._opened_at_seconds = math.inf
        if isinstance(problem, _CutError):
            self._changes.count("cut")
            return 0.0, ""
        if isinstance(problem, StreamError):
            if not problem.error.throttled:
                self._progress.lost(str(problem))
            return problem.error.retry_after_seconds, ""
        if isinstance(problem, ApiError):
            report = self._progress.refused(problem)
            if problem.code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                self._reconciling.schedule_soon()
            if problem.code == HTTPStatus.NOT_FOUND and self.resource.optional:
                self._contact(self.resource.name)
            return problem.retry_after_seconds, report
        self._reconciling.schedule_soon()
        return 0.0, describe_transport_error(problem)

    async def _list_then_watch(self) -> AsyncGenerator[Step, None]:
        if self._progress.inventory_is_due:
            await self._take_inventory()
        while True:
            if self._progress.list_is_due:
                async with aclosing(self._list(self._progress.list_at(), self._end_list)) as steps:
                    async for seen in steps:
                        yield seen
            if self._reconciling.is_due:
                async with aclosing(self._compare()) as steps:
                    async for seen in steps:
                        yield seen
            async with aclosing(self._watch()) as steps:
                async for seen in steps:
                    yield seen

    async def _take_inventory(self) -> None:
        """List the objects at the version from which the stream resumes; they were emitted before the restart."""
        try:
            async with aclosing(pages(self._client, self._progress.path, self._progress.version, "Exact")) as listed:
                async for page in listed:
                    for data in page.objects:
                        self._changes.listed(data)
        except ApiError as error:
            if not self._progress.cannot_resume(error):
                raise
            self._changes.forget()
            self._progress.lost(str(error))
        else:
            self._reconciling.resumed()
        self._progress.inventory_is_due = False

    async def _compare(self) -> AsyncGenerator[Step, None]:
        """Yield the differences between a full list at the stream's version and what the stream emitted.

        A later version is used if the server no longer has that one, for example because the resource does not
        change.
        """
        self._reconciling.started()
        if self._reconciling.must_emit_all:
            self._changes.forget()
        for match in ("Exact", "NotOlderThan"):
            try:
                async with aclosing(self._list(ListAt(self._progress.version, match), self._end_comparison)) as steps:
                    async for seen in steps:
                        yield seen
            except ApiError as error:
                if match == "NotOlderThan" or not self._progress.cannot_resume(error):
                    raise
            else:
                return

    async def _list(self, at: ListAt, end: _End) -> AsyncGenerator[Step, None]:
        """Yield changed objects, deletions of known objects that this list lacks, and inventories."""
        present: set[Key | None] = set()
        changes, version, began = 0, "", self._clock.now()
        async with aclosing(pages(self._client, self._progress.path, *at)) as listed:
            async for page in listed:
                version = page.version
                self._contact(self.resource.name)
                for data in page.objects:
                    key, news = self._changes.listed(data)
                    present.add(key)
                    for step in news:
                        changes += key is not None
                        yield step
        for step in self._changes.vanished(present, version):
            changes += 1
            yield step
        if None not in present:
            for step in self._changes.inventory():
                yield step
        for step in end(version, changes, began):
            yield step

    def _end_list(self, version: str, changes: int, began: datetime) -> Iterator[Step]:
        """End a list: emit the gap that it closes, and the version from which the stream continues."""
        progress = self._progress
        back = went_back(version, progress.version)
        if progress.gap and (back or not progress.nothing_was_missed(changes, self._clock.monotonic())):
            self._changes.count("gap")
            yield self._changes.gap(
                f"gap: {self.resource.name} between version {plain(progress.version)} and {plain(version)} "
                f"may not have been seen ({progress.gap}); a new list shows {counted(changes, 'change')}",
                progress.complete_at,
            )
        if progress.awaits_first_list:
            yield self._changes.began(began)
        self._changes.count("list")
        progress.listed(version, self._clock.monotonic(), began)
        self._reconciling.listed()
        yield self._changes.reached(version)

    def _end_comparison(self, version: str, changes: int, began: datetime) -> Iterator[Step]:
        """End a comparison: emit a gap if the list differs from what the watch showed."""
        if changes and not self._reconciling.must_emit_all:
            self._changes.count("gap")
            yield self._changes.gap(
                f"gap: {self.resource.name} until version {plain(self._progress.version)} may not have been seen "
                f"(for example after a restore of etcd); the whole list shows {counted(changes, 'change')}",
                None,
            )
        self._changes.count("list")
        if version != self._progress.version:
            self._progress.listed(version, self._clock.monotonic(), began)
        self._reconciling.done()
        yield self._changes.reached(self._progress.version)

    async def _watch(self) -> AsyncGenerator[Step, None]:
        """One HTTP call: watch from the last version until the server, the network or silence ends it."""
        started, lines_read, asked_seconds = self._clock.monotonic(), 0, self._timeout_seconds()
        self._was_silent, held_seconds = True, 0.0
        silence_seconds = min(self._silence_seconds, self._reconciling.due_in_seconds)
        timeouts = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=silence_seconds)
        async with get(self._client, self._progress.path, self._query(asked_seconds), timeouts) as response:
            keep_alive(response)
            self.failure.recovered()
            self._progress.opened(self._clock.now())
            self._opened_at_seconds = self._clock.monotonic()
            self._reconciling.watched()
            if not self.resource.bookmarks:
                self._contacted()
            splitter = Splitter(self._line_limit_bytes, HEAD_BYTES)
            try:
                async for chunk in response.content.iter_any():
                    at, read_at_seconds = self._clock.now(), self._clock.monotonic()
                    for line in splitter.add(chunk):
                        lines_read += 1
                        self._contacted()
                        for step in self._steps_of(line):
                            yield step
                        self._progress.seen_until(at)
                    if self._reconciling.is_due:
                        return
                    held_seconds += self._clock.monotonic() - read_at_seconds
                self._ended(splitter.rest(), started, self._clock.monotonic() - held_seconds, asked_seconds)
            except TimeoutError:
                self._fell_silent(silence_seconds)
            except (aiohttp.ClientError, OSError) as problem:
                raise _CutError from problem
        if self._clock.monotonic() - started < SHORT_WATCH_SECONDS:
            if not lines_read:
                raise _CutError
            await self._clock.sleep(SHORT_WATCH_SECONDS)

    def _ended(self, rest: Line, started: float, ended: float, asked_seconds: int) -> None:
        """Count the end of an answer as a sign of life if the server's own timer ended it.

        A server also ends the answer to a slow client, and omits what was not sent. So `ended` excludes the time for
        which this process delayed reading.
        """
        is_own = min(ended - started, (ended - self._opened_at_seconds) / OPEN_PART) >= asked_seconds
        if is_own and rest.is_blank:
            self._contacted()
            self._progress.ended()

    def _fell_silent(self, seconds: float) -> None:
        """Count a silence, unless the read timeout only ended the wait for a comparison."""
        if seconds >= self._silence_seconds:
            self._changes.count("silent")

    def _timeout_seconds(self) -> int:
        """Return the timeout to request for the next watch."""
        if self._was_silent:
            return math.ceil(PROBE_PART * self._silence_seconds)
        return int(WATCH_TIMEOUT_SECONDS * (1 + self._clock.random()))

    def _query(self, seconds: int) -> dict[str, str]:
        return {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": self._progress.version,
            "timeoutSeconds": str(seconds),
        }

    def _steps_of(self, line: Line) -> list[Step]:
        """Return the steps of one line of a watch; raises StreamError and UNDECODABLE like `read_event`.

        A line that is nested too deeply is treated as too large, because the server would send it again and again.
        """
        if line.too_long:
            return self._too_large(line)
        try:
            event = read_event(line.data)
        except RecursionError:
            return self._too_large(line)
        if event.type == "BOOKMARK":
            self._progress.bookmarked()
        steps = self._changes.watched(event, self._progress.version)
        if went_back(steps[-1].version, self._progress.version):
            self._reconciling.schedule_now()
        self._progress.reached(steps[-1].version)
        return steps

    def _too_large(self, line: Line) -> list[Step]:
        found = read_oversized(line.data[:HEAD_BYTES], line.size_bytes)
        self._progress.reached(found.version)
        return self._changes.oversized(found, self._progress.version)

    def _contacted(self) -> None:
        self._was_silent = False
        self._progress.contacted(self._clock.monotonic())
        self.failure.recovered()
        self._contact(self.resource.name)
