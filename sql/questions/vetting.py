"""Vets users' own statements against lists: everything else is refused.

The engine's `formatQuery` brings a statement into the engine's own form. That text is checked here, token by token,
and that text is executed. It has no comments, one way to quote, and keywords in capitals, so a token means the same
here and in the engine.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from common.text import nearest
from sql.database.errors import FORBIDDEN, UNKNOWN_FUNCTION, QueryFailed
from sql.database.open import Database

ALLOWED: Final = Path(__file__).parent / "allowed"
TABLE_FUNCTIONS: Final = frozenset(
    {"generate_series", "generateseries", "numbers", "numbers_mt", "primes", "view", "zeros", "zeros_mt"}
)
"""None takes a text that the engine reads as columns: `values('a String ALIAS hostName()', ...)` calls a function."""
SYSTEM_TABLES: Final = frozenset({"columns", "data_type_families", "functions", "numbers", "one"})
"""Tables of the database `system` that describe the schema and the language. `tables` and `databases` also have paths
of the machine.
"""
SETTINGS: Final = frozenset(
    {"final", "join_algorithm", "join_use_nulls", "limit", "max_execution_time", "max_threads", "offset"}
)
"""Settings that a statement may set while no others wait for the database."""
BOUNDED: Final = frozenset({"final"})
"""Settings that a statement may set within limits."""
COMBINATORS: Final = re.compile(
    r"(?<=\w)(?:If|Array|Map|SimpleState|State|Merge|ForEach|Distinct|OrDefault|OrNull|Resample|ArgMin|ArgMax|Tuple)\Z"
)
STATEMENTS: Final = ("SELECT", "WITH", "(", "SHOW", "DESCRIBE", "EXPLAIN")
"""Start of a formatted statement that reads."""
_TOKEN: Final = re.compile(
    r"(?P<space>[ \t\n]+)"
    r"|(?P<string>'(?:[^'\\]|\\.|'')*')"
    r"|(?P<quoted>`(?:[^`\\]|\\.|``)*`)"
    r"|(?P<parameter>\{[A-Za-z_]\w*:(?:[\w ,()]|'[\w/+ -]*')+\})"  # the engine repeats a type as it was written
    r"|(?P<number>\d+(?:\.\d*)?(?:e[+-]?\d+)?)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<comment>--|/\*|//)"
    r"|(?P<sign>[-+*/%=<>!|&^~?:.,()\[\]])",
    re.ASCII | re.DOTALL,
)
_PARAMETER: Final = re.compile(r"\{([A-Za-z_]\w*):", re.ASCII)
_OTHERS: Final = "SELECT lower(name) FROM system.databases WHERE name != currentDatabase()"
_LANGUAGE: Final = """
SELECT (SELECT groupArray(lower(name)) FROM system.functions),
    (SELECT groupArray(lower(name)) FROM system.table_functions),
    (SELECT groupUniqArray(arrayJoin(splitByChar(' ', keyword))) FROM system.keywords)
"""


class Language(NamedTuple):
    """Words with a meaning in the engine's SQL."""

    functions: frozenset[str]
    """In lower case."""
    table_functions: frozenset[str]
    """In lower case."""
    keywords: frozenset[str]

    def has(self, function: str) -> bool:
        """Tell whether there is such a function; an aggregate's name may end in combinators."""
        return any(each in self.functions or each in self.table_functions for each in _shorter(function))


class Token(NamedTuple):
    kind: str
    text: str
    """Return a name without its quotes."""

    @property
    def is_name(self) -> bool:
        return self.kind in {"word", "quoted"}


_PARENTHESIS: Final = Token("sign", "(")
_DOT: Final = Token("sign", ".")
_END: Final = Token("end", "")
_languages: WeakKeyDictionary[Database, Language] = WeakKeyDictionary()


def vet(db: Database, sql: str, *, bounded: bool) -> str:
    """Return the engine's own form of `sql`, to run. Raises QueryFailed if it is not allowed.

    If `bounded`, the statement may not set limits.
    """
    formatted = as_formatted(db, sql)
    others = frozenset(name for (name,) in db.query(_OTHERS).rows)
    check(formatted, _language(db), others, BOUNDED if bounded else SETTINGS)
    return formatted


def as_formatted(db: Database, sql: str) -> str:
    """Return the engine's own form of any statement. Raises QueryFailed for text that is not a statement."""
    return str(db.query("SELECT formatQuery({sql:String})", {"sql": sql}).rows[0][0])


def check(formatted: str, language: Language, others: frozenset[str], settings: frozenset[str]) -> None:
    """Raise QueryFailed with the reason if a statement is not allowed.

    `others` are databases in lower case, `settings` the allowed settings.
    """
    if not formatted.startswith(STATEMENTS):
        raise refusal("only SELECT, SHOW, DESCRIBE and EXPLAIN are answered here")
    found = list(tokens(formatted.replace("SHOW CREATE TABLE", "SHOW TABLE", 1)))
    for index, token in enumerate(found):
        before, after = at(found, index - 1), at(found, index + 1)
        if token.kind == "parameter":
            _check_parameter(token.text)
        elif token.kind == "word" and token.text in language.keywords and token.text.isupper():
            _check_keyword(token.text, after)
            if token.text == "SETTINGS":
                _check_settings(found[index + 1 :], settings)
        elif token.is_name:
            _check_function(token.text, before, after, language)
            if after == _DOT and token.text.lower() in others:
                _check_table(token.text, at(found, index + 2))


