"""Limits the cost of one question, because others wait for the same database."""

from typing import Any, Final, NamedTuple

MIB: Final = 1 << 20


class Limits(NamedTuple):
    rows: int
    """Maximum number of rows; an answer that was cut has one more."""
    seconds: int
    memory_bytes: int
    answer_bytes: int

    def settings(self, *, embedded: bool) -> dict[str, Any]:
        """Return ClickHouse's settings.

        The embedded engine would add rows beyond max_result_bytes to the next query's answer.
        """
        settings = {"limit": self.rows + 1, "max_execution_time": self.seconds, "max_memory_usage": self.memory_bytes}
        return settings if embedded else settings | {"max_result_bytes": self.answer_bytes}


SHARED: Final = Limits(rows=1000, seconds=5, memory_bytes=256 * MIB, answer_bytes=16 * MIB)
"""Limits for users' own SQL if a page, or a process that watches a cluster, waits for the same database."""
