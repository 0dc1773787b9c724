"""The document of a run of `make faults`: `python -m faults.report RESULTS > tests/faults/REPORT.md`."""

import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from components.kafka import VERSION as KAFKA
from faults.fire import Result

_PACKAGES: Final = ("faust-streaming", "aiokafka", "chdb", "clickhouse-connect")
_TEXT: Final = """\
# What was tried, and what came of it

`make faults`, {first} to {last}, on {machine} with two cores. Leadsman {leadsman}, Python {python}, Kafka {kafka},
{packages}. ClickHouse is the engine of chDB behind its HTTP protocol, Kafka one node; toxiproxy stands before both.

Observations of real captures went through the whole pipeline while something broke; a part that ends is started
again, as a Deployment would. An attack passes when every table has exactly the rows that a replay of what Kafka
acknowledged gives without a broker: nothing lost, nothing doubled.

| fault | times | seconds | acknowledged | rows | caught up after, s | peak of a part, MiB |
|---|--:|--:|--:|--:|--:|--:|
{lines}
"""


def main() -> None:
    """Print the document."""
    results = [msgspec.json.decode(line, type=Result) for line in Path(sys.argv[1]).read_bytes().splitlines()]
    text = _TEXT.format(
        first=results[0].at,
        last=results[-1].at,
        machine=platform.machine(),
        leadsman=version("leadsman"),
        python=platform.python_version(),
        kafka=KAFKA,
        packages=", ".join(f"{package} {version(package)}" for package in _PACKAGES),
        lines="\n".join(map(_line, results)),
    )
    sys.stdout.write(text)


def _line(each: Result) -> str:
    figures = f"{each.times} | {each.fault_seconds:.0f} | {each.acknowledged:,} | {each.rows:,}"
    return f"| {each.fault} | {figures} | {each.caught_up_seconds:.0f} | {each.peak_mib} |"


if __name__ == "__main__":
    main()
