"""All parts run for an hour while everything breaks at random (`make soak`; as a test of the night, 3 minutes)."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import msgspec
import pytest

from components.cluster.kubernetes import Cluster
from faults.feeding import Feeder, level
from faults.fire import Ground
from faults.form import SOAK_SECONDS
from faults.generator import KINDS, Generator
from faults.history import Span, faults
from faults.logs import AS_SENT, concluded, replayed
from faults.recorded import gaps_of, rows_of
from faults.reported import reported, stored, unlike
from faults.result import Tried, note
from faults.soak import CLUSTER, FATAL, FIGURES, PASSING, Figures, Soak
from paths import ROOT
from sql.database.open import Database, connect
from sql.landing.batches import SCHEMAS
from sql.questions.digest import comparable
from waiting import eventually, lasting

pytestmark = [pytest.mark.components("cluster"), pytest.mark.night]

CHANGES_A_SECOND, OBSERVATIONS_A_SECOND = 8.0, 10.0
MOST_THAT_STAY = 100
"""Nodes, and Events, of the API server."""
OTHERS = f"cluster != '{CLUSTER}'"
"""Clusters whose observations are fed; those of the API server are checked by their history."""


@pytest.fixture
def soak(cluster: Cluster, tmp_path: Path) -> Iterator[Soak]:
    folder = tmp_path / "ground"
    folder.mkdir()
    with Ground(folder) as ground, Soak(cluster, ground, tmp_path) as running:
        yield running


def test_an_hour_of_random_faults_loses_nothing_and_leaks_nothing(soak: Soak) -> None:
    with ExitStack() as rest, Feeder(soak.pipeline, level(), OBSERVATIONS_A_SECOND) as feeder:
        eventually("all parts are ready", lambda: not soak.unready(), every_seconds=0.5)
        with Generator(soak.cluster, 1 / CHANGES_A_SECOND, MOST_THAT_STAY) as generator:
            _befall(soak)
            last = generator.stop()
            acknowledged = feeder.stop()
            with connect(soak.direct) as database:
                landed = lambda: {*last} <= {row.thing for row in rows_of(database, generator.name)}  # noqa: E731
                eventually("the last objects are stored", landed, every_seconds=1)
            _write(soak.figures)
            rest.enter_context(soak.at_rest())  # before the generator deletes its objects
            history = {thing: tuple(asked) for thing, asked in generator.history.items()}
        with connect(soak.direct) as database:
            rows, gaps = rows_of(database, generator.name), gaps_of(database, CLUSTER)
            states, messages = stored(database), reported(soak.hook.bodies)
            assert not unlike(states, messages)
            soak.pipeline.dsn = soak.direct
            found = soak.pipeline.digest()
            due = {*concluded(soak.pipeline, f"{soak.direct}_logs")}
        for kind in KINDS:
            gaps[kind].append(Span(0, min(row.ts for row in rows if row.thing.kind == kind)))  # nobody had looked yet
        wrong = faults(history, rows, gaps, soak.again)
        assert not wrong, "\n".join(map(str, wrong))
        replayed(feeder.sent, f"{soak.direct}_sent")
        with connect(soak.direct) as database:
            other = {each.table for each in found if each not in due} - AS_SENT
            differing = [
                *(_differing(database, f"soak_logs.{name}", name) for name in sorted(other)),
                *(
                    _differing(database, f"soak_sent.{name}", name, OTHERS)
                    for name in sorted(AS_SENT - {"dead_letters"})
                ),
            ]
        assert not any(differing), f"{[each for each in differing if each]}"
    _is_level(soak.figures)
    requests = sum(map(len, history.values()))
    note(
        Tried(
            fault=f"{soak.faults} faults at random in {SOAK_SECONDS / 60:.0f} minutes with all parts",
            outcome=f"{requests:,} requests to the API server and {acknowledged:,} observations, "
            f"{sum(each.rows for each in found):,} rows, none lost, none doubled; "
            f"{len(states):,} alerts that fired or were resolved, told by {messages.total():,} messages; "
            "memory and open files level",
        )
    )


def _befall(soak: Soak) -> None:
    """Each fault once, in any order, again and again; in the second half only those that processes outlive."""
    began = time.monotonic()
    while (gone := time.monotonic() - began) < SOAK_SECONDS:
        known = [*PASSING] if gone > SOAK_SECONDS / 2 else [*FATAL, *PASSING]
        for name in soak.chance.sample(known, len(known)):
            if time.monotonic() - began > SOAK_SECONDS:
                break
            soak.befall(name)
            lasting(soak.chance.uniform(2, 10))


_WITHOUT_WORDS = "if(alertname = 'DeadLetters', map(), annotations)"
"""Annotations, but of an alert whose words count what a worker had by then (delivery.md#determinism)."""


def _differing(database: Database, wanted: str, table: str, where: str = "1") -> list[tuple[str, str]]:
    """Some rows of a table that should not be there, and some that should."""
    columns = ", ".join(
        _WITHOUT_WORDS if field.name == "annotations" else comparable(field) for field in SCHEMAS[table]
    )
    row = f"toString(tuple({columns}))"
    sql = f"SELECT * FROM (SELECT {row} FROM {{}} FINAL WHERE {{}} EXCEPT SELECT {row} FROM {{}} FINAL) LIMIT 3"
    pairs = {"more": (table, wanted), "less": (wanted, table)}
    return [
        (f"{which} in {table}", text)
        for which, (of, but) in pairs.items()
        for (text,) in database.query(sql.format(of, where, but)).rows
    ]


def _is_level(figures: Sequence[Figures]) -> None:
    """In the last quarter, as in the one before it, of those parts that run all along."""
    half = figures[len(figures) // 2 :]
    before, after = half[: len(half) // 2], half[len(half) // 2 :]
    for part in half[0].resident_mib:
        resident = [
            median(each.resident_mib[part] for each in some if part in each.resident_mib) for some in (before, after)
        ]
        files = [
            median(each.open_files[part] for each in some if part in each.open_files) for some in (before, after)
        ]
        assert resident[1] < 1.15 * resident[0] + 10, f"{part}: {resident} MiB"
        assert files[1] <= files[0] + 8, f"{part}: {files} open files"


def _write(figures: Sequence[Figures]) -> None:
    if "LEADSMAN_SOAK" in os.environ:
        (ROOT / FIGURES).write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in figures))
