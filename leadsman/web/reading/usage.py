"""Use of a node over a range: CPU, memory, and the time for which tasks were stalled (PSI)."""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from leadsman.web.reading.asked import RowDict, ask
from leadsman.web.reading.charts import ROLLUP_SECONDS, step_seconds
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.scope import Scope
from leadsman.web.reading.words import resource, size
from sql.database.open import Database

_STALLS: Final = (
    ("cpu_stalled", "CPU stalled"),
    ("memory_stalled", "Memory stalled"),
    ("io_stalled", "Disk stalled"),
)


class Usage(NamedTuple):
    """One course over the range: seconds since 1970 and values up to `top`."""

    name: str
    last: str
    highest: str
    at: tuple[int, ...]
    values: tuple[float, ...]
    top: float


def read_usage(db: Database, scope: Scope, nodes: Iterable[NodeLine]) -> dict[str, list[Usage]]:
    """Read the use of each node, as far as its kubelet measured it. Raises DatabaseError."""
    lines = {node.name: node for node in nodes}
    step, names = step_seconds(scope), list(lines)
    found = ask(db, "usage", scope, nodes=names, step=step) if step < ROLLUP_SECONDS else []
    found = found or ask(db, "usage_5m", scope, nodes=names, step=max(step, ROLLUP_SECONDS))
    return {row["node"]: usages(row, lines[row["node"]]) for row in found}


def usages(row: RowDict, node: NodeLine) -> list[Usage]:
    """From a row of `usage`; -1 is not measured."""
    cpu, memory = node.fit.get("cpu"), node.fit.get("memory")
    of_cpu = f" of {resource(cpu.capacity, 'cpu')}" if cpu else ""
    of_memory = f" of {size(memory.capacity)}" if memory else ""
    made = [
        _usage(row, "cpu", "CPU used", lambda value: resource(round(value / 1e6), "cpu"), of_cpu),
        _usage(row, "memory", "Memory used (working set)", size, of_memory),
        *(_usage(row, key, name, _stalled, " of the time") for key, name in _STALLS),
    ]
    return [each for each in made if each is not None]


def _stalled(percent: float) -> str:
    return f"{percent:.0f} %"


def _usage(row: RowDict, key: str, name: str, words: Callable[[float], str], of: str) -> Usage | None:
    measured = [(at, value) for at, value in zip(row["at"], row[key], strict=True) if value >= 0]
    if not measured:
        return None
    at, values = zip(*measured, strict=True)
    return Usage(name, words(values[-1]) + of, words(max(values)), at, values, max(*values, 1e-9))
