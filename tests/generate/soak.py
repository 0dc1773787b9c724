"""The picture of `docs/delivery.md`: what each part holds of memory and open files while everything breaks."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from typing import Final

import msgspec

from faults.soak import FIGURES, Figures
from generate.pictures import WIDTH, svg, text
from paths import ROOT

_COLOURS: Final[Mapping[str, str]] = {
    "watch": "#3e6fb0",
    "work": "#5a9e6f",
    "land": "#8f7fc0",
    "alert": "#c98a3a",
    "serve": "#9a9a9a",
}
_LEFT: Final = 56
_TOP: Final = 24
_TITLE: Final = 30
_HEIGHT: Final = 130
_TICKS: Final = 6


def soak() -> str:
    """Writes the table of the last run of `make soak`."""
    figures = [msgspec.json.decode(line, type=Figures) for line in (ROOT / FIGURES).read_bytes().splitlines()]
    seconds, faults = figures[-1].seconds, figures[-1].faults
    parts = [
        *_legend(),
        *_panel(
            0, "Resident memory of each part, MiB", seconds, [(each.seconds, each.resident_mib) for each in figures]
        ),
        *_panel(1, "Open files, sockets and pipes", seconds, [(each.seconds, each.open_files) for each in figures]),
    ]
    bottom = _TOP + 2 * (_TITLE + _HEIGHT)
    minutes = [seconds * tick / _TICKS for tick in range(_TICKS + 1)]
    times = [text("note", _x(at, seconds), bottom + 14, f"{at / 60:.0f} min") for at in minutes]
    return svg(bottom + 28, f"Memory and open files through {faults} faults", [*parts, *times])


def _x(at: float, seconds: int) -> float:
    return _LEFT + (WIDTH - _LEFT - 20) * at / seconds


def _legend() -> Iterator[str]:
    for number, (part, colour) in enumerate(_COLOURS.items()):
        x = _LEFT + 90 * number
        yield f'<rect x="{x}" y="4" width="10" height="10" fill="{colour}" stroke="none"/>'
        yield text("note", x + 38, 9, part)


def _panel(
    number: int, title: str, seconds: int, figures: Sequence[tuple[int, Mapping[str, float]]]
) -> Iterator[str]:
    top = _TOP + number * (_TITLE + _HEIGHT) + _TITLE
    base, most = top + _HEIGHT, ceil(1.05 * max(value for _, found in figures for value in found.values()))
    yield f'<text class="name" x="{_LEFT}" y="{top - 12}">{title}</text>'
    for value in (0, most):
        y = base - _HEIGHT * value / most
        yield f'<line x1="{_LEFT}" y1="{y:g}" x2="{WIDTH - 20}" y2="{y:g}" stroke-opacity="0.3"/>'
        yield text("note", _LEFT - 24, y, f"{value:g}")
    for part, colour in _COLOURS.items():
        points = [(_x(at, seconds), base - _HEIGHT * found[part] / most) for at, found in figures if part in found]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{drawn}"/>'
