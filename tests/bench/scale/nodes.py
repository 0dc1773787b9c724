"""Measures how many nodes of 30 pods at a 10 s interval the whole pipeline keeps up with."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

from sql.database.open import connect
from waiting import NotReady, eventually

from .bare import decode_seconds
from .ground import MIB, Ground
from .tables import table

INTERVAL_SECONDS: Final = 10.0
LAG_SECONDS: Final = 10.0
"""Most lag of the oldest sample, and of its findings, when they are stored."""
LEAST_SHARE: Final = 0.99
"""Least share of the due samples that must be stored."""
SETTLE_SECONDS: Final = 60.0
PARTS: Final = ("watch", "work", "land", "Kafka", "engine", "API server", "stubs")
_OURS: Final = PARTS[:3]
_WITH_ENGINE: Final = (*_OURS, "engine")
WANTED_RATIO: Final = 12.0
"""Most ratio of all our parts and the engine to the bare decoding of a sample."""
_AGES: Final = """
SELECT count() AS rows, quantile(0.5)(age), quantile(0.99)(age), max(age)
FROM (SELECT toUnixTimestamp(landed_at) - toFloat64(ts) AS age FROM {table}
    WHERE landed_at >= fromUnixTimestamp({{begin:UInt32}}) AND landed_at < fromUnixTimestamp({{end:UInt32}})
    {only})
SETTINGS final = 0"""

STORED: Final = """
SELECT uniqExact(node, ts) FROM node_samples
WHERE toFloat64(ts) >= {begin:Float64} AND toFloat64(ts) < {end:Float64}
SETTINGS final = 0"""
"""Samples of so long."""


class Ages(NamedTuple):
    """Age of rows when they were stored, in seconds since their sample was taken; stored times are whole seconds."""

    rows: int
    median: float
    most_of_100: float
    oldest: float


class Step(NamedTuple):
    """One measurement."""

    nodes: int
    workers: int
    seconds: float
    load: float
    """Load of the machine over the last minute, at the end."""
    samples: Ages
    findings: Ages
    stored: int
    """Samples that were taken in as long a time, which ended LAG_SECONDS before."""
    lag_messages: float
    """Messages that the workers had not done at the end."""
    cores: dict[str, float]
    messages: dict[str, float]
    peaks: dict[str, int]
    storing: float
    """Share of the time in which the lander's one thread that stores was busy."""
    portion_seconds: float
    """Time to store a portion, the waiting messages of a topic."""
    bare_seconds: float
    """CPU time of decoding a sample and nothing else, before and after."""

    @property
    def share(self) -> float:
        """Share of the due samples that were stored within the wanted lag."""
        return self.stored / (self.nodes * self.seconds / INTERVAL_SECONDS)

    def ratio(self, *parts: str) -> float:
        """Ratio of these parts' time for a sample, with all that comes with it, to its bare decoding."""
        taken = sum(self.cores[part] for part in parts) * self.seconds
        return taken / max(1, self.samples.rows) / self.bare_seconds

    @property
    def sustained(self) -> bool:
        return (
            self.share >= LEAST_SHARE
            and max(self.samples.most_of_100, self.findings.most_of_100) < LAG_SECONDS
            and self.findings.rows > 0
        )


def steps(folder: Path, plan: Sequence[tuple[int, int]], pods: int, seconds: float) -> Iterator[Step]:
    """Measure each (nodes, workers) of the plan, whose nodes only grow."""
    with Ground(folder, max(nodes for nodes, _ in plan), pods) as ground:
        ground.grow(plan[0][0])
        for part in (ground.watch, ground.land):
            part.start()
        for nodes, workers in plan:
            ground.grow(nodes)
            ground.scale_workers(workers)
            settle(ground)
            yield _measure(ground, seconds)


def settle(ground: Ground) -> None:
    """Until every node is asked and the workers have done what came with them, or the time is over: then it is
    measured as it is.
    """

    def settled() -> bool:
        time.sleep(1)
        asked = ground.watch.figures().get(("leadsman_kubelets", "asked"), 0)
        return asked == ground.nodes and _waiting(ground) < ground.nodes / INTERVAL_SECONDS

    try:
        eventually("all nodes are asked and nothing waits", settled, SETTLE_SECONDS)
    except NotReady:
        return
    time.sleep(INTERVAL_SECONDS)


def _waiting(ground: Ground) -> float:
    return sum(worker.figures().get(("leadsman_lag_messages",), 0) for worker in ground.workers)


