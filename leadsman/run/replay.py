"""`leadsman replay` as it runs: the fold over a database, by all reducers."""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import NamedTuple

from ingest.files.lines import SourceError
from ingest.normalize.decoded import Decoded
from leadsman.run.settings import Settings
from sql.database.open import Database
from sql.landing.batches import Lander, settle
from sql.landing.checkpoints import DatabaseCheckpoints
from sql.questions.pending import calculate
from streams.alerting.engine import alert_reducers
from streams.alerting.rules import AlertRules
from streams.alerting.rules_file import default_rules, read_rules
from streams.analytics.registry import analytics
from streams.fold.reducer import AnyReducer
from streams.local.replay import Replay, ReplayReport


def all_reducers(settings: Settings) -> Sequence[AnyReducer]:
    """Return the analytics, and the alerts by their rules. Raises BadRules."""
    known = analytics(timedelta(seconds=settings.work.late_joiner_gap_seconds))
    return (*known, *alert_reducers(rules_of(settings)))


def rules_of(settings: Settings) -> AlertRules:
    """Return the rules, with runbooks at the page's public address if they name no other. Raises BadRules."""
    file, page = settings.alerts.rules, settings.page.address.rstrip("/")
    rules = default_rules() if file is None else read_rules(file)
    if not page or rules.runbooks != default_rules().runbooks:
        return rules
    return rules.model_copy(update={"runbooks": f"{page}/runbooks/"})


class Replayed(NamedTuple):
    report: ReplayReport
    refused: SourceError | None
    """The source that could not be read, after all others were."""


def replay(database: Database, items: Iterable[Decoded], settings: Settings, *, is_last: bool = False) -> Replayed:
    """Fold observations into a migrated database; what was read before a source failed is stored. Raises BadRules.

    After the last replay into a database, no other one can go on.
    """
    reducers = all_reducers(settings)
    with Lander(database) as lander:
        replayed = Replay(reducers, lander, None if is_last else DatabaseCheckpoints(database))
        refused: SourceError | None = None
        try:
            replayed.run(items)
        except SourceError as error:
            refused = error
    calculate(database)
    settle(database)
    return Replayed(replayed.report, refused)
