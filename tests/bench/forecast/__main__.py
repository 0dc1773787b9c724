"""`make bench-forecast`: every method on series that no constant was chosen by, and on recordings; as Markdown."""

import argparse
from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from paths import EXAMPLES

from .methods import METHODS
from .score import Score, Summed, score, summed
from .series import Series, generated, recorded

SCORED: Final = range(1000, 1012)
TUNED: Final = range(1, 9)
"""Seeds: constants were chosen by the latter alone."""
RECORDINGS: Final = (
    EXAMPLES / "node-pressure-k8s-1.36.jsonl.gz",
    EXAMPLES / "numa-kubelets-k8s-1.36.jsonl.zst",
)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.forecast", description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the seeds that constants may be chosen by")
    parser.add_argument("--only", default="", help="methods whose name begins so")
    given = parser.parse_args()
    seeds = TUNED if given.tune else SCORED
    methods = [name for name in METHODS if name.startswith(given.only)]
    made = [series for seed in seeds for series in generated(seed)]
    days = sum((each.at[-1] - each.at[0]) / 86_400 for each in made)
    print(f"## Generated series\n\n{len(made)} series, {days:.0f} node days, {_events(made)} thresholds met.\n")
    _table(methods, made)
    for capture in RECORDINGS:
        found = list(recorded(capture))
        print(f"\n## {capture.name}\n\n{len(found)} signals and thresholds, {_events(found)} times met.\n")
        _table(methods, [each._replace(kind="all") for each in found])


def _events(series: Iterable[Series]) -> int:
    return sum(int(((each.met[1:]) & ~each.met[:-1]).sum()) for each in series)


def _table(methods: Iterable[str], series: list[Series]) -> None:
    print("| series | method | coverage | false alarms a day | lead | warned | error | forecasts |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    kinds = list(dict.fromkeys(each.kind for each in series))
    scores: dict[str, dict[str, list[Score]]] = {}
    for name in methods:
        by_kind: dict[str, list[Score]] = scores.setdefault(name, defaultdict(list))
        for each in series:
            by_kind[each.kind].append(score(each, METHODS[name](each)))
    for kind in [*kinds[: len(kinds) if len(kinds) > 1 else 0], ""]:
        for name, by_kind in scores.items():
            of_kind = by_kind[kind] if kind else [each for found in by_kind.values() for each in found]
            print(f"| {kind or '**all**'} | {name} | {_cells(summed(of_kind))} |")


def _cells(found: Summed) -> str:
    return " | ".join(
        (
            _percent(found.coverage),
            f"{found.false_a_day:.2f}",
            "" if found.lead is None else f"{found.lead / 60:.1f} min",
            _percent(found.warned),
            _percent(found.error),
            f"{found.forecasts:,}",
        )
    )


def _percent(part: float | None) -> str:
    return "" if part is None else f"{100 * part:.0f} %"


if __name__ == "__main__":
    main()
