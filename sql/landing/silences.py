"""Stores silences in the database, and answers requests about them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, TypeAlias

import msgspec

from common.amounts import counted
from sql.database.errors import QueryFailed
from sql.database.open import Database
from streams.alerting.silences import BadSilence, Matcher, Silence

_READ: Final = """
SELECT id, matchers, starts_at, ends_at, created_by, comment, updated_at
FROM silences FINAL ORDER BY ends_at DESC, starts_at DESC, id
"""
_STORE: Final = """
INSERT INTO silences SELECT {id:String}, {matchers:Array(Tuple(String, String, String))}, {starts_at:DateTime64(6)},
    {ends_at:DateTime64(6)}, {created_by:String}, {comment:String}, {updated_at:DateTime64(6)}
"""


class Add(msgspec.Struct, tag=True, frozen=True):
    silence: Silence


class Expire(msgspec.Struct, tag=True, frozen=True):
    id: str
    """The id; its first digits are enough if they are unique."""
    at: datetime


class List(msgspec.Struct, tag=True, frozen=True):
    """Lists all silences."""


Request: TypeAlias = Add | Expire | List


def answer(database: Database, request: Request) -> Sequence[Silence]:
    """Answer a request: with the created or expired silence, or all of them. Raises BadSilence and DatabaseError."""
    match request:
        case Add(silence):
            _check_patterns(database, silence)
            _store(database, silence)
            return [silence]
        case Expire(id, at):
            found = [each for each in read_silences(database) if id and each.id.startswith(id)]
            if len(found) != 1:
                have = counted(len(found), "silence has", "silences have") if found else "no silence has"
                raise BadSilence(f"{have} an id with that prefix: see leadsman silence list")
            _store(database, found[0].expired(at))
            return [found[0].expired(at)]
        case _:
            return read_silences(database)


def read_silences(database: Database) -> list[Silence]:
    """Read all silences, the latest end first. Raises DatabaseError."""
    if "silences" in database.empty_tables:
        return []
    return [
        Silence(id, tuple(Matcher(*each) for each in matchers), *others)
        for id, matchers, *others in database.query(_READ, described=False).rows  # noqa: A001  # as the column
    ]


def _store(database: Database, silence: Silence) -> None:
    values = msgspec.structs.asdict(silence)
    database.command(_STORE, {**values, "matchers": [tuple(each) for each in silence.matchers]})


def _check_patterns(database: Database, silence: Silence) -> None:
    """Check patterns with the engine's RE2, which is also Alertmanager's: no lookaround, no backreferences."""
    for each in silence.matchers:
        if "~" in each.operator:
            try:
                database.query("SELECT match('', {pattern:String})", {"pattern": each.value})
            except QueryFailed:
                raise BadSilence(f"{each}: RE2 does not have such a regular expression") from None
