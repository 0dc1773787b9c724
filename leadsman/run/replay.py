"""Runs `leadsman replay`: folds observations into a database, with all reducers."""

from collections.abc import Iterable
from typing import NamedTuple

from ingest.files.lines import SourceError
from ingest.normalize.decode import Decoded
from leadsman.run.reducers import all_reducers
from leadsman.run.settings import Settings
from sql.database.open import Database
from sql.landing.batches import DatabaseCheckpoints, Lander, settle
from sql.landing.withdrawal import DatabaseRows
from sql.questions.pending import calculate
from streams.fold.passes import Passes
from streams.local.replay import Replay, ReplayReport


class Replayed(NamedTuple):
    report: ReplayReport
    refused: SourceError | None
    """The source that could not be read; all others were read."""


def replay(database: Database, items: Iterable[Decoded], settings: Settings, *, is_last: bool = False) -> Replayed:
    """Fold observations into a migrated database; everything read before a source failed is stored. Raises BadRules.

    After the last replay into a database, no other replay can continue it.
    """
    reducers = all_reducers(settings)
    with Lander(database) as lander:
        checkpoints = None if is_last else DatabaseCheckpoints(database)
        passes = None if checkpoints is None else Passes(checkpoints, DatabaseRows(database))
        replayed = Replay(reducers, lander, checkpoints, passes)
        refused: SourceError | None = None
        try:
            replayed.run(items)
        except SourceError as error:
            refused = error
    calculate(database)
    settle(database)
    return Replayed(replayed.report, refused)
