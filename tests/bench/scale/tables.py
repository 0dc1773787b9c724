"""Tables of a Markdown document."""

from collections.abc import Iterable, Mapping, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns of figures."""
    lines = [head, ["--:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def two_columns(rows: Mapping[str, str]) -> str:
    """A figure beside each of its names."""
    lines = ["| | |", "|---|--:|", *(f"| {name} | {figure} |" for name, figure in rows.items())]
    return "\n".join(lines)
