"""A reader's own SQL: it only reads."""

import re
from collections.abc import Mapping
from typing import Final

from sql.database.errors import FORBIDDEN, QueryFailed
from sql.database.open import Database, Result
from sql.questions.limits import Limits, check_bounded

_READ_ONLY: Final = {"readonly": 1}
"""A server refuses every function that reaches outside of it; the embedded engine's reader has no grant for one."""
_READER: Final = [("GRANT SHOW, SELECT ON *.* TO default",)]
"""All that the embedded engine's user may, where the database was opened to read."""
_OUTSIDE: Final = re.compile(
    r"(?P<found>\bINTO\s+OUTFILE\b|`?\bfile\b`?|`?\b(?:ai|AI)[A-Z]\w*`?|\ADESCRIBE TABLE \w+\()"
    r"|'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`|\"(?:[^\"\\]|\\.)*\"",
    re.DOTALL,
)
"""What no grant and no setting forbids, in a statement that the engine has formatted: there is no comment in it, and
literals and quoted names are well formed. The scalar function `file` can be given by name alone, as `APPLY file`."""


def ask(db: Database, sql: str, given: Mapping[str, str], limits: Limits | None = None) -> Result:
    """The answer to one statement; `db` is open to read. Raises QueryFailed for what writes or reaches outside.

    With `limits` it only reads, cannot lift them, and is refused where the engine's user could do more: in a process
    that also writes an embedded database, a quoted name is a file, and `url()` connects.
    """
    if limits and db.embedded and db.query("SHOW GRANTS").rows != _READER:
        raise QueryFailed(
            "SQL of your own is not answered by a process that also writes the database, for it could reach files "
            "and other machines: ask a saved question, or stop it and run leadsman query",
            min(FORBIDDEN),
        )
    formatted = db.query("SELECT formatQuery({sql:String})", {"sql": sql}).rows[0][0]
    for match in _OUTSIDE.finditer(formatted):
        if match["found"]:
            raise QueryFailed(f"{db}: {match['found']} reaches outside of the database", min(FORBIDDEN))
    if limits:
        check_bounded(_OUTSIDE.sub("", formatted))
    return db.query(sql, given, (limits.settings() if limits else {}) | ({} if db.embedded else _READ_ONLY))
