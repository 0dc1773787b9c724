"""Builds the table of nodes: which rows a page has, their order, and the common suffix of names."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from leadsman.web.attention.badges import Badge
from leadsman.web.reading.fleet import Choice, level_of, room_of
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import BadScope

WHOLE: Final = 200
"""Up to this many nodes, the page contains all rows, and the browser filters and sorts them."""
PAGE: Final = 100
"""Rows on a page, if there are more nodes."""
FIRST: Final = 12
"""Rows of a large fleet without filters: the most urgent ones."""
EVERY: Final = "all"


class Line(NamedTuple):
    """A node with its badges, worst first."""

    node: NodeLine
    badges: Sequence[Badge]
    urgent: bool
    """True if a card about the end of the range names it; badges can be about past problems."""


class Row(NamedTuple):
    line: Line
    name: str
    """The name without the suffix that most names share."""
    hidden: bool


class Table(NamedTuple):
    rows: tuple[Row, ...]
    suffix: str
    """The suffix that was removed from names; empty if there is none."""
    total: int
    matching: int
    page: int
    """Page number, from 1."""
    pages: int
    whole: bool
    """True if `rows` has every node."""
    sort: str


class Narrowing(NamedTuple):
    """The table's filters in an address."""

    q: str = ""
    show: str = ""
    sort: str = ""
    page: str = ""

    @classmethod
    def of(cls, values: Mapping[str, str]) -> "Narrowing":
        """Raises BadScope if a value is unknown."""
        if values["sort"] not in SORTS:
            raise BadScope(f"sort cannot be {values['sort'][:40]!r}: it is one of {', '.join(filter(None, SORTS))}")
        if values["page"] and not (values["page"].isdecimal() and len(values["page"]) < _LONGEST_PAGE):
            raise BadScope(f"page cannot be {values['page'][:40]!r}: it is a number from 1")
        return cls(*(values[name] for name in cls._fields))


def node_table(
    lines: Sequence[Line],
    narrowing: Narrowing = Narrowing(),  # noqa: B008 - it cannot be changed
    choice: Choice = Choice(),  # noqa: B008 - it cannot be changed
) -> Table:
    """Build the table, sorted by urgency or by the requested column: all rows of a small fleet, one page of a large
    one.
    """
    ordered = sorted(lines, key=SORTS[narrowing.sort]) if narrowing.sort else list(lines)
    fitting = narrowed(ordered, narrowing, choice)
    whole = len(lines) <= WHOLE
    first = not whole and not any((*narrowing, choice.level))
    pages = 1 if whole or first else max(1, -(-len(fitting) // PAGE))
    page = min(max(1, int(narrowing.page or 1)), pages)
    kept = {id(line) for line in fitting}
    shown = ordered if whole else fitting[:FIRST] if first else fitting[(page - 1) * PAGE : page * PAGE]
    suffix = common_suffix([line.node.name for line in lines])
    rows = tuple(Row(line, line.node.name.removesuffix(suffix), id(line) not in kept) for line in shown)
    return Table(rows, suffix, len(lines), len(fitting), page, pages, whole, narrowing.sort)


def narrowed(lines: Iterable[Line], narrowing: Narrowing, choice: Choice) -> list[Line]:
    """Filter the lines of the table and of the map by the parameters of an address, and keep their order."""
    words = narrowing.q.lower().split()
    return [
        line
        for line in lines
        if choice.level in {"", str(level_of(line.node, choice).value)} and _fits(line, words, narrowing)
    ]


def common_suffix(names: Sequence[str]) -> str:
    """Return the domain, with its dot, that most names share; empty if fewer than half share one, or if names would
    become equal.
    """
    domains = Counter(dot + domain for _, dot, domain in (name.partition(".") for name in names) if domain)
    suffix, times = next(iter(domains.most_common(1)), ("", 0))
    if times < 2 or times * 2 < len(names):  # noqa: PLR2004 - a pair is the least that can share
        return ""
    return suffix if len({name.removesuffix(suffix) for name in names}) == len(set(names)) else ""


def _fits(line: Line, words: Iterable[str], narrowing: Narrowing) -> bool:
    if narrowing.show == "attention" and not line.urgent:
        return False
    node = line.node
    text = " ".join((node.name, node.kubelet_version, node.zone, node.pool, *(b.text for b in line.badges))).lower()
    return all(word in text for word in words)


def _requested(resource: str) -> Callable[[Line], float]:
    """Return the sort key of requests, largest first."""

    def key(line: Line) -> float:
        fit = line.node.fit.get(resource)
        return 1.0 if fit is None or not fit.allocatable else -fit.requested / fit.allocatable

    return key


def _room(line: Line) -> float:
    left = room_of(line.node, "")
    return _FAR if left is None else left


_FAR: Final = 9.0
_LONGEST_PAGE: Final = 6
SORTS: Final[Mapping[str, Callable[[Line], float | str | tuple[str, str, str]]]] = {
    "": lambda _: 0.0,
    "name": lambda line: line.node.name,
    "place": lambda line: (line.node.zone, line.node.pool, line.node.name),
    "room": _room,
    "cpu": _requested("cpu"),
    "memory": _requested("memory"),
    "sample": lambda line: line.node.sampled_at.timestamp() if line.node.sampled_at else 0.0,
}
"""Sort keys in an address; empty means most urgent first."""
