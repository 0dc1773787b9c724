"""The document of a run of `make faults`: `python -m faults.report RESULTS > tests/faults/REPORT.md`."""

import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from components.cluster.kubernetes import VERSION as KUBERNETES
from components.kafka import VERSION as KAFKA
from faults.result import Noted, Result, Tried, Watched

_PACKAGES: Final = ("faust-streaming", "aiokafka", "chdb", "clickhouse-connect")
_TEXT: Final = """\
# What was tried, and what came of it

`make faults`, {first} to {last}, on {machine} with two cores. Leadsman {leadsman}, Python {python}, Kafka {kafka},
Kubernetes {kubernetes}, {packages}. ClickHouse is the engine of chDB behind its HTTP protocol, Kafka one node;
toxiproxy stands before both, and before the API server.

## The pipeline

Observations of real captures went through the whole pipeline while something broke; a part that ends is started
again, as a Deployment would. An attack passes when every table has exactly the rows that a replay of what Kafka
acknowledged gives without a broker: nothing lost, nothing doubled. (Where times are wrong by a day, what is concluded
is compared with what the logs give in Kafka's own order.)

| fault | times | seconds | acknowledged | rows | caught up after, s | peak of a part, MiB |
|---|--:|--:|--:|--:|--:|--:|
{results}

## The watcher

A watcher follows nodes, pods and Events of a real API server. An attack passes when its requests back off, somebody
can see within 2 minutes that pods cannot be read, and afterwards the pods that it showed are those that exist.

| fault | seconds | requests meanwhile | told after, s | caught up after, s | pods |
|---|--:|--:|--:|--:|--:|
{watched}

## Beside these

{tried}

## What was found with it, and mended

- What a lander received between losing its partitions and getting them again displaced a range that was begun: rows
  were lost where connections to Kafka hung (`streams/kafka/landing/consumer.py`).
- Faust empties queues after a recovery that hold what was fetched since: records were lost. A worker starts its
  partitions last now, and ends where it sees a hole (`streams/kafka/faust_fixes.py`, `streams/kafka/agent.py`).
- Faust leaves out a changelog that the group's leader does not know yet: a worker that was killed right after its
  first start began with empty states (`streams/kafka/faust_fixes.py`).
- A message that was sent again could count as known although it was not (`streams/kafka/accept.py`).
- A newer lander stood still on messages of an older worker (`streams/kafka/messages/findings.py`).
- A full TMPDIR ended a lander with an embedded database (`sql/database/open.py`).
- A producer that hung complained when it was forgotten (`ingest/kafka/aiokafka_fixes.py`).
- A watcher that was paused in a list and resumed after another had its Lease published the rest of that list, as of
  the time at which it was resumed: pods that were deleted since were there again (`ingest/apiserver/leader.py`).
"""


def main() -> None:
    """Print the document."""
    noted = [msgspec.json.decode(line, type=Noted) for line in Path(sys.argv[1]).read_bytes().splitlines()]
    text = _TEXT.format(
        first=noted[0].at,
        last=noted[-1].at,
        machine=platform.machine(),
        leadsman=version("leadsman"),
        python=platform.python_version(),
        kafka=KAFKA,
        kubernetes=KUBERNETES,
        packages=", ".join(f"{package} {version(package)}" for package in _PACKAGES),
        results=_lines(_of_pipeline(each) for each in noted if isinstance(each, Result)),
        watched=_lines(_of_watcher(each) for each in noted if isinstance(each, Watched)),
        tried=_lines(f"- {each.fault}: {each.outcome}" for each in noted if isinstance(each, Tried)),
    )
    sys.stdout.write(text)


def _lines(lines: Iterable[str]) -> str:
    return "\n".join(lines)


def _of_pipeline(each: Result) -> str:
    figures = f"{each.times} | {each.fault_seconds:.0f} | {each.acknowledged:,} | {each.rows:,}"
    return f"| {each.fault} | {figures} | {each.caught_up_seconds:.0f} | {each.peak_mib} |"


def _of_watcher(each: Watched) -> str:
    figures = f"{each.fault_seconds:.0f} | {each.requests} | {each.told_after_seconds:.0f}"
    return f"| {each.fault} | {figures} | {each.caught_up_seconds:.0f} | {each.objects} |"


if __name__ == "__main__":
    main()
