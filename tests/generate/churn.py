"""The picture of `docs/delivery.md`: a worker's memory and its changelogs, hour by hour, while nodes come and go."""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import ceil
from typing import Final

import msgspec

from faults.churn import FIGURES, Figures
from generate.pictures import WIDTH, svg, text
from paths import ROOT

MIB: Final = 1 << 20
_LEFT: Final = 56
_HEIGHT: Final = 110
_TITLE: Final = 30
_EVERY_HOURS: Final = 6


def churn() -> str:
    """Writes the table of the last run of `make churn`."""
    decode = msgspec.json.Decoder(Figures).decode
    figures = [decode(line) for line in (ROOT / FIGURES).read_text("utf-8").splitlines()]
    nodes = figures[0].alive
    panels: Sequence[tuple[str, list[float]]] = (
        ("Resident memory of the worker, MiB", [each.resident_bytes / MIB for each in figures]),
        ("Changelogs after compaction, MiB", [each.changelog_bytes / MIB for each in figures]),
        (
            f"Nodes that lived until then, thousands; {nodes} at once",
            [lived / 1000 for lived in accumulate(each.alive for each in figures)],
        ),
    )
    parts = [part for number, panel in enumerate(panels) for part in _panel(number, *panel)]
    bottom = len(panels) * (_TITLE + _HEIGHT)
    hours = [text("note", _x(hour, len(figures)), bottom + 14, f"{hour} h") for hour in _ticks(len(figures))]
    return svg(bottom + 28, "Memory and changelogs stay level while nodes come and go", [*parts, *hours])


def _ticks(hours: int) -> range:
    return range(0, hours + 1, _EVERY_HOURS)


def _x(hour: float, hours: int) -> float:
    return _LEFT + (WIDTH - _LEFT - 20) * hour / hours


def _panel(number: int, title: str, values: Sequence[float]) -> Iterator[str]:
    top = number * (_TITLE + _HEIGHT) + _TITLE
    base, most = top + _HEIGHT, ceil(max(values) * 1.05)
    yield f'<text class="name" x="{_LEFT}" y="{top - 12}">{title}</text>'
    for value in (0, most):
        y = base - _HEIGHT * value / most
        yield f'<line x1="{_LEFT}" y1="{y:g}" x2="{WIDTH - 20}" y2="{y:g}" stroke-opacity="0.3"/>'
        yield text("note", _LEFT - 24, y, f"{value:g}")
    points = [(_x(hour, len(values)), base - _HEIGHT * value / most) for hour, value in enumerate(values, start=1)]
    drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline fill="none" stroke="#3e6fb0" stroke-width="2" points="{drawn}"/>'
    x, y = points[-1]
    yield text("note", x - 14, y - 12, f"{values[-1]:.2g}")
