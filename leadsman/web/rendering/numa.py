"""The page of a fleet's NUMA nodes."""

from collections.abc import Sequence
from typing import Final

from leadsman.web.attention.attention import attention
from leadsman.web.reading.numa_fleet import ORDERS, NumaFleet, Waiting
from leadsman.web.reading.overview import Overview
from leadsman.web.rendering.links import Links
from leadsman.web.rendering.node_table import PAGE, common_suffix
from leadsman.web.rendering.render import badges_of, render

DRAWN: Final = 300
"""Nodes that have a column."""


def numa_page(
    links: Links, view: Overview, numa: NumaFleet, waiting: Sequence[Waiting], order: str, page: int
) -> str:
    """A page of lines, and a column for each of the first ones."""
    items = attention(view)
    pages = max(1, -(-len(numa.lines) // PAGE))
    page = min(max(1, page), pages)
    shown = numa.lines[(page - 1) * PAGE : page * PAGE]
    drawn = numa.lines[:DRAWN]
    values = {
        "view": view,
        "evidence": view.evidence,
        "numa": numa,
        "waiting": waiting,
        "shown": shown,
        "drawn": drawn,
        "numbers": sorted({band.number for line in drawn for band in line.bands}),
        "badges_of": {line.node.name: badges_of(line.node, items) for line in shown},
        "table": {"suffix": common_suffix([line.node.name for line in numa.lines])},
        "page": page,
        "pages": pages,
        "order": order,
        "numa_orders": ORDERS,
        "inline": None,
    }
    return render("numa.html.j2", links, values)
