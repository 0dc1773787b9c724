"""Answers a reader's own SQL, read-only. An error names the place of the mistake and the likely name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from common.text import nearest, plain
from sql.database.errors import SYNTAX, UNKNOWN_COLUMN, UNKNOWN_PARAMETER, UNKNOWN_TABLE, QueryFailed
from sql.database.held import SocketDatabase
from sql.database.open import Database, Result, bound
from sql.questions.frames import OWN, SqlReply, SqlRequest
from sql.questions.limits import SHARED, Limits
from sql.questions.vetting import Token, as_formatted, at, refusal, tokens, vet, words

_NO_FILE: Final = "READ ON FILE"
"""The embedded engine looks for a file if no table has the name."""
_PLACE: Final = re.compile(r"failed at position (\d+)")
_REASON: Final = re.compile(
    r"Empty query|Multi-statements are not allowed|'.' at position \d+ is never closed|"
    r"\w+ quoted string is not closed"
)
_COLUMN: Final = re.compile(r"identifier [`']([^`']+)[`']|columns: '([^']+)'", re.IGNORECASE)
_HINT: Final = re.compile(r"Maybe you meant: \['([^']+)'")
_PARAMETER: Final = re.compile(r"Substitution `(\w+)`")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_AROUND: Final = 40
"""Number of characters that are shown on each side of the place."""
_LISTED: Final = 12
_SHORTEST: Final = 3
_TABLES: Final = "SELECT name FROM system.tables WHERE database = currentDatabase() AND NOT endsWith(name, '_feed')"
_COLUMNS: Final = """
SELECT table, name FROM system.columns WHERE database = currentDatabase() AND has({tables:Array(String)}, table)
ORDER BY table, position
"""


def explained(db: Database, sql: str, error: QueryFailed) -> QueryFailed:
    """Return the error with the likely correction; unchanged if nothing looks mistyped."""
    if error.code == SYNTAX:
        return QueryFailed(_syntax(sql, str(error)), SYNTAX)
    if error.code == UNKNOWN_COLUMN and (found := _COLUMN.search(str(error))):
        return QueryFailed(_no_column(db, sql, found[1] or found[2], _HINT.search(str(error))), UNKNOWN_COLUMN)
    if error.code == UNKNOWN_PARAMETER and (found := _PARAMETER.search(str(error))):
        return QueryFailed(f"no value was given for {{{found[1]}}}: give the parameter {found[1]}", UNKNOWN_PARAMETER)
    if error.code == UNKNOWN_TABLE or _NO_FILE in str(error):
        known = {name for (name,) in db.query(_TABLES).rows}
        unknown = next((name for name in _tables_of(db, sql) if name not in known), None)
        if unknown is not None:
            return QueryFailed(_no_table(unknown, known), UNKNOWN_TABLE)
    return error


def _syntax(sql: str, message: str) -> str:
    reason = _REASON.search(message)
    found = _PLACE.search(message)
    if found is None:
        return f"syntax error: {reason[0]}" if reason else message
    at_byte = int(found[1]) - 1
    before, after = (part.decode(errors="replace") for part in (sql.encode()[:at_byte], sql.encode()[at_byte:]))
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    hint = (reason[0] if reason else "") or _keyword(before, after)
    here = f'"{_cut(after)}"' if after.strip() else "the end"
    text = f"syntax error at line {line}, column {column}, at {here}"
    text += f' after "{_cut(before, end=True)}"' if before.strip() else ""
    return f"{text}. {hint}".rstrip(". ")


def _cut(text: str, *, end: bool = False) -> str:
    """Shorten the text next to the place to `_AROUND` characters on one line."""
    flat = " ".join(text.split())
    if len(flat) <= _AROUND:
        return plain(flat)
    return plain(f"...{flat[-_AROUND:]}" if end else f"{flat[:_AROUND]}...")


def _keyword(before: str, after: str) -> str:
    """Return the keyword that was probably meant by the word at the place, or by the one before it."""
    known = words("keywords")
    for word in (*_WORD.findall(after)[:1], *_WORD.findall(before)[-1:]):
        if len(word) >= _SHORTEST and word.upper() not in known and (hint := nearest(word.upper(), known)):
            return hint
    return ""


def _no_table(name: str, known: Iterable[str]) -> str:
    hint = nearest(name, known)
    if not hint:
        similar = sorted(each for each in known if len(name) >= _SHORTEST and name.removesuffix("s") in each)
        hint = f"Similar: {', '.join(similar[:_LISTED])}" if similar else "SHOW TABLES lists them"
    return f"there is no table or view {plain(name)}. {hint}"


def _no_column(db: Database, sql: str, name: str, engine: re.Match[str] | None) -> str:
    tables = list(dict.fromkeys(_tables_of(db, sql)))
    found = db.query(_COLUMNS, {"tables": tables}).rows
    known, column_name = [column for _, column in found], name.rpartition(".")[2]
    if column_name in known:
        having = [table for table, column in found if column == column_name]
        lacking = sorted({table for table, _ in found} - set(having))
        who_has = f"Only {', '.join(having)} {'has' if len(having) == 1 else 'have'} it"
        return f"there is no column {plain(name)}{f' in {lacking[0]}' if lacking else ''}. {who_has}"
    hint = f"Did you mean {plain(engine[1])}?" if engine else nearest(column_name, known)
    if not hint and known:
        more = f" and {len(known) - _LISTED} more: DESCRIBE TABLE {tables[0]}" if len(known) > _LISTED else ""
        hint = f"Columns: {', '.join(known[:_LISTED])}{more}"
    return f"there is no column {plain(name)}. {hint}".rstrip(". ")


def _tables_of(db: Database, sql: str) -> Iterator[str]:
    """Yield the names from which a statement reads, without those that it defines."""
    found = list(tokens(as_formatted(db, sql)))
    own = {
        token.text
        for index, token in enumerate(found)
        if token.is_name and at(found, index + 1).text == "AS" and at(found, index + 2).text == "("
    }
    for index, token in enumerate(found):
        if token.kind == "word" and token.text in {"FROM", "JOIN", "TABLE", "DESCRIBE", "IN"}:
            yield from (name for name in _listed(found, index + 1) if name not in own)


def _listed(found: list[Token], index: int) -> Iterator[str]:
    """Yield the names there, separated by commas; without the database, if a name has one."""
    while at(found, index).is_name:
        if at(found, index + 1).text == ".":
            index += 2
        if at(found, index + 1).text == "(" or at(found, index).text == "TABLE":
            return
        yield at(found, index).text
        index += 3 if at(found, index + 1).text == "AS" else 1
        if at(found, index).text != ",":
            return
        index += 1


_READ_ONLY: Final = {"readonly": 1}
"""A server refuses every function that reaches outside of it; the embedded engine's reader lacks the grants."""
_READER: Final = [("GRANT SHOW, SELECT ON *.* TO default",)]
"""Every right of the embedded engine's user if the database was opened to read."""


