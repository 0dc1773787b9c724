"""Rules of Kubernetes in the text of views and saved questions, each asked of its place in Python.

It gets the columns of the query, so no SQL states a rule. A placeholder says in which columns it finds what it needs.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any, Final

import msgspec

from ingest.model.samples import NodeSample
from streams.fold.reasons import REASONS
from streams.fold.sentences import SENTENCES
from streams.rules.eviction import order, signals
from streams.rules.eviction.unguarded import CONSEQUENCES, is_low, is_near
from streams.rules.image_gc import thresholds
from streams.rules.scheduling.selectors import COMPARISONS, OPERATORS
from streams.rules.values.expressions import Amount, Expression, literal


def _columns(*names: str) -> list[Expression]:
    return list(map(Expression, names))


def _one_of(of: Mapping[str, Any]) -> str:
    """The choice among constants by a signal."""
    return f"transform(toString(signal), {list(of)}, {list(of.values())}, '')"


def _observed() -> str:
    """The signals of a row of node_samples, named `s`: those whose inputs are there, and not 0 where that matters."""
    names = NodeSample.__struct_fields__
    whole = NodeSample(**dict.fromkeys(names, 1))

    def without(value: int | None, name: str) -> set[str]:
        return set(signals.observe(msgspec.structs.replace(whole, **{name: value})))

    needs = {
        signal: [f"s.{name} IS NOT NULL" for name in names if signal not in without(None, name)]
        + [f"s.{name} != 0" for name in names if signal not in without(0, name)]
        for signal in signals.SIGNALS
    }
    conditions = ", ".join(" AND ".join(each) for each in needs.values())
    return f"arrayFilter((signal, observed) -> observed, {list(needs)}, [{conditions}])"


def _layout() -> Amount:
    capacities = (
        f"coalesce(s.{each}_{amount}, 0)"
        for each in ("nodefs", "imagefs", "containerfs")
        for amount in ("capacity_bytes", "inodes")
    )
    return signals.layout(*_columns(*capacities))


def _measure(part: str) -> str:
    """The usage, request or discount of a pod for a signal and a layout."""
    alike = defaultdict[str, list[tuple[str, str]]](list)
    for layout, measures in order.MEASURES.items():
        for signal, measure in measures.items():
            fields = getattr(measure, part)
            text = fields if isinstance(fields, str) else " + ".join(fields)
            alike[text or "0"].append((layout.value, signal))
    *others, (last, _) = alike.items()
    cases = "".join(f"(layout, signal) IN ({', '.join(map(str, where))}), {text}, " for text, where in others)
    return f"multiIf({cases}{last})"


def _compared() -> str:
    names = ("has_stats", "used", "request", "discount", "priority")
    return ", ".join(map(str, order.compared(*_columns("is_pid", "counts_processes"))(*_columns(*names))))


def _meets() -> str:
    """Test whether labels meet all requirements, which are triples of key, operator and values."""
    asked = _columns("mapContains(labels, r.1)", "has(r.3, labels[r.1])")
    compared = _columns("toInt64OrNull(labels[r.1])", "toInt64OrNull(r.3[1])")
    cases = [f"r.2 = '{name}', {test(*asked)}" for name, test in OPERATORS.items()]
    cases += [
        f"r.2 = '{name}' AND length(r.3) = 1, ifNull({test(*compared)}, 0)" for name, test in COMPARISONS.items()
    ]
    return f"(labels, wanted) -> arrayAll(r -> multiIf({', '.join(cases)}, 0), wanted)"


def _said(sentence: Callable[..., Amount]) -> Amount:
    """The sentence, of columns that have the names of its parameters."""
    said = sentence(**{name: Expression(name) for name in signature(sentence).parameters})
    return literal(said) if isinstance(said, str) else said


_IMAGE_FILE_SYSTEM: Final = "available_bytes", "capacity_bytes"
RULES: Final[Mapping[str, Amount]] = {
    "meets": _meets(),
    "layout": _layout(),
    "observed_signals": _observed(),
    "eviction_usage": _measure("usage"),
    "eviction_request": _measure("request"),
    "eviction_discount": _measure("discount"),
    "eviction_compared": _compared(),
    "eviction_exceeds": order.exceeds(*_columns("is_pid", "has_stats", "used", "request")),
    "processes_count_since": order.PROCESSES_COUNT_SINCE,
    "settable_signals": sorted(signals.SETTABLE),
    "signal_resource": _one_of(signals.RESOURCES),
    "unguarded_consequence": _one_of({each: CONSEQUENCES[signals.RESOURCES[each]] for each in signals.SIGNALS}),
    "is_low": is_low(*_columns("available", "capacity")),
    "was_low": is_low(*_columns("available_min", "capacity")),
    "is_near": is_near(*_columns("s.available", "s.capacity", "x.2", "x.1")),
    "image_gc_high": thresholds.DEFAULT_HIGH_PERCENT,
    "image_gc_low": thresholds.DEFAULT_LOW_PERCENT,
    "image_gc_percent": thresholds.percent_used(*_columns(*_IMAGE_FILE_SYSTEM)),
    "image_gc_wanted": thresholds.wanted_bytes(*_columns(*_IMAGE_FILE_SYSTEM, "low_percent")),
    "image_gc_verdict": thresholds.verdict(
        *_columns("usage_percent", "capacity_bytes", "high_percent", "maximum_age_seconds")
    ),
    **{name: _said(words) for name, words in (*SENTENCES.items(), *REASONS.items())},
}
"""The text of each rule and sentence by its placeholder in views and saved questions."""


def with_rules(text: str) -> str:
    """The text of a view or question with its rules."""
    for name, rule in RULES.items():
        text = text.replace(f"{{{name}}}", str(rule))
    return text
