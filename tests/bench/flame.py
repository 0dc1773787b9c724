"""Stacks of a sampler as a small SVG: `python -m tests.bench.flame RAW SVG TITLE`.

RAW has lines `frame;frame;... samples`, as `py-spy record --format raw` writes them. What takes less than one part in
LEAST is left out, and what most stacks begin with.
"""

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Final

LEAST: Final = 150
WIDTH: Final = 1000
ROW: Final = 15
CHARACTER: Final = 5.6
"""Width of a letter."""
COMMON: Final = 0.97
"""A frame that is in so many of the stacks above it is left out."""
COLOURS: Final = ("#f6c89f", "#f3d7a6", "#eebc94", "#f7dfbf")
_LINE: Final = re.compile(r":\d+\)$")
_ELSEWHERE: Final = re.compile(r"<frozen|^process |^thread |Thread|threading\.py|runpy|__main__")


@dataclass
class Frame:
    """Time of a function, with the functions that it called."""

    samples: int = 0
    called: "dict[str, Frame]" = field(default_factory=dict)

    def add(self, names: list[str], samples: int) -> None:
        """One stack, outermost first."""
        self.samples += samples
        if names:
            self.called.setdefault(names[0], Frame()).add(names[1:], samples)


def read(raw: Path) -> Frame:
    """All stacks."""
    root = Frame()
    for line in raw.read_text(errors="replace").splitlines():
        stack, _, samples = line.rpartition(" ")
        names = [_LINE.sub(")", name) for name in stack.split(";") if not _ELSEWHERE.search(name)]
        root.add(names, int(samples))
    while len(root.called) == 1 or any(each.samples > COMMON * root.samples for each in root.called.values()):
        root = max(root.called.values(), key=lambda each: each.samples)
    return root


def drawn(title: str, root: Frame) -> str:
    """The SVG: outermost on top, the widest first."""
    boxes = list(_boxes(root, 0.0, 1))
    height = ROW * (max(depth for *_, depth in boxes) + 2)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}">',
        f'<g font-family="monospace" font-size="9"><rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="2" y="11">{escape(title)}</text>',
    ]
    for name, x, width, depth in boxes:
        shown = escape(name[: max(0, int((width - 4) / CHARACTER))])
        colour = COLOURS[(len(name) + depth) % len(COLOURS)]
        share = f"{width / WIDTH:.1%}"
        parts.append(
            f'<g><title>{escape(name)} {share}</title><rect x="{x:.1f}" y="{ROW * depth}" width="{width:.1f}"'
            f' height="{ROW - 1}" fill="{colour}"/><text x="{x + 2:.1f}" y="{ROW * depth + 10}">{shown}</text></g>'
        )
    return "\n".join([*parts, "</g></svg>\n"])


def _boxes(frame: Frame, x: float, depth: int, scale: float = 0.0) -> Iterator[tuple[str, float, float, int]]:
    """Name, left edge, width and row of each frame that is not left out."""
    scale = scale or WIDTH / frame.samples
    for name, each in sorted(frame.called.items(), key=lambda called: -called[1].samples):
        width = each.samples * scale
        if width >= WIDTH / LEAST:
            yield name, x, width, depth
            yield from _boxes(each, x, depth + 1, scale)
        x += width


if __name__ == "__main__":
    stacks, svg, what = sys.argv[1:]
    Path(svg).write_text(drawn(what, read(Path(stacks))))