def ask(db: Database, sql: str, given: Mapping[str, str], limits: Limits | None = None) -> Result:
    """Answer one statement; `db` is open to read. Raises QueryFailed for what `sql.questions.vetting` refuses.

    With `limits`, the statement cannot change them, and is refused if the engine's user may do more than read. In a
    process that also writes an embedded database, a quoted name is a file, and `url()` connects. Another process that
    holds the database answers within its own limits.
    """
    if isinstance(db, SocketDatabase):
        return _ask_there(db, SqlRequest(sql, dict(given), limits or SHARED))
    if limits:
        check_reader(db)
    settings = (limits.settings(embedded=db.embedded) if limits else {}) | ({} if db.embedded else _READ_ONLY)
    try:
        return db.query(vet(db, sql, bounded=limits is not None), given, settings)
    except QueryFailed as error:
        raise explained(db, sql, error) from None


def run_freely(db: Database, sql: str, given: Mapping[str, str]) -> Result:
    """Answer one statement with all rights of the database's user. Raises QueryFailed."""
    try:
        return db.query(sql, given)
    except QueryFailed as error:
        raise explained(db, sql, error) from None


def check_reader(db: Database) -> None:
    """Check the grants. Raises QueryFailed if the embedded engine's user may do more than read."""
    if db.embedded and not only_reads(db):
        raise refusal(
            "your own SQL is not allowed in a process that also writes the database, because it could reach files "
            "and other machines: ask a saved question, or stop that process and run leadsman query"
        )


def only_reads(db: Database) -> bool:
    """Tell whether this process opened the embedded engine to read, so that its tables never change."""
    return db.query("SHOW GRANTS").rows == _READER


def _ask_there(db: SocketDatabase, request: SqlRequest) -> Result:
    bound(request.sql, request.given)
    reply = msgspec.msgpack.decode(db.post(OWN, msgspec.msgpack.encode(request)), type=SqlReply)
    if reply.problem:
        raise QueryFailed(reply.problem, reply.code)
    return Result(reply.column_names, reply.column_types, reply.rows)
