"""The saved queries: one file per question, its parameters bound and never put into the text.

The first line of a file is `-- ` and what it answers. These lines may follow:

`-- group NAME`: the heading under which it is listed.
`-- form NAME VALUE`: it is NAME asked with by=VALUE; no list has its own name.
`-- needs INPUT, INPUT`: the inputs without which it has no rows.
`-- events REASON, REASON`: the Events that contradict an empty answer.
`-- shows COLUMN, COLUMN`: the columns of a table that is not `wide`.
`-- newest`: its rows go from the oldest to the newest.
`-- was NAME K=V`: an older name, and the parameters with which it is asked.
`-- param NAME, NAME`: parameters of COMMON.
`-- param NAME TYPE DEFAULT: meaning`: another parameter, one a line.

In its SQL, `{filters COLUMN, COLUMN}` is true of rows with the values that parameters of COMMON ask for; `ts` stands
for since and until.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from common.errors import WrongUsage
from common.text import nearest
from sql.database.errors import DatabaseError
from sql.database.open import Database, Result
from sql.questions.limits import Limits
from sql.schema.views import with_rules

QUERIES: Final = Path(__file__).parent / "queries"
BY: Final = "by"
"""The parameter that selects another form of a question."""
_STORY: Final = "FROM story\n"
_PARAMETER: Final = re.compile(r"-- param (?P<name>\w+) (?P<type>\S+) (?P<default>\S+): (?P<meaning>.+)")


class BadParameter(DatabaseError, WrongUsage):
    """A query has no such parameter, or the parameter cannot have this value."""


class UnknownQuery(DatabaseError, WrongUsage):
    """No saved query has that name."""


class Parameter(NamedTuple):
    name: str
    type: str
    """ClickHouse's type, for example `UInt32`."""
    default: str
    meaning: str

    @property
    def of_time(self) -> bool:
        return self.type.startswith("DateTime")


COMMON: Final = {
    each.name: each
    for each in (
        Parameter("cluster", "String", "", "only this cluster; empty is all"),
        Parameter("node", "String", "", "only this node; empty is all"),
        Parameter("namespace", "String", "", "only this namespace; empty is all"),
        Parameter("since", "DateTime64(6)", "1970-01-01T00:00:00Z", "not before"),
        Parameter("until", "DateTime64(6)", "2262-01-01T00:00:00Z", "before"),
    )
}
"""Shared parameters, which a question declares by name alone."""


class SavedQuery(NamedTuple):
    name: str
    description: str
    """One line."""
    parameters: tuple[Parameter, ...]
    sql: str
    group: str = ""
    needs: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    """Reasons of Events that contradict an empty answer."""
    shows: tuple[str, ...] = ()
    """The columns that answer it, in order; empty for all columns."""
    newest: bool = False
    """True if the last rows are the newest, so that a truncated answer shows those."""
    was: Mapping[str, Mapping[str, str]] = {}  # never changed
    """Old names, which are not listed, each with the parameters that it implies."""
    form: tuple[str, str] = ("", "")
    """The question of which it is a form, and the value of `by` that selects it."""
    forms: Mapping[str, "SavedQuery"] = {}  # never changed
    """Other aggregations of the same rows, by the value of `by` that selects each."""

    def under_old_name(self, name: str) -> "SavedQuery":
        """Return the question with the parameters of an older name."""
        given = self.was[name]
        return self._replace(
            parameters=tuple(each._replace(default=given.get(each.name, each.default)) for each in self.parameters)
        )


def saved_queries() -> list[SavedQuery]:
    """Return the questions that a list shows, each with its forms."""
    return [_with_forms(query, forms) for query, forms in _families()]


def with_forms() -> list[SavedQuery]:
    """Return every question, and each form of a question under its own name."""
    return [each for query, forms in _families() for each in (_with_forms(query, forms), *forms)]


def names() -> set[str]:
    return {name for query in with_forms() for name in (query.name, *query.was)}


def _families() -> list[tuple[SavedQuery, list[SavedQuery]]]:
    every = [_read(file) for file in sorted(QUERIES.glob("*.sql"))]
    return [
        (query, [each._replace(group=query.group) for each in every if each.form[0] == query.name])
        for query in every
        if not query.form[0]
    ]


def _with_forms(query: SavedQuery, forms: Sequence[SavedQuery]) -> SavedQuery:
    if not forms:
        return query
    meaning = "; ".join(f"{each.form[1]} asks: {each.description}" for each in forms)
    by = Parameter(BY, "String", "", meaning)
    known = {each.name for each in query.parameters}
    others = {
        each.name: each._replace(meaning=f"with by={form.form[1]}: {each.meaning}")
        for form in reversed(forms)
        for each in form.parameters
        if each.name not in known
    }
    parameters = (*query.parameters, by, *others.values())
    return query._replace(parameters=parameters, forms={each.form[1]: each for each in forms})


