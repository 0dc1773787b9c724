"""Lists the statements of tables and views with their dependencies, and makes a database with only the named ones."""

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sql.database.open import Database, Result, RowStream
from sql.schema.migrate import load_migrations
from sql.schema.views import load_views

_NAMED: Final = re.compile(r"--[^\n]*|'(?:[^'\\]|\\.)*'|\b(?:FROM|JOIN|INTO|TABLE|TO)\s+(\w+)")
_MADE: Final = re.compile(r"CREATE (TABLE|MATERIALIZED VIEW) IF NOT EXISTS (\w+)")
_UNREAD: Final = re.compile(r"--[^\n]*|'(?:[^'\\]|\\.)*'")
_UNION: Final = re.compile(r"\bUNION (?:ALL|DISTINCT)\b")
_QUERY: Final = re.compile(r"\s*(?:SELECT|WITH)\b")
_PARENTHESES: Final = re.compile(r"([()])")
_FIRST: Final = re.compile(r"\bFROM\s+(\w+|\()")
_OF_OTHERS: Final = re.compile(
    r"\b(?:RIGHT|FULL|INTERSECT|RECURSIVE|TOTALS|FILL|ROLLUP|CUBE|GROUPING)\b|(?<!\* )\bEXCEPT\b"
)
"""Words with which a query can have rows even if its first source is empty."""
AGGREGATE: Final = re.compile(
    r"\b(?:any|arg(?:Max|Min)|avg|count|group\w+|max|min|quantile\w*|simpleLinearRegression|sum|topK|uniq\w*)"
    r"(?:If|Map|Merge|OrNull|State)*\("
)
"""Aggregate functions of questions and views that return a row without GROUP BY, even for no input."""
_ENGINE: Final = "\nENGINE = "
_HAVING: Final = re.compile(r"\bHAVING\b")
_WINDOW: Final = re.compile(r"\bOVER\b")
_OF_WINDOWS: Final = re.compile(r"\b(?:lagInFrame|leadInFrame|row_number|rank|dense_rank)\(")


@cache
def statements() -> Mapping[str, str]:
    """Return each `CREATE ... IF NOT EXISTS` by the name of its table or view."""
    found: dict[str, str] = {}
    for statement in (text for migration in load_migrations() for text in migration.statements):
        made = _MADE.match(statement)
        if made is not None:
            found[made.group(2)] = statement
    return MappingProxyType(found | {view.name: view.create_statement for view in load_views()})


def _empty(statement: str) -> str:
    """Return a statement that makes a table with the same columns and no rows, in a third of the time."""
    return f"{statement[: statement.rindex(_ENGINE)]}{_ENGINE}Merge(currentDatabase(), '^$')"


@cache
def tables() -> frozenset[str]:
    return frozenset(name for name, text in statements().items() if text.startswith("CREATE TABLE"))


def named(sql: str) -> set[str]:
    return {found.group(1) for found in _NAMED.finditer(sql)} & statements().keys()


@cache
def rests_on(name: str) -> frozenset[str]:
    """Return the tables and views that a table or view needs, without itself."""
    needed = frozenset[str]() if name in tables() else frozenset(named(statements()[name]) - {name})
    return needed.union(*map(rests_on, needed))


@cache
def materialized_views_of(table: str) -> Collection[str]:
    """Return the materialized views, named `_feed`, that an insert into a table runs; they fill roll-ups."""
    views = [name for name in statements() if name.endswith("_feed")]
    return [name for name in views if table in rests_on(name) and table != name.removesuffix("_feed")]


def gives_nothing(sql: str, empty: Collection[str]) -> bool:
    """Return True only if a query has no rows while these tables are empty.

    That holds if the first table of each branch of its UNION is empty, or if all tables that it reads are.
    """
    if not empty:
        return False
    first, read = _first_read(_bare(sql)), named(sql)
    if first is not None and first <= set(empty):
        return True
    return bool(read) and not tables() & read.union(*map(rests_on, read)) - set(empty)


@cache
def _first_read(text: str, whole: str = "") -> frozenset[str] | None:
    """Return the tables that must all be empty for a query to have no rows; None if unknown.

    `text` can be part of the `whole` query, which has the common table expressions.
    """
    between = list(_UNION.finditer(_outer(text)))
    starts, ends = [0, *(each.end() for each in between)], [*(each.start() for each in between), len(text)]
    firsts = [_first_of_one(text[start:end], whole or text) for start, end in zip(starts, ends, strict=True)]
    known = [first for first in firsts if first is not None]
    return frozenset[str]().union(*known) if len(known) == len(firsts) else None


