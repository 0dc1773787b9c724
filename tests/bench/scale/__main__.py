"""`make scale`: how large it can get, measured on this machine, and written to `tests/bench/SCALE.md`."""

import argparse
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from components.cluster.kubernetes import VERSION as KUBERNETES
from components.kafka import VERSION as KAFKA
from components.programs.collector import VERSION as COLLECTOR
from paths import ROOT

from . import beside, beside_text, day, kwok, nodes, peers, up
from .answers import Answers

DOCUMENT: Final = ROOT / "tests" / "bench" / "SCALE.md"
PODS: Final = 30
ROUNDS: Final = 3
"""Rounds of the two largest, of the peers and of the collector."""
PLAN: Final = (
    (500, 1),
    (1000, 1),
    *((2000, workers) for workers in (1, 2, 3, 4)),
    (3000, 2),
    *[(4000, 2)] * ROUNDS,
    *[(5000, 2)] * ROUNDS,
)
"""Nodes and workers of each measurement; the nodes only grow."""
_TEXT: Final = """\
# How large it can get

`make scale` writes this; each section says when it was measured, and the load average of the machine then.
{machine}, {cores} cores for everything together, Python {python}, Kubernetes
{kubernetes}, Kafka {kafka}; ClickHouse is the engine of chDB behind its HTTP protocol.

## Nodes

All of it is real but the kubelets: etcd and kube-apiserver with the Node objects and {pods} Pods each,
`leadsman watch` (kubelets asked directly, every 10 s; for `/metrics` every 60 s), Kafka, `leadsman work`,
`leadsman land`, the engine. One process answers for all kubelets over TLS: a summary of {summary:,} bytes without
white space, and all of a kubelet's `/metrics` ({metrics:,} lines, recorded). "Stored" is the share of the samples due
in the window that were in the database {lag:.0f} s later; "lag under 10 s" asks that for 99 % of the rows, of samples
and of findings, and at least {share:.0%} stored.

{nodes}

## What bounds it

The two cores. Where a sample's CPU time goes, and what was done about it, is in
[docs/performance.md](../../docs/performance.md).

- One worker is one Python process. It keeps up with 2,000 nodes when it has its states; when others leave, it reads
  theirs from Kafka first, and the lag of that minute is in its row. Have two from 1,000 nodes on.

## One process

`leadsman up` without Kafka, on the same API server and stand-ins: it watches, folds, stores and serves the page.

{up}

## kwok

{kwok}

## A day

{day}

## Beside others

The same reducers, records and Kafka, one process each; only the framework differs, and what it does about
state. Quix Streams and Bytewax fold and send what Leadsman does, without what it does against loss and doubling, and
search for reference cycles as rarely. States are written every 5 s, as Quix Streams does; Bytewax keeps them for 10.

{peers}

## Beside an OpenTelemetry Collector

They take turns on the same stand-ins, each asking every node every {interval:.0f} s, over TLS that verifies no
certificate; median, with the least and the most. CPU of the stand-ins themselves is left out.

- The collector ({collector_version}, by its own builder) has kubeletstatsreceiver with its four groups and its
  default metrics, without `/pods` and the API server. "Its receiver alone" has nopexporter behind it; "into
  ClickHouse" has batchprocessor (5 s, 100,000 points) and clickhouseexporter, whose schema is its own. One process
  has a receiver for each node; as it is deployed, each node has one, which pays for its own runtime.
- Leadsman asks kubelets for `/metrics` and `/configz` too, watches nodes, pods and Events, concludes, and stores both
  samples and conclusions: `watch`, one `work` and `land` over Kafka, or `up`, one process with the engine in it.
- The engine is the same, each way with a database of its own, behind the tests' stand-in for a server, whose HTTP in
  Python is in its figures. It speaks no frames of ClickHouse's own compression, so the exporter's is off
  (`compress: none`); Leadsman sends Arrow with LZ4. It runs each insert at once, whatever `async_insert` is.
- Both store CPU, memory and file systems of nodes and pods. The collector alone stores containers and volumes one by
  one, and the network. Leadsman alone stores inodes of file systems, PSI, swap, process ids, and what it concludes:
  eviction signals, room for pods, bindings, limits of storage; and roll-ups of 5 minutes.
- "samples" is the share of those due in the window that were stored (taken, for the receiver alone). "KiB on disk" of
  a sample are after all merges, with what comes once (the listing of nodes and pods) in them; numbers of the
  stand-ins vary less than real ones, so both are small.
- Kafka, the API server and inserts cost Leadsman nearly as much with few nodes as with many: below some tens of nodes
  a sample costs it more than the collector, whose receiver costs the same with any number.

{collector}
"""


