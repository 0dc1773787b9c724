"""Retries a database that accepts nothing for a while: a restarting server, or a full disk."""

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from common.clock import SYSTEM, Backoff
from sql.database.errors import DatabaseError
from sql.database.open import Database, Result

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_BACKOFF_SECONDS: Final = 0.2
LONGEST_BACKOFF_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.2
"""A stop ends the wait within this time."""
Found = TypeVar("Found")


class RetryingDatabase(Database):
    """A database that retries. It waits, so use it in threads.

    It raises permanent errors, and every error after a stop. Each insert has a token, so an insert that is repeated
    because its answer was lost stores its rows once.
    """

    def __init__(self, database: Database, is_stopped: Callable[[], bool], report: Callable[[str], None]) -> None:
        """`report` gets one line when retrying begins, and one when the database is back."""
        super().__init__(*database.connection())
        self._is_stopped = is_stopped
        self._report = report
        self._refusal = ""

    def why_not(self) -> Iterator[str]:
        """Yield reasons for /readyz."""
        if self._refusal:
            yield f"the database accepts no data now: {self._refusal}"

    def insert(self, table: str, columns: "pa.Table", token: str | None = None) -> None:
        self._patiently(partial(super().insert, table, columns, token or uuid.uuid4().hex))

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._patiently(partial(super().command, sql, parameters))

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        described: bool = True,
    ) -> Result:
        return self._patiently(partial(super().query, sql, parameters, settings, described=described))

    def _patiently(self, act: Callable[[], Found]) -> Found:
        backoff = Backoff(
            SYSTEM, initial_seconds=FIRST_BACKOFF_SECONDS, limit_seconds=LONGEST_BACKOFF_SECONDS, jitter=0.0
        )
        while True:
            try:
                found = act()
            except DatabaseError as error:
                if error.lasting or self._is_stopped():
                    raise
                if not self._refusal:
                    self._report(f"the database accepts no data now; retrying: {error}")
                self._refusal = str(error)
                self._wait(backoff.next_seconds())
            else:
                if self._refusal:
                    self._refusal = ""
                    self._report("the database is back")
                return found

    def _wait(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and not self._is_stopped():
            time.sleep(min(left, LOOK_SECONDS))
