"""The picture of `docs/performance.md`: what a thousand nodes cost as there are more of them, by part."""

from collections.abc import Iterator, Mapping
from itertools import groupby, pairwise
from typing import Final

from generate.pictures import WIDTH, svg, text
from paths import ROOT

MEASURED: Final = ROOT / "tests" / "bench" / "SCALE.md"
PARTS: Final[Mapping[str, str]] = {
    "watch": "#3e6fb0",
    "work": "#5a9e6f",
    "land": "#8f7fc0",
    "engine": "#c98a3a",
    "Kafka": "#9a9a9a",
}
_LEFT: Final = 56
_TOP: Final = 60
_HEIGHT: Final = 200
_BAR: Final = 64


def growth() -> str:
    """Writes the growth from the tables in `tests/bench/SCALE.md`, as `make scale` wrote it last."""
    bars = [(nodes, {part: 1000 * cores / nodes for part, cores in found.items()}) for nodes, found in _measured()]
    most = max(sum(cost.values()) for _, cost in bars)
    step = (WIDTH - _LEFT - 20) / len(bars)
    parts = [
        f'<text class="name" x="{_LEFT}" y="12">Cores for 1,000 nodes, 30 pods each, every 10 s</text>',
        *_legend(),
        *(each for at, bar in enumerate(bars) for each in _bar(_LEFT + step * (at + 0.5), *bar, most)),
    ]
    return svg(_TOP + _HEIGHT + 40, "A node costs less as there are more of them", parts)


def _measured() -> list[tuple[int, dict[str, float]]]:
    """Nodes, and cores in use by part with the fewest workers that kept the lag low: what is not kept up with costs
    nothing.
    """
    found: dict[int, dict[str, float]] = {}
    kept_up: set[tuple[str, str]] = set()
    for rows in _tables():
        if "lag under 10 s" in rows[0]:
            kept_up = {(row["nodes"], row["workers"]) for row in rows if row["lag under 10 s"] == "yes"}
        elif "engine" in rows[0]:
            for row in rows:
                if (row["nodes"], row.get("workers", "")) in kept_up:
                    nodes = int(row["nodes"].replace(",", ""))
                    found.setdefault(nodes, {part: float(row[part]) for part in PARTS})
    return sorted(found.items())


def _tables() -> Iterator[list[dict[str, str]]]:
    """Rows by the names of their columns, of each table."""
    lines = MEASURED.read_text("utf-8").splitlines()
    for is_table, of_table in groupby(lines, key=lambda line: line.startswith("|")):
        if is_table:
            head, _, *rows = map(_cells, of_table)
            yield [dict(zip(head, row, strict=True)) for row in rows]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def _legend() -> Iterator[str]:
    for at, (part, colour) in enumerate(PARTS.items()):
        x = _LEFT + 90 * at
        yield f'<rect x="{x}" y="24" width="10" height="10" fill="{colour}" stroke="none"/>'
        yield text("note", x + 38, 29, part)


def _bar(middle: float, nodes: int, cost: Mapping[str, float], most: float) -> Iterator[str]:
    base = _TOP + _HEIGHT
    tops = [0.0]
    for part in PARTS:
        tops.append(tops[-1] + _HEIGHT * cost[part] / most)
    for (below, above), colour in zip(pairwise(tops), PARTS.values(), strict=True):
        place = f'x="{middle - _BAR / 2:g}" y="{base - above:.1f}" width="{_BAR}" height="{above - below:.1f}"'
        yield f'<rect {place} fill="{colour}" stroke="none"/>'
    yield text("note", middle, base - tops[-1] - 8, f"{sum(cost.values()):.2f}")
    yield text("note", middle, base + 14, f"{nodes:,} nodes")
