"""The box for questions: examples that run, the tables with what they hold, the saved questions by group."""

from datetime import timedelta
from typing import Any, Final

import pytest

from components.rows import T0, row, store, store_samples, summary
from leadsman.web.reading.scope import BadScope
from leadsman.web.rendering.help import EXAMPLES, columns_of
from leadsman.web.site.asking import Question, page_of
from sql.database.errors import QueryFailed
from sql.database.open import Database
from sql.questions.limits import SHARED
from sql.questions.queries import saved_queries, saved_query
from sql.questions.query_process import TIMEOUT, QueryProcess
from streams.fold.findings import Eviction, NodeEvent, NodeRow


def asked(db: Database, **values: str) -> str:
    process = QueryProcess(db)
    try:
        return page_of(db, Question.of(values, trusted=True), process)
    finally:
        process.close()


def test_the_box_has_examples_the_tables_and_the_questions_by_group(database: Database) -> None:
    page = asked(database)
    assert all(what in page for what in EXAMPLES)
    assert "Each eviction signal of each node at each sample" in page
    assert {each.group for each in saved_queries() if f"<h3>{each.group}</h3>" not in page} == set()
    assert ">replay_checkpoints<" not in page


@pytest.mark.parametrize("sql", [*EXAMPLES.values(), columns_of("nodes"), columns_of("it's \\ none")])
def test_an_example_runs(database: Database, sql: str) -> None:
    """Within a reader's memory; how long it takes depends on what else this machine does."""
    database.query(sql, {}, SHARED.settings(embedded=True) | {"max_execution_time": 60})


def test_the_example_of_the_last_hour_has_the_hour_before_the_last_observation(database: Database) -> None:
    """To ask `story` itself when it ends would plan and read all of it twice."""
    sql = EXAMPLES["What happened in the last hour that was seen"]
    begun = [
        row(NodeEvent, ts=T0 + timedelta(minutes=minute), name=f"{minute}", node="n", **START) for minute in (0, 50)
    ]
    store(database, *begun)
    assert len(database.query(sql).rows) == 2, "without a Node it is not known when its hour began"
    store(database, row(NodeRow, node="n", ready=True))
    store_samples(database, summary(T0 + timedelta(minutes=100), "n"))
    assert [at for at, *_ in database.query(sql).rows] == [T0 + timedelta(minutes=50)]


START: Final[dict[str, Any]] = {
    "object_kind": "Node",
    "object_name": "n",
    "reason": "Starting",
    "message": "Starting kubelet.",
}


def test_an_answer_has_the_columns_that_answer_and_all_when_asked(database: Database) -> None:
    assert 'wide=1">All' in asked(database, name="evicted_pods").replace("&amp;", "&")
    assert 'wide=1">All' not in asked(database, name="evicted_pods", wide="1").replace("&amp;", "&")


def test_a_question_is_about_the_cluster_of_its_address_and_shows_the_newest_first(database: Database) -> None:
    for second, cluster in enumerate(("c", "c", "d")):
        at = T0 + timedelta(seconds=second)
        store(database, row(Eviction, cluster=cluster, ts=at, pod=f"pod-{second}", uid=f"{second}", cause="pressure"))
    page = asked(database, name="evicted_pods", cluster="c")
    assert "Change what is asked: cluster c" in page
    assert 0 < page.index("pod-1") < page.index("pod-0")
    assert "pod-2" not in page
    every = asked(database, name="evicted_pods", cluster="c", **{"p.cluster": "", "p.since": ""})
    assert "pod-2" in every


def test_a_form_of_a_question_is_asked_by_its_word_and_an_empty_answer_says_why(database: Database) -> None:
    assert "The database is empty: replay a capture" in asked(database, name="pending_pods", **{"p.by": "node"})
    store(database, row(Eviction, cluster="c", ts=T0, pod="p", uid="1", cause="pressure", resource="memory"))
    counted = asked(database, name="evicted_pods", **{"p.by": "cause", "p.node": ""})
    assert "<h1>Why pods were evicted or rejected, and how many</h1>" in counted
    assert '<th scope="col" class="num">pods</th>' in counted
    empty = asked(database, name="oom_storms", **{"p.cluster": "c"})
    assert "No rows. " in empty
    with pytest.raises(BadScope, match="has no form by='moon'"):
        asked(database, name="evicted_pods", **{"p.by": "moon"})


def test_the_form_of_a_page_asks_by_another_count_with_all_that_it_lists(database: Database) -> None:
    listed = [each.name for each in saved_query("pending_pods").parameters if each.name != "by"]
    page = asked(database, name="pending_pods", **{"p.by": "node"})
    assert all(f'name="p.{name}"' in page for name in listed)
    again = asked(
        database,
        name="pending_pods",
        **{f"p.{name}": "0" if name == "fitting" else "" for name in listed},
        **{"p.by": "node"},
    )
    assert "No answer" not in again
    assert "No answer" in asked(database, name="pending_pods", **{"p.by": "node", "p.fitting": "1"})


def test_a_question_that_takes_too_long_gets_an_answer_with_the_limit(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*_: object) -> None:
        raise QueryFailed("chdb:///db: the query was refused: Code: 159. DB::Exception", TIMEOUT)

    monkeypatch.setattr(Question, "rows", slow)
    page = asked(database, name="next_eviction")
    assert f"It took longer than {SHARED.seconds} s" in page
    assert "Code: 159" not in page
