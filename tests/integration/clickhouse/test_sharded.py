"""The schema and the questions of a ClickHouse cluster with shards, on the real engine.

There is no server here that could be another shard. So what is proved is that every statement of the schema can be
made, that what is inserted arrives once on a shard with its roll-ups, that every saved question has the answers of
one server when each shard has a part of the rows, and when all were copied from one server, and that each table has
all rows then. Not proved are the network between shards, and an insert that reaches one and not another: docs/sql.md
names what that rests on.
"""

import subprocess
import sys
from pathlib import Path

import msgspec

from components.shards import INSERTED, Outcome
from paths import CAPTURES, IMPORTS

SECONDS = 600


def test_what_is_spread_over_shards_is_and_answers_as_on_one_server(tmp_path: Path) -> None:
    folder = tmp_path / "database"
    _run("leadsman", "replay", *map(str, CAPTURES), "--db", f"chdb://{folder}", status=3)
    outcome = msgspec.json.decode(_run("components.shards", str(folder)), type=Outcome)
    assert outcome.columns == [], "columns, types or meanings differ"
    assert min(outcome.shares) > 0, "a shard has no rows, so that nothing would be shown"
    assert not outcome.answers
    assert not outcome.copied
    samples, in_one, rolled_up, rolled_up_in_one = outcome.inserted
    assert samples == in_one > 0, "inserted twice under one token"
    assert rolled_up == rolled_up_in_one > 0
    assert outcome.lost == [INSERTED]


def _run(module: str, *arguments: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={"PYTHONPATH": IMPORTS},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == status, done.stderr[-2000:]
    return done.stdout
