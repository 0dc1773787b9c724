"""Answers a question that a reader asks on the page: a saved one, or read-only SQL, within limits."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from common.clock import SYSTEM
from leadsman.web.reading.ask import rows
from leadsman.web.reading.evidence import read_last_seen
from leadsman.web.reading.overview import read_spans
from leadsman.web.reading.scope import BadScope, RequestedRange, choose
from leadsman.web.rendering.help import Answer, DataAge, ask_page
from leadsman.web.rendering.links import ASK, GIVEN, Links
from leadsman.web.site.pages import Now
from sql.database.errors import DatabaseError, QueryFailed
from sql.database.open import Database, Result
from sql.questions.cells import as_csv
from sql.questions.limits import MIB
from sql.questions.limits import SHARED as LIMITS
from sql.questions.missing import why_empty
from sql.questions.queries import BadParameter, SavedQuery, UnknownQuery, chosen, run, saved_query
from sql.questions.query_process import TIMEOUT, QueryProcess

LONGEST_SQL: Final = 4000
LONGEST: Final = 500
"""Maximum number of characters of a parameter."""
MOST_GIVEN: Final = 20
CSV: Final = "csv"


class Question(NamedTuple):
    range: RequestedRange
    query: SavedQuery | None
    sql: str
    given: Mapping[str, str]
    as_csv: bool
    wide: bool
    """If true, every column is shown."""
    live: bool
    trusted: bool
    """True if the reader asked it here. SQL from a link on another site is shown, but not run."""

    @classmethod
    def of(cls, query: Mapping[str, str], *, trusted: bool) -> "Question":
        """Raises BadScope if a value is too long or unknown."""
        name, sql = query.get("name", ""), query.get("sql", "").strip()
        given = {key.removeprefix(GIVEN): value for key, value in query.items() if key.startswith(GIVEN)}
        if len(sql) > LONGEST_SQL:
            raise BadScope(f"sql is longer than {LONGEST_SQL:,} characters")
        if len(given) > MOST_GIVEN or any(len(value) > LONGEST for value in (name, *given.values())):
            raise BadScope(f"a question has at most {MOST_GIVEN} parameters of {LONGEST} characters")
        if name and sql:
            raise BadScope("give name or sql, not both")
        try:
            saved = saved_query(name) if name else None
            known = {each.name for each in chosen(saved, given)[0].parameters} if saved else set()
        except UnknownQuery:
            raise BadScope(f"there is no saved question {name[:80]!r}") from None
        except BadParameter as error:
            raise BadScope(str(error)) from None
        given = {
            name: query[name][:LONGEST] for name in ("cluster", "node") if name in query and name in known
        } | given
        requested = RequestedRange(*(query.get(field, "")[:LONGEST] for field in RequestedRange._fields))
        csv, wide, live = query.get("format") == CSV, query.get("wide") == "1", query.get("live") == "1"
        return cls(requested, saved, sql, given, csv, wide, live, trusted)

    def links(self) -> Links:
        return Links(self.range, path=ASK, live=self.live)

    def rows(self, db: Database, process: QueryProcess) -> Answer | None:
        """Return the answer; None if nothing is asked. Raises DatabaseError."""
        if self.query is not None:
            answer = _cut(run(db, self.query, self.given, LIMITS))
            if answer.result is not None and not answer.result.rows and not self.as_csv:
                answer = answer._replace(why_empty=why_empty(db, *chosen(self.query, self.given)))
            return answer
        return _cut(process.ask(self.sql, self.given, LIMITS)) if self.sql and self.trusted else None


def page_of(db: Database, question: Question, process: QueryProcess, now: Now = SYSTEM.now) -> str:
    """Render the input box with the answer, or the reason why there is none: an error of the database as a
    sentence.
    """
    answer: Answer | None
    try:
        answer = question.rows(db, process)
        if answer is None:
            with suppress(DatabaseError):  # reported later, where it matters
                process.warm()
    except DatabaseError as error:
        answer = Answer(None, _problem(error))
    tables = []
    if question.query is None:
        with suppress(DatabaseError):
            tables = rows(db, "tables", {})
    known = DataAge(None, ())
    with suppress(DatabaseError, BadScope):  # reported later, where it matters
        known = _known(db, question, now)
    links, wide = question.links(), question.wide
    return ask_page(links, question.query, question.sql, question.given, answer, LIMITS, tables, known, wide=wide)


def _problem(error: DatabaseError) -> str:
    if isinstance(error, QueryFailed) and error.code == TIMEOUT:
        limit = f"It took longer than {LIMITS.seconds} s, which is the limit of a question on this page"
        return f"{limit}: ask for less, for example about one node."
    return str(error)


def _known(db: Database, question: Question, now: Now) -> DataAge:
    """Return the evidence about the cluster in question, else the latest one, and the names of other clusters."""
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return DataAge(None, ())
    asked = question.given.get("cluster", "") or question.range.cluster
    evidence = read_last_seen(db, choose(spans, RequestedRange(asked), now()))
    return DataAge(evidence, () if asked else spans[1:])


def csv_of(db: Database, question: Question, process: QueryProcess) -> str | None:
    """Return the answer as a file; None if nothing is asked.

    Raises DatabaseError, or BadScope if the question is refused.
    """
    if question.sql and not question.trusted:
        raise BadScope(
            "another site may have linked to this SQL, so it was not run: ask it on the page. A program sends the "
            "token as Authorization: Bearer, or where there is none, Sec-Fetch-Site: none"
        )
    try:
        answer = question.rows(db, process)
    except (QueryFailed, BadParameter) as error:
        raise BadScope(str(error)) from None
    text = None if answer is None or answer.result is None else as_csv(answer.result)
    if text is not None and len(text) > LIMITS.answer_bytes:  # the embedded engine does not count these
        raise BadScope(f"the answer is larger than {LIMITS.answer_bytes // MIB} MiB: narrow the query")
    return text


def _cut(result: Result) -> Answer:
    return Answer(result._replace(rows=result.rows[: LIMITS.rows]), cut=len(result.rows) > LIMITS.rows)