def main() -> None:
    """Measure what is asked for, all of it where nothing is, and write the document after each step."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("sections", nargs="*", help=f"of {', '.join(SECTIONS)}; all where none is given")
    parser.add_argument("--seconds", type=float, default=60, help="of each steady state")
    parser.add_argument("--plan", help="of the nodes, nodes x workers: 500x1,1000x3")
    parser.add_argument("--day-nodes", type=int, default=100, help="1000 take 10 GB of disk for the capture alone")
    parser.add_argument("--size", type=float, default=1.0, help="of all but the nodes: 0.02 to try them")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="of the peers and of the collector, whose medians count"
    )
    parser.add_argument("--kept", type=Path, default=ROOT / ".venv" / "scale", help="where sections are kept")
    parser.add_argument("--document", type=Path, default=DOCUMENT)
    given = parser.parse_args()
    if unknown := set(given.sections) - SECTIONS.keys():
        parser.error(f"no section {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what was started is stopped
    if len(given.sections) == 1:
        _run(given.sections[0], given)
    else:
        for section in given.sections or SECTIONS:
            # one process each: memory at its peak is of this section alone
            subprocess.run([sys.executable, "-m", "bench.scale", *_flags(), section], check=True)


def _flags() -> list[str]:
    """Return the arguments beside the sections."""
    return [each for each in sys.argv[1:] if each not in SECTIONS]


def _run(section: str, given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(prefix="leadsman-scale-") as folder:
        began = datetime.now(UTC)

        def write(text: str) -> None:
            _keep(given.kept / f"{section}.md", text, began)
            given.document.write_text(_document(given.kept))

        SECTIONS[section](Path(folder), given, write)


def _nodes(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    plan = [_of_plan(each) for each in given.plan.split(",")] if given.plan else PLAN
    measured: list[nodes.Step] = []
    for step in nodes.steps(folder, plan, PODS, given.seconds):
        print(step, flush=True)
        measured.append(step)
        write(f"{_greatest(measured)} Each row is {given.seconds:.0f} s.\n\n{nodes.text(measured)}")


def _of_plan(text: str) -> tuple[int, int]:
    count, workers = text.split("x")
    return int(count), int(workers)


def _greatest(measured: Sequence[nodes.Step]) -> str:
    most = max((step.nodes for step in measured if step.sustained), default=0)
    if not most:
        return "**No number of nodes was sustained.**"
    return f"**The most that was sustained: {most:,} nodes with {most * PODS:,} pods.**"


def _up(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    write(up.text(up.run(folder, round(300 * given.size), PODS, given.seconds)))


def _kwok(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    write(kwok.text(kwok.run(folder, round(1000 * given.size), round(10_000 * given.size))))


def _day(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    write(day.text(day.run(folder, given.day_nodes, PODS, 24 * given.size)))


def _peers(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    samples = max(20, round(60 * given.size))
    stages = peers.run(folder, 200, PODS, samples, given.rounds)
    write(f"Medians of {given.rounds} rounds, 200 nodes with {samples} samples each.\n\n{peers.text(stages)}")


def _collector(folder: Path, given: argparse.Namespace, write: Callable[[str], None]) -> None:
    for outcome in beside.run(folder, round(500 * given.size), PODS, given.seconds, given.rounds):
        write(beside_text.text(outcome))


SECTIONS: Final[dict[str, Callable[[Path, argparse.Namespace, Callable[[str], None]], None]]] = {
    "nodes": _nodes,
    "up": _up,
    "kwok": _kwok,
    "day": _day,
    "peers": _peers,
    "collector": _collector,
}


def _keep(file: Path, text: str, began: datetime) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    at = f"{began:%Y-%m-%d %H:%M} to {datetime.now(UTC):%H:%M} UTC, load at the end {os.getloadavg()[0]:.1f}."
    file.write_text(f"{at}\n\n{text}" if text.startswith("|") else f"{at} {text}")
    print(text, flush=True)


def _document(kept: Path) -> str:
    def section(name: str) -> str:
        file = kept / f"{name}.md"
        return file.read_text().rstrip() if file.exists() else "Not run yet."

    answers = Answers(PODS)
    return _TEXT.format(
        machine=platform.machine(),
        cores=os.cpu_count(),
        python=platform.python_version(),
        kubernetes=KUBERNETES,
        kafka=KAFKA,
        pods=PODS,
        summary=answers.compact_bytes,
        metrics=answers.metrics_lines,
        lag=nodes.LAG_SECONDS,
        share=nodes.LEAST_SHARE,
        interval=nodes.INTERVAL_SECONDS,
        collector_version=COLLECTOR,
        **{name: section(name) for name in SECTIONS},
    )


if __name__ == "__main__":
    main()
