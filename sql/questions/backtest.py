"""Replays a capture under one or two rule sets, into a temporary database and without Kafka."""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from ingest.normalize.decode import Decoded
from sql.database.open import Result, connect
from sql.landing.batches import Lander
from sql.questions.queries import run, saved_query
from sql.schema.statements import LazyDatabase
from streams.alerting.engine import alert_reducers
from streams.alerting.rules_file import AlertRules
from streams.analytics.registry import ANALYTICS
from streams.fold.findings import Alert, Eviction
from streams.fold.reducer import Output, Reducer
from streams.local.replay import Replay, ReplayReport
from streams.questions.backtest import Episode, Incident, episodes, incidents

_EVICTIONS: Final = f"SELECT {', '.join(Eviction._fields)} FROM evictions FINAL"
_RANKS: Final = """
SELECT cluster, node, signal, count() AS evictions, countIf(was_next) AS first,
    countIf(could_be_next) AS first_or_tied, median(rank_when_evicted) AS median_rank,
    median(ranked_pods) AS median_ranked_pods
FROM rank_accuracy GROUP BY cluster, node, signal ORDER BY cluster, node, signal
"""


class Backtest(NamedTuple):
    """The result; `fired` is by the name of the rule set."""

    report: ReplayReport
    fired: Mapping[str, list[Episode]]
    incidents: list[Incident]
    forecasts: Result
    """The answer of the saved query `prediction_accuracy`."""
    ranks: Result
    """The answer of the saved query `prediction_ranks`, by node and signal."""
    coverage: Result
    """The answer of the saved query `alert_coverage`: alerts that cannot fire, or lack some inputs."""


def backtest(items: Iterable[Decoded], rule_sets: Mapping[str, AlertRules]) -> Backtest:
    """Replay observations under each rule set at once. Raises a source's errors."""
    fired: dict[str, list[Alert]] = {name: [] for name in rule_sets}
    reducers = [*ANALYTICS]
    for number, (name, rules) in enumerate(rule_sets.items()):
        reducers += [_collecting(reducer, number, fired[name]) for reducer in alert_reducers(rules)]
    with (
        tempfile.TemporaryDirectory(prefix="leadsman-backtest-") as folder,
        LazyDatabase(connect(f"chdb://{folder}/db")) as database,
    ):
        with Lander(database) as lander:
            report = Replay(reducers, lander, None).run(items)
        return Backtest(
            report,
            {name: episodes(rows) for name, rows in fired.items()},
            incidents([Eviction(*row) for row in database.query(_EVICTIONS).rows]),
            run(database, saved_query("prediction_accuracy"), {}),
            database.query(_RANKS),
            run(database, saved_query("alert_coverage"), {}),
        )


def _collecting(reducer: Reducer[Any], number: int, into: list[Alert]) -> Reducer[Any]:
    """Wrap the reducer to keep its rows here, because a table would merge those of two rule sets."""

    def step(state: Any, concluded: Any) -> tuple[Any, tuple[Output, ...]]:
        state, rows = reducer.step(state, concluded)
        into.extend(row for row in rows if isinstance(row, Alert))
        return state, ()

    return replace(reducer, name=f"{reducer.name}_{number}", step=step)
