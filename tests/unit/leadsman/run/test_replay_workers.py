"""Processes that share a replay: what they leave when they, the source or the person end it."""

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from components.proc import children
from ingest.files.lines import SourceError
from ingest.files.sources import read_sources
from ingest.normalize.decoded import Decoded, decode
from leadsman.run.replay import replay
from leadsman.run.replay_workers import WorkerEnded
from leadsman.run.settings import Settings
from paths import NODE_PRESSURE
from sql.database.open import Database, connect
from sql.questions.digest import digest
from sql.schema.migrate import migrate
from streams.local import shared

BEFORE_IT = 500
"""Observations."""


@pytest.fixture
def alone(database: Database) -> Iterator[Database]:
    """A second database of the same folder, for what one process makes of it."""
    assert database.embedded
    with connect(f"{database}?database=alone") as second:
        migrate(second)
        yield second


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "CHUNK", 50)


def until_then(happens: Callable[[], None]) -> Iterator[Decoded]:
    for number, item in enumerate(read_sources([NODE_PRESSURE])):
        if number == BEFORE_IT:
            happens()
        yield decode(item)


@pytest.fixture
def others() -> set[int]:
    """Processes of other tests in this one."""
    return children(os.getpid())


def interrupt() -> None:
    raise KeyboardInterrupt


def refuse() -> None:
    raise SourceError("the disk is gone")


def test_a_process_that_dies_is_an_error_nothing_is_claimed_and_a_rerun_gives_the_same(
    database: Database, alone: Database, others: set[int]
) -> None:
    def kill_one() -> None:
        started = children(os.getpid()) - others
        workers = [pid for pid in started if b"replay_workers" in Path(f"/proc/{pid}/cmdline").read_bytes()]
        os.kill(workers[0], signal.SIGKILL)

    with pytest.raises(WorkerEnded, match="ended too soon, with status -9"):
        replay(database, until_then(kill_one), Settings(), workers=2)
    assert database.query("SELECT count() FROM replay_checkpoints").rows[0][0] == 0
    assert children(os.getpid()) - others == set()
    again = replay(database, until_then(lambda: None), Settings(), workers=2)
    assert again == replay(alone, until_then(lambda: None), Settings())
    assert digest(database) == digest(alone)


def test_who_interrupts_it_leaves_no_process(database: Database, others: set[int]) -> None:
    with pytest.raises(KeyboardInterrupt):
        replay(database, until_then(interrupt), Settings(), workers=3)
    assert children(os.getpid()) - others == set()


def test_what_was_read_before_a_source_failed_is_stored_as_by_one_process(
    database: Database, alone: Database
) -> None:
    expected = replay(alone, until_then(refuse), Settings())
    found = replay(database, until_then(refuse), Settings(), workers=2)
    assert found.report == expected.report
    assert str(found.refused) == "the disk is gone"
    assert digest(database) == digest(alone)
    assert replay(database, until_then(lambda: None), Settings(), workers=2).report.known == BEFORE_IT
