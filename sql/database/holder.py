"""Answers other processes' statements with this process's embedded engine, like ClickHouse's HTTP interface."""

import re
from collections.abc import Generator, Mapping
from typing import Any, Final, NamedTuple, Self

from sql.database import engine
from sql.database.client import EMBEDDED_SETTINGS, READ_ONLY, SETTINGS
from sql.database.dsn import Embedded
from sql.database.open import KILL, SELECT
from sql.database.replicated import quoted

QUERY: Final = "query"
DATABASE: Final = "database"
PARAMETER: Final = "param_"
NAME: Final = "log_comment"
"""The setting by which a statement can be killed."""
_HTTP: Final = frozenset(
    {
        DATABASE,
        QUERY,
        "client_protocol_version",
        "default_format",
        "enable_http_compression",
        "query_id",
        "send_progress_in_http_headers",
        "wait_end_of_query",
    }
)
"""Parameters of the HTTP interface itself; any other is a setting of the engine."""
_NATIVE: Final = re.compile(r"\bFORMAT\s+Native\s*\Z")
_WORD: Final = re.compile(r"\w+", re.ASCII)
_CODE: Final = re.compile(r"Code: (\d+)")


class Refused(Exception):
    """The engine refused the statement; the text is the engine's."""

    @property
    def code(self) -> str:
        """ClickHouse's error number; empty if it has none."""
        found = _CODE.search(str(self))
        return found[1] if found else ""


class Statement(NamedTuple):
    """A read-only statement with its parameters and settings."""

    sql: str
    database: str
    parameters: Mapping[str, str]
    settings: Mapping[str, str]

    @classmethod
    def of(cls, address: Mapping[str, str], form: Mapping[str, str], body: str) -> Self:
        """Read a statement as a client of the HTTP interface sends it: in the address, in a form, or as the body."""
        given = {**address, **form}
        parameters = {
            name.removeprefix(PARAMETER): text for name, text in given.items() if name.startswith(PARAMETER)
        }
        settings = {
            name: text for name, text in given.items() if name not in _HTTP and not name.startswith(PARAMETER)
        }
        return cls(given.get(QUERY, "") + body, given.get(DATABASE, ""), parameters, settings)

    def answer(self, target: Embedded, name: str) -> Generator[bytes]:
        """Yield the answer piece by piece; `kill` ends it by that name. Raises Refused and DatabaseError."""
        settings = {**SETTINGS, **EMBEDDED_SETTINGS, **self.settings, **READ_ONLY, NAME: name}
        with engine.started(target, read_only=True) as handle:
            try:
                handle.query(f"USE {quoted(self.database or target.database)}")
                for key, value in settings.items():
                    handle.query(f"SET {_checked(key)} = {_text(value)}")
                if _NATIVE.search(self.sql) and SELECT.match(self.sql):
                    for piece in handle.send_query(self.sql, "Native", params=self.parameters):
                        yield piece.bytes()
                else:
                    yield handle.query(self.sql, "TabSeparated", params=self.parameters).bytes() or b""
            except RuntimeError as error:
                raise Refused(str(error)) from None


def kill(target: Embedded, name: str) -> None:
    """End the statement with this name, if one runs. Raises DatabaseError."""
    with engine.started(target, read_only=True) as handle:
        handle.query(KILL, params={"name": name})


def _checked(name: str) -> str:
    if not _WORD.fullmatch(name):
        raise Refused(f"{name[:80]!r} is not the name of a setting")
    return name


def _text(value: Any) -> str:
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
