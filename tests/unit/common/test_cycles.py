"""Python's searches for reference cycles in a part that runs for months."""

import gc
import weakref

import pytest

from leadsman.cli.live import run_part
from leadsman.run.settings import load
from waiting import until


class Connection:
    """One that points to itself, as a client does whose exception holds its frame."""

    def __init__(self) -> None:
        self.itself = self


def test_what_outlived_a_search_and_ended_in_a_cycle_is_freed_while_a_part_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("common.cycles.FULL_SEARCH_SECONDS", 0.01)

    async def work() -> None:
        connection = Connection()
        gc.collect()  # it is among the oldest objects now
        kept = weakref.ref(connection)
        del connection
        await until(lambda: kept() is None)

    run_part(load(telemetry={"port": 0}), "land", work())