def chosen(query: SavedQuery, given: Mapping[str, str]) -> tuple[SavedQuery, dict[str, str]]:
    """Return the form of a question that `by` selects, and the other parameters. Raises BadParameter.

    A page sends every parameter that it lists. Parameters of other forms are ignored if they are empty or have their
    default.
    """
    if not query.forms:
        return query, dict(given)
    rest = {name: value for name, value in given.items() if name != BY}
    by = given.get(BY, "")
    if by and by not in query.forms:
        raise BadParameter(f"query {query.name} has no form by={by!r}. Forms: {', '.join(query.forms)}")
    own = [each.name for each in query.parameters].index(BY)
    form = query.forms[by] if by else query._replace(parameters=query.parameters[:own], forms={})
    known = {each.name for each in form.parameters}
    idle = {(each.name, value) for each in query.parameters if each.name not in known for value in ("", each.default)}
    return form, {name: value for name, value in rest.items() if (name, value) not in idle}


def saved_query(name: str) -> SavedQuery:
    """Return the query of a name. Raises UnknownQuery, which lists the nearest name or all names."""
    every = with_forms()
    older = next((query for query in every if name in query.was), None)
    if older is not None:
        return older.under_old_name(name)
    found = next((query for query in every if name == query.name), None)
    if found is None:
        listed = [query.name for query in every if not query.form[0]]
        hint = nearest(name, listed) or f"There are: {', '.join(listed)}"
        raise UnknownQuery(f"there is no saved query {name!r}. {hint}")
    return found


def run(db: Database, query: SavedQuery, given: Mapping[str, str], limits: Limits | None = None) -> Result:
    """Return the query's rows; parameters that are not given have their defaults.

    Raises BadParameter or DatabaseError. With limits, rows in order of time come newest first, so that a limit keeps
    the newest.
    """
    query, given = chosen(query, given)
    sql = query.sql
    if _STORY in sql and db.is_here:
        from sql.schema.story import story  # noqa: PLC0415 - a list of questions does without

        sql = sql.replace(_STORY, f"FROM {story(db) or 'story'}\n")
    if limits is None:
        return db.query(sql, values(query, given))
    sql = newest_first(sql) if query.newest else sql
    return db.query(sql, values(query, given), limits.settings(embedded=db.embedded))


def newest_first(sql: str) -> str:
    """Return a question sorted by its first ORDER BY column, a time, newest first."""
    before, by, columns = sql.rpartition("ORDER BY ")
    first, comma, rest = columns.partition(",")
    return f"{before}{by}{first.rstrip()} DESC{comma}{rest}"


def values(query: SavedQuery, given: Mapping[str, str]) -> dict[str, str]:
    """Return the value of each parameter of the query. Raises BadParameter."""
    known = {parameter.name for parameter in query.parameters}
    for name in given:
        if name not in known:
            has = f"It has: {', '.join(sorted(known))}" if known else "It has none"
            of, by = query.form
            title = f"{of} --by {by}" if of else query.name
            raise BadParameter(f"query {title} has no parameter {name!r}. {has}")
    return {parameter.name: _value(parameter, given.get(parameter.name)) for parameter in query.parameters}


def _value(parameter: Parameter, given: str | None) -> str:
    text = parameter.default if given is None or (parameter.of_time and not given) else given
    try:
        return _checked(parameter.type, text)
    except ValueError:
        raise BadParameter(
            f"parameter {parameter.name} cannot be {text!r}: it is of type {parameter.type} ({parameter.meaning})"
        ) from None


def _checked(kind: str, text: str) -> str:
    """Convert the value for ClickHouse. Raises ValueError if it is not of that type."""
    if kind.startswith("UInt"):
        return str(_natural(text))
    if kind.startswith("Float"):
        return str(float(text))
    if kind.startswith("DateTime"):
        at = datetime.fromisoformat(text)
        return (at.astimezone(UTC) if at.tzinfo else at).strftime("%Y-%m-%d %H:%M:%S.%f")
    return text


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


def _read(file: Path) -> SavedQuery:
    lines = file.read_text("utf-8").splitlines()
    parameters = tuple(each for line in lines if line.startswith("-- param ") for each in _parameters(line))
    sql = with_rules("\n".join(line for line in lines if not line.startswith("--")))
    needs, events, shows = (
        tuple(filter(None, _line(lines, key).split(", "))) for key in ("needs", "events", "shows")
    )
    of, _, by = _line(lines, "form").partition(" ")
    return SavedQuery(
        file.stem,
        lines[0].removeprefix("-- "),
        parameters,
        sql,
        _line(lines, "group"),
        needs,
        events,
        shows,
        newest="-- newest" in lines,
        was=dict(_old_name(line.removeprefix("-- was ")) for line in lines if line.startswith("-- was ")),
        form=(of, by),
    )


def _parameters(line: str) -> list[Parameter]:
    own = _PARAMETER.fullmatch(line)
    if own is None:
        return [COMMON[name] for name in line.removeprefix("-- param ").split(", ")]
    return [Parameter(own["name"], own["type"], own["default"].strip("'"), own["meaning"])]


def _old_name(line: str) -> tuple[str, dict[str, str]]:
    name, *given = line.split()
    return name, dict(each.split("=", 1) for each in given)


def _line(lines: Sequence[str], key: str) -> str:
    return next((line.removeprefix(f"-- {key} ") for line in lines if line.startswith(f"-- {key} ")), "")
