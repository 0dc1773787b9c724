"""For an hour everything that can break does, with all parts (`make soak`; as a test of the night, 3 minutes)."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import pytest

from components.cluster.kubernetes import Cluster
from components.rows import dicts
from faults.feeding import Feeder, endless
from faults.fire import Ground
from faults.form import SOAK_SECONDS
from faults.generator import KINDS, Generator
from faults.history import Span, faults
from faults.logs import concluded, replayed
from faults.recorded import gaps_of, rows_of
from faults.result import Tried, note
from faults.soak import CLUSTER, FATAL, FIGURES, PASSING, Figures, Soak
from paths import ROOT
from sql.database.open import connect
from waiting import eventually, lasting

pytestmark = [pytest.mark.components("cluster"), pytest.mark.night]

CHANGES_A_SECOND, OBSERVATIONS_A_SECOND = 8.0, 10.0
SAMPLES = frozenset({"node_samples", "pod_samples"})


@pytest.fixture
def soak(cluster: Cluster, tmp_path: Path) -> Iterator[Soak]:
    folder = tmp_path / "ground"
    folder.mkdir()
    with Ground(folder) as ground, Soak(cluster, ground, tmp_path) as running:
        yield running


def test_whatever_happens_for_an_hour_nothing_is_lost_and_nothing_grows(soak: Soak) -> None:
    with Feeder(soak.pipeline, endless(), OBSERVATIONS_A_SECOND) as feeder:
        eventually("all parts are ready", lambda: not soak.unready(), every_seconds=0.5)
        with Generator(soak.cluster, 1 / CHANGES_A_SECOND) as generator:
            _befall(soak)
            last = generator.stop()
            acknowledged = feeder.stop()
            with connect(soak.direct) as database:
                stored = lambda: {*last} <= {row.thing for row in rows_of(database, generator.name)}  # noqa: E731
                eventually("the last objects are stored", stored, every_seconds=1)
                soak.pipeline.settle()
                rows, gaps = rows_of(database, generator.name), gaps_of(database, CLUSTER)
                alerts = {row["fingerprint"]: row["status"] for row in dicts(database, _LAST_ALERTS)}
            history = {thing: tuple(asked) for thing, asked in generator.history.items()}
    _write(soak.figures)
    for kind in KINDS:
        gaps[kind].append(Span(0, min(row.ts for row in rows if row.thing.kind == kind)))  # nobody had looked yet
    wrong = faults(history, rows, gaps, soak.again)
    assert not wrong, "\n".join(map(str, wrong))
    soak.pipeline.dsn = soak.direct
    found = {each.table: each for each in soak.pipeline.digest()}
    due = {each.table: each for each in concluded(soak.pipeline, f"{soak.direct}_logs")}
    sent = {each.table: each for each in replayed(feeder.sent, f"{soak.direct}_sent")}
    other = [
        name for name in found if found[name] != (sent if name in SAMPLES else due)[name] and name != "dead_letters"
    ]
    assert not other, [_differing(soak, name) for name in other]
    eventually("the last state of each alert is delivered", lambda: _delivered(soak) == alerts, 120)
    _is_level(soak.figures)
    requests = sum(map(len, history.values()))
    note(
        Tried(
            fault=f"{soak.faults} faults at random in {SOAK_SECONDS / 60:.0f} minutes with all parts",
            outcome=f"{requests:,} requests to the API server and {acknowledged:,} observations, "
            f"{sum(each.rows for each in found.values()):,} rows, none lost, none doubled; "
            f"{len(alerts):,} alerts delivered; memory and open files level",
        )
    )


_LAST_ALERTS = "SELECT fingerprint, argMax(status, updated_at) AS status FROM alerts GROUP BY fingerprint"


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


def _differing(soak: Soak, table: str) -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Some rows of a table that should not be there, and some that should."""
    wanted = f"soak_{'sent' if table in SAMPLES else 'logs'}.{table}"
    with connect(soak.direct) as database:
        more, less = (
            dicts(database, f"SELECT * FROM {of} FINAL EXCEPT SELECT * FROM {but} FINAL LIMIT 4")
            for of, but in ((table, wanted), (wanted, table))
        )
    return table, more, less


def _delivered(soak: Soak) -> dict[str, str]:
    return {body["fingerprint"]: body["status"] for body in soak.hook.bodies}


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