def _measure(ground: Ground, seconds: float) -> Step:
    bare = decode_seconds(ground.pods)
    before, counted, began = ground.used(), _counted(ground), time.time()
    time.sleep(seconds)
    after, counts, ended = ground.used(), _counted(ground), time.time()
    took, storing = ended - began, counts["storing"] - counted["storing"]
    return Step(
        ground.nodes,
        len(ground.workers),
        took,
        os.getloadavg()[0],
        _ages(ground, "node_samples", "", began, ended),
        _ages(ground, "eviction_signals", "AND signal = 'memory.available'", began, ended),
        _stored(ground, began - LAG_SECONDS, ended - LAG_SECONDS),
        _waiting(ground),
        {part: (after[part].cpu_seconds - before[part].cpu_seconds) / took for part in PARTS},
        {part: (counts[part] - counted[part]) / took for part in _OURS},
        {part: used.peak_bytes // MIB for part, used in after.items()},
        storing / took,
        storing / max(1.0, counts["portions"] - counted["portions"]),
        (bare + decode_seconds(ground.pods)) / 2,
    )


def _counted(ground: Ground) -> dict[str, float]:
    """Messages that each part of ours has done, and the lander's portions with the seconds that they took."""
    land = ground.land.figures()
    return {
        "watch": ground.watch.figures()["leadsman_kafka_messages_sent_total",],
        "work": sum(worker.figures()["leadsman_folded_messages_total",] for worker in ground.workers),
        "land": land["leadsman_landed_messages_total",],
        "storing": land["leadsman_stage_seconds_sum", "land"],
        "portions": land["leadsman_stage_seconds_count", "land"],
    }


def _ages(ground: Ground, table: str, only: str, began: float, ended: float) -> Ages:
    parameters = {"begin": round(began), "end": round(ended)}
    with connect(ground.dsn) as database:
        rows, *ages = database.query(_AGES.format(table=table, only=only), parameters).rows[0]
    return Ages(rows, *(max(0.0, age) if rows else 0.0 for age in ages))


def _stored(ground: Ground, began: float, ended: float) -> int:
    with connect(ground.dsn) as database:
        return int(database.query(STORED, {"begin": began, "end": ended}).rows[0][0])


def text(measured: Sequence[Step]) -> str:
    """The outcome as Markdown."""
    at = [(f"{step.nodes:,}", f"{step.workers}") for step in measured]
    lag = [
        (
            *head,
            f"{step.nodes / INTERVAL_SECONDS:,.0f}",
            f"{step.share:.1%}",
            _shown(step.samples),
            _shown(step.findings),
            f"{step.storing:.0%} / {step.portion_seconds * 1000:.0f} ms",
            "yes" if step.sustained else "**no**",
            f"{step.load:.1f}",
        )
        for head, step in zip(at, measured, strict=True)
    ]
    ratios = [
        (*head, f"{step.ratio(*_WITH_ENGINE):.1f}", *(f"{step.ratio(part):.1f}" for part in PARTS))
        for head, step in zip(at, measured, strict=True)
    ]
    cores = [
        (*head, *(f"{step.cores[part]:.2f}" for part in PARTS), f"{sum(step.cores.values()):.2f}")
        for head, step in zip(at, measured, strict=True)
    ]
    costs = [
        (*head, *(_cost(step, part) for part in _OURS), *(f"{step.peaks[part]:,}" for part in PARTS))
        for head, step in zip(at, measured, strict=True)
    ]
    ages = "sample stored after, s: median / 99 % / longest"
    of_findings = "what was concluded from it"
    storing = "lander stores / a portion"
    wanted = "lag under 10 s"
    due = "samples due a second"
    bare = [step.bare_seconds * 1e6 for step in measured]
    decoding = f"{min(bare):.0f} to {max(bare):.0f}"
    return "\n\n".join(
        [
            f"CPU time of a sample with all that comes with it, as a multiple of bare decoding, {decoding} µs:",
            table(("nodes", "workers", f"ours with the engine, wanted <= {WANTED_RATIO:g}", *PARTS), ratios),
            *_of_rounds(measured),
            table(("nodes", "workers", due, "stored", ages, of_findings, storing, wanted, "load"), lag),
            "Cores in use, of two:",
            table(("nodes", "workers", *PARTS, "all"), cores),
            "CPU time in µs of a message / of a sample with all that comes with it, and MiB of memory at its peak:",
            table(
                ("nodes", "workers", *(f"{part}, µs" for part in _OURS), *(f"{part}, MiB" for part in PARTS)), costs
            ),
        ]
    )


def _of_rounds(measured: Sequence[Step]) -> Iterator[str]:
    """Yield the spread of steps that were measured more than once."""
    for (nodes, workers), count in Counter((step.nodes, step.workers) for step in measured).items():
        if count > 1:
            rounds = [
                step.ratio(*_WITH_ENGINE) for step in measured if (step.nodes, step.workers) == (nodes, workers)
            ]
            spread = f"{min(rounds):.1f} to {max(rounds):.1f}"
            yield f"{nodes:,} nodes, median of {count} rounds: {median(rounds):.1f} ({spread})."


def _shown(ages: Ages) -> str:
    return f"{ages.median:.1f} / {ages.most_of_100:.1f} / {ages.oldest:.1f}" if ages.rows else "none"


def _cost(step: Step, part: str) -> str:
    of_message = step.cores[part] / step.messages[part] * 1e6 if step.messages[part] else 0.0
    of_sample = step.cores[part] * step.seconds / step.samples.rows * 1e6 if step.samples.rows else 0.0
    return f"{of_message:,.0f} / {of_sample:,.0f}"