def _first_of_one(text: str, whole: str) -> frozenset[str] | None:
    outer = _outer(text)
    source = _FIRST.search(outer)
    if source is None or not _QUERY.match(text) or _OF_OTHERS.search(outer):
        return None
    if "GROUP BY" not in outer and (_aggregates(text[: source.start()]) or _HAVING.search(outer)):
        return None
    name = source.group(1)
    if name == "(":
        return _first_read(_text_in_parentheses(text, source.end()), whole)
    given = [each.end() for each in re.finditer(rf"\b{name}\s+AS\s*\(", whole)]
    if name not in statements():
        return _first_read(_text_in_parentheses(whole, given[0]), whole) if len(given) == 1 else None
    if given:  # a query's own name hides the database's
        return None
    return frozenset({name}) if name in tables() else _first_read(_of_view(name))


def _aggregates(chosen: str) -> bool:
    return len(AGGREGATE.findall(chosen)) + len(_OF_WINDOWS.findall(chosen)) > len(_WINDOW.findall(chosen))


def _of_view(name: str) -> str:
    view = _bare(statements()[name])
    made = re.search(r"\bAS\s", _outer(view))
    return view[made.end() :] if made else ""


def _text_in_parentheses(text: str, start: int) -> str:
    """Return the text from there to the closing parenthesis."""
    return text[start : start + _outer("(" + text[start:]).index(")") - 1]


def _bare(sql: str) -> str:
    """Return the text without comments, and with empty strings."""
    return _UNREAD.sub(lambda found: "''" if found[0].startswith("'") else "", sql)


def _outer(text: str) -> str:
    """Return the text with a dot for each character within parentheses."""
    depth, found = 0, []
    for piece in _PARENTHESES.split(text):
        depth -= piece == ")"
        found.append("." * len(piece) if depth else piece)
        depth += piece == "("
    return "".join(found)


def query_unless_empty(db: Database, sql: str, parameters: Mapping[str, Any] | None = None) -> Result:
    """Run a query, and return its rows; without planning it if every table that it reads is known to be empty.

    An empty answer can then lack the names of columns. Raises DatabaseError.
    """
    if gives_nothing(sql, db.empty_tables):
        return Result((), (), [])
    return db.query(sql, parameters, described=False)


if TYPE_CHECKING:  # importing it takes longer than a query
    import pyarrow as pa


class LazyDatabase(Database):
    """A new Database for one answer, whose tables and views are created when a statement first names them.

    Creating all of them takes longer than everything else that a small dump needs. Only this process writes to it,
    with `insert`, so it knows which tables are empty. Empty tables have only columns.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(*database.connection())
        self._there = set[str]()
        self._filled = set[str]()
        self._bare = set[str]()
        """Tables without an engine of their own."""
        super().command("SET fsync_metadata = 0")  # it need not survive a power loss

    @property
    def empty_tables(self) -> Collection[str]:
        return tables() - self._filled

    def has(self, name: str) -> bool:
        return name in statements()

    def insert(self, table: str, columns: "pa.Table", token: str | None = None) -> None:
        if columns.num_rows:
            views = materialized_views_of(table)
            self._filled |= {table, *(each.removesuffix("_feed") for each in views)}
            for bare in self._filled & self._bare:
                super().command(f"DROP TABLE {bare}")
            self._there -= self._filled & self._bare
            self._bare -= self._filled
            self._make(table, *views)
        super().insert(table, columns, token)

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        self._make(*named(sql))
        super().command(sql, parameters)

    def query(
        self,
        sql: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
        *,
        described: bool = True,
    ) -> Result:
        self._make(*named(sql))
        return super().query(sql, parameters, settings, described=described)

    @contextmanager
    def stream(self, sql: str, parameters: Mapping[str, Any] | None = None) -> Iterator[RowStream]:
        self._make(*named(sql))
        with super().stream(sql, parameters) as found:
            yield found

    def _make(self, *names: str) -> None:
        needed = {*names}.union(*map(rests_on, names)) - self._there
        for name in sorted(needed, key=lambda name: len(rests_on(name))):
            if name in self.empty_tables:
                self._bare.add(name)
            super().command(_empty(statements()[name]) if name in self._bare else statements()[name])
        self._there |= needed
