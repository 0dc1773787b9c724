"""A question is not asked where the tables that it reads first are known to be empty."""

import re
from datetime import timedelta

import pytest

from components.database import asked_of
from components.rows import T0, row, store
from leadsman.web.reading.ask import QUERIES, ask, query_text
from leadsman.web.reading.scope import Scope
from sql.database.open import Database
from sql.questions.queries import saved_queries
from sql.schema.statements import AGGREGATE, gives_nothing, statements
from streams.fold.findings import NodeEvent, NodeRow, PodBinding, Row

_WAITS = row(PodBinding, pod="w", uid="w", change="pending", phase="Pending", reason="Unschedulable")
_CORDON = row(NodeEvent, ts=T0, node="n", reason="NodeNotSchedulable", object_kind="Node", object_name="n")
CALLED = re.compile(r"\b(\w+)\(")


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT 1 FROM nodes", True),
        ("SELECT 1 FROM evictions", False),
        ("SELECT 1", False),
        ("-- FROM nodes\nSELECT 'FROM nodes', ts FROM evictions", False),
        ("SELECT (SELECT max(ts) FROM nodes) AS last FROM evictions", False),
        ("SELECT (SELECT max(ts) FROM evictions) AS last", False),
        ("SELECT ts FROM (SELECT ts FROM nodes FINAL) AS n LEFT JOIN evictions AS e ON e.ts = n.ts", True),
        ("SELECT ts FROM evictions AS e LEFT JOIN nodes AS n ON e.ts = n.ts", False),
        ("SELECT ts FROM nodes AS n RIGHT JOIN evictions AS e ON e.ts = n.ts", False),
        ("SELECT ts FROM nodes AS n FULL JOIN evictions AS e ON e.ts = n.ts", False),
        ("SELECT ts FROM nodes WHERE ts IN (SELECT ts FROM evictions)", True),
        ("SELECT ts FROM nodes UNION ALL SELECT ts FROM evictions", False),
        ("SELECT ts FROM nodes UNION ALL SELECT ts FROM silences", True),
        ("SELECT ts FROM (SELECT ts FROM evictions UNION DISTINCT SELECT ts FROM nodes)", False),
        ("SELECT count() FROM nodes LEFT JOIN evictions USING (ts)", False),
        ("SELECT concat(toString(maxIf(ts, 1)), '.') FROM nodes LEFT JOIN evictions USING (ts)", False),
        ("SELECT node, count() FROM nodes LEFT JOIN evictions USING (ts) GROUP BY node", True),
        ("SELECT max(ts) OVER (ORDER BY ts), max(ts) FROM nodes LEFT JOIN evictions USING (ts)", False),
        ("SELECT max(ts) OVER (ORDER BY ts) FROM nodes LEFT JOIN evictions USING (ts)", True),
        ("SELECT lagInFrame(ts) OVER (ORDER BY ts), max(ts) FROM nodes JOIN evictions USING (ts)", False),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM nodes) SELECT * FROM a JOIN evictions USING (ts)", True),
        ("WITH a AS (SELECT * FROM evictions), b AS (SELECT * FROM nodes) SELECT * FROM a JOIN b USING (ts)", False),
        ("WITH nodes AS (SELECT * FROM evictions) SELECT * FROM nodes LEFT JOIN silences USING (ts)", False),
        ("WITH event_cordons AS (SELECT ts FROM evictions) SELECT ts FROM event_cordons", False),
        ("SELECT 1 FROM nodes LEFT JOIN evictions USING (ts) HAVING count() = 0", False),
        ("SELECT * FROM numbers(3) AS n LEFT JOIN evictions USING (ts)", False),
        ("SELECT * FROM image_gc_episodes AS e LEFT JOIN evictions USING (ts)", False),
        ("SELECT * FROM event_cordons AS e LEFT JOIN evictions USING (ts)", True),
    ],
)
def test_a_query_gives_nothing_if_what_it_reads_first_is_empty(sql: str, expected: bool) -> None:
    assert gives_nothing(sql, ["nodes", "node_events", "silences"]) is expected
    assert not gives_nothing(sql, [])


def test_every_aggregate_of_a_question_or_view_is_known_as_one(database: Database) -> None:
    """One that is not would have a row of nothing, which nobody would see."""
    functions = "SELECT name FROM system.functions WHERE is_aggregate AND name NOT IN"
    windows = ["lagInFrame", "leadInFrame", "row_number", "rank", "dense_rank"]
    found = database.query(f"{functions} {{windows:Array(String)}}", {"windows": windows})
    plain = "|".join(name for (name,) in found.rows)
    aggregate = re.compile(rf"(?:{plain})(?:If|Merge|Array|Map|OrNull|State)*")
    texts = [*statements().values(), *(query_text(file.stem) for file in QUERIES.glob("*.sql"))]
    texts += [query.sql for query in saved_queries()]
    called = {name for text in texts for name in CALLED.findall(text)}
    used = {name for name in called if aggregate.fullmatch(name)}
    assert {"argMax", "countIf", "uniqExact", "argMaxMerge"} <= used
    assert {name for name in used if AGGREGATE.fullmatch(f"{name}(") is None} == set()


def test_a_page_question_is_not_asked_then(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trouble of image GC is looked for in the table of it, beside when nodes were seen."""
    scope = Scope("c", T0, T0 + timedelta(hours=1))
    store(database, row(NodeRow, node="n", uid="n"))
    known, asked = database.noting_empty_tables(), asked_of(monkeypatch)
    assert ask(known, "image_gc", scope, node="") == []
    assert asked == []
    assert [each["node"] for each in ask(known, "nodes", scope, node="", named=0)] == ["n"]
    assert len(asked) == 1


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [
        ("waiting", row(PodBinding, pod="p", uid="p", change="bound", phase="Running"), _WAITS),
        ("event_cordons", row(NodeEvent, ts=T0, reason="Starting", object_kind="Node", object_name="n"), _CORDON),
    ],
)
def test_a_view_is_not_planned_before_a_row_that_it_needs(
    database: Database, monkeypatch: pytest.MonkeyPatch, question: str, before: Row, after: Row
) -> None:
    scope = Scope("c", T0, T0 + timedelta(hours=1))
    store(database, before)
    asked = asked_of(monkeypatch)
    assert ask(database, question, scope, node="") == []
    assert [each.startswith("SELECT 1 FROM ") for each in asked] == [True]
    store(database, after)
    assert len(ask(database, question, scope, node="")) == 1
