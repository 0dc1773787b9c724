"""`leadsman replay` as it runs: the fold, here or shared by processes, over a database."""

from collections.abc import Iterable
from contextlib import ExitStack
from typing import NamedTuple

from ingest.files.lines import SourceError
from ingest.normalize.decoded import Decoded
from leadsman.run.reducers import Rules, all_reducers
from leadsman.run.replay_workers import Workers
from leadsman.run.settings import Settings
from sql.database.open import Database
from sql.landing.batches import Lander
from sql.landing.checkpoints import DatabaseCheckpoints
from sql.landing.settle import settle
from sql.questions.pending import calculate
from streams.local.replay import Replay, ReplayReport
from streams.local.shared import SharedReplay


class Replayed(NamedTuple):
    report: ReplayReport
    refused: SourceError | None
    """The source that could not be read, after all others were."""


def replay(database: Database, items: Iterable[Decoded], settings: Settings, *, workers: int = 1) -> Replayed:
    """Fold observations into a migrated database; what was read before a source failed is stored. With more than one
    worker the nodes' logs are folded by so many processes. Raises BadRules, and WorkerEnded.
    """
    reducers = all_reducers(settings)
    checkpoints = DatabaseCheckpoints(database)
    with ExitStack() as stack:
        lander = stack.enter_context(Lander(database))
        if workers > 1:
            shares = stack.enter_context(Workers(workers, lander, Rules.of(settings)))
            replayed: Replay = SharedReplay(reducers, lander, checkpoints, shares)
        else:
            replayed = Replay(reducers, lander, checkpoints)
        refused: SourceError | None = None
        try:
            replayed.run(items)
        except SourceError as error:
            refused = error
    calculate(database)
    settle(database)
    return Replayed(replayed.report, refused)
