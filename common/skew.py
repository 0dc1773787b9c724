"""Measures the difference between this machine's clock and a server's, by the times in the server's answers."""

import math
from datetime import datetime, timedelta
from typing import Final

import structlog
from prometheus_client import Gauge

from common.clock import SYSTEM
from common.durations import in_words

TOLERATED: Final = timedelta(seconds=5)
"""Tolerance for HTTP dates, which have whole seconds, and for the duration of a request."""
MEND: Final = "timedatectl status, and chronyc tracking, on both machines"
LOG_SECONDS: Final = 600.0
"""Shortest time between two log lines about a skew."""
SECONDS: Final = Gauge(
    "leadsman_clock_skew_seconds", "How far this machine's clock is ahead of a server's, at least", ["server"]
)
log = structlog.get_logger(__name__)


class Skew:
    """Measures the skew against one kind of server, and logs one above TOLERATED at most every LOG_SECONDS."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._next_log = -math.inf

    def measure(self, asked_at: datetime, server_time: datetime, answered_at: datetime) -> None:
        """Compare a server's own time with this clock's times of the request and of the answer."""
        ahead = max(asked_at - server_time, timedelta()) or min(answered_at - server_time, timedelta())
        SECONDS.labels(self._server).set(ahead.total_seconds())
        if abs(ahead) > TOLERATED and SYSTEM.monotonic() >= self._next_log:
            self._next_log = SYSTEM.monotonic() + LOG_SECONDS
            log.warning(
                "the clocks differ: times and ages are off by that much",
                server=self._server,
                this_machine=f"{in_words(abs(ahead).total_seconds())} {'ahead' if ahead > timedelta() else 'behind'}",
                mend=MEND,
            )