@cache
def functions() -> frozenset[str]:
    """Return the allowed functions in lower case, without the combinators of aggregates."""
    return frozenset(name.lower() for name in words("functions"))


@cache
def words(name: str) -> frozenset[str]:
    """Return a list of `ALLOWED`."""
    lines = (ALLOWED / f"{name}.txt").read_text("utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def is_allowed(function: str) -> bool:
    """Tell whether a function may be called; an aggregate's name may end in combinators."""
    return function.lower() in TABLE_FUNCTIONS or any(each in functions() for each in _shorter(function))


def _shorter(function: str) -> Iterator[str]:
    """Yield the name in lower case, then with one combinator less each time."""
    while function:
        yield function.lower()
        without = COMBINATORS.sub("", function)
        if without == function:
            return
        function = without


def refusal(why: str) -> QueryFailed:
    """Return the error to raise for a refused statement."""
    return QueryFailed(why, min(FORBIDDEN))


def _language(db: Database) -> Language:
    """Cached, because listing the functions takes 0.1 s."""
    if db not in _languages:
        _languages[db] = Language(*map(frozenset, db.query(_LANGUAGE).rows[0]))
    return _languages[db]


def tokens(formatted: str) -> Iterator[Token]:
    """Yield the tokens of a formatted statement. Raises QueryFailed for text that cannot be part of a question."""
    index = 0
    while index < len(formatted):
        found = _TOKEN.match(formatted, index)
        if found is None and (parameter := _PARAMETER.match(formatted, index)):
            raise refusal(
                f"the type of the parameter {parameter[1]} has a sign that is not allowed: give a plain one, such as "
                f"{{{parameter[1]}:String}} or {{{parameter[1]}:Array(UInt8)}}"
            )
        if found is None or found.lastgroup in {None, "comment"}:
            raise refusal(f"{formatted[index : index + 20]!r} cannot be part of a question")
        index = found.end()
        if found.lastgroup == "quoted":
            yield Token("quoted", found[0][1:-1])
        elif found.lastgroup != "space":
            yield Token(str(found.lastgroup), found[0])


def at(found: Sequence[Token], index: int) -> Token:
    """Return the token there; beyond the last one, a token of kind `end`."""
    return found[index] if 0 <= index < len(found) else _END


def _check_parameter(text: str) -> None:
    if "identifier" in text.lower():
        raise refusal(
            f"{text[:80]} cannot be a parameter: give values as parameters, and write names into the question"
        )


def _check_keyword(word: str, after: Token) -> None:
    if word == "EXISTS" and after != _PARENTHESIS:
        raise refusal("EXISTS is allowed before a subquery only: ask SHOW TABLES")
    if word not in words("keywords") and not (after == _PARENTHESIS and is_allowed(word)):  # such as CAST
        raise refusal(
            f"{word} is not allowed in a question. Leave it out; a name that is written so has to be in lower case"
        )


def _check_function(name: str, before: Token, after: Token, language: Language) -> None:
    """Refuse a forbidden function. A bare name can call one too: `APPLY name`, `arrayMap(name, values)`."""
    if "/" in name:  # the embedded engine would open it as a file, and reveal whether it exists
        raise refusal(f"the name {name[:80]} has a slash: choose another")
    called = after == _PARENTHESIS or (before == Token("word", "APPLY") and after.text != "-")
    bare = name.lower() in language.functions and _DOT not in {before, after}
    if (called or bare) and not is_allowed(name):
        if not language.has(name):
            raise QueryFailed(
                f"there is no function {name[:80]}. {nearest(name.lower(), functions())}".rstrip(), UNKNOWN_FUNCTION
            )
        raise refusal(
            f"the function {name[:80]} is not allowed in a question, which may only compute from stored data. "
            "Leave it out; a column or an alias needs another name. What is allowed: docs/sql.md"
        )


def _check_table(database: str, table: Token) -> None:
    if database != "system" or not table.is_name or table.text not in SYSTEM_TABLES:
        raise refusal(
            f"{database[:80]}.{table.text[:80]} is not a table of this database. A question may also read "
            f"{', '.join(f'system.{each}' for each in sorted(SYSTEM_TABLES))}"
        )


def _check_settings(given: Sequence[Token], allowed: frozenset[str]) -> None:
    for index in range(0, len(given), 4):
        name, equals, value, comma = (at(given, index + nth) for nth in range(4))
        if not name.is_name or name.text not in allowed:
            raise refusal(
                f"the setting {name.text[:80]} is not allowed in a question. Allowed are {', '.join(sorted(allowed))}"
            )
        if equals.text != "=" or value.kind not in {"number", "string", "word"}:
            raise refusal(f"the setting {name.text} must be a number or a text")
        if comma != Token("sign", ","):
            return
