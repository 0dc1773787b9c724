"""How much one question may cost where others wait for the same database."""

from typing import Any, Final, NamedTuple

from sql.database.errors import FORBIDDEN, QueryFailed

MIB: Final = 1 << 20
_READS: Final = ("SELECT", "WITH", "(", "SHOW", "DESCRIBE", "EXPLAIN", "EXISTS")
"""How a formatted statement begins that reads. Any other could change the session that all share."""


class Limits(NamedTuple):
    rows: int
    """An answer has one more where it was cut."""
    seconds: int
    memory_bytes: int
    answer_bytes: int

    def settings(self) -> dict[str, Any]:
        """As ClickHouse takes them."""
        return {
            "limit": self.rows + 1,
            "max_execution_time": self.seconds,
            "max_memory_usage": self.memory_bytes,
            "max_result_bytes": self.answer_bytes,
        }


def check_bounded(formatted: str) -> None:
    """Raises QueryFailed for a statement that does not read, or could lift its limits.

    `formatted` is by the engine, with literals and quoted names left away.
    """
    if not formatted.startswith(_READS):
        raise QueryFailed("only questions are answered here: SELECT, SHOW, DESCRIBE and EXPLAIN", min(FORBIDDEN))
    if "SETTINGS" in formatted:
        raise QueryFailed("SETTINGS cannot be given here: a question's limits are fixed", min(FORBIDDEN))
