"""A sentence that a view composes of its columns is what Python composes of their values."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from inspect import signature
from typing import Any, Final

import pytest

from sql.database.open import Database
from streams.fold.reasons import REASONS
from streams.fold.sentences import SENTENCES
from streams.rules.eviction.signals import CONDITIONS, SIGNALS
from streams.rules.values.expressions import Expression, Operand, literal
from streams.rules.values.wording import format_bytes, format_duration

CASES: Final = 30
SAID: Final = {**SENTENCES, **REASONS}
NUMBERS: Final = (0, 1, 2, 999, 1000, 12_345, 1_234_567)
BYTES: Final = (0, 1, 1023, 1024, 10_200, 1 << 20, 15 << 26, 1 << 30, 1030 << 30, 5 << 40, 1234 << 40)
SECONDS: Final = (0, 1, 59, 60, 61, 3599, 3600, 3661, 86_399, 86_400, 90_000, 1_000_000)
TEXTS: Final = ("", "it's", "back\\slash", 'a "quoted" word', "lo" + "o" * 200 + "ng", "{cluster}", "é")
_OF: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("pods", "images", "nodes", "without", "times", "objects", "entries"), NUMBERS[1:]),
    **dict.fromkeys(("share", "requested_ratio", "mean_ratio"), (0.0, 0.25, 0.333, 1.0)),
    **dict.fromkeys(("memory_full_percent", "io_full_percent"), (0.0, 9.9, 10.0, 45.4, 100.0)),
    **dict.fromkeys(("timed", "fits", "would_fit", "percent", "evictions"), NUMBERS),
    **dict.fromkeys(("lowest", "capacity", "freed", "swapped", "uncounted_bytes"), BYTES),
    **dict.fromkeys(("inactive_file_bytes", "active_file_bytes", "reclaimable_slab_bytes"), BYTES),
    "memory_available_bytes": (None, *BYTES),
    **dict.fromkeys(("available_bytes", "capacity_bytes"), BYTES),
    "inodes_free": (None, *NUMBERS),
    "inodes": NUMBERS,
    "images_known": (True, False),
    **dict.fromkeys(("outside_pods", "fastest_fall"), (None, *BYTES)),
    **dict.fromkeys(("step", "advised_reserved", "advised_threshold"), BYTES),
    **dict.fromkeys(("seconds", "measured_seconds"), SECONDS),
    **dict.fromkeys(
        ("has_earliest", "has_latest", "by_taint", "again", "is_ready", "called_off", "by_machine_config"),
        (True, False),
    ),
    **dict.fromkeys(("begins", "by_event", "cordoned", "at_least", "was_seen", "thresholds_assumed"), (True, False)),
    **dict.fromkeys(("timed", "untimed"), (True, False)),
    **dict.fromkeys(("earliest", "latest", "until"), (datetime(2026, 7, 1, 12, tzinfo=UTC),)),
    "cause": (
        "not_ready",
        "cordoned",
        "tainted",
        "came_back",
        "joined_later",
        "was_there_before",
        "took_over",
        "affinity",
        "unknown",
        "",
    ),
    "signal": SIGNALS,
    "resource": ("memory", "ephemeral-storage", "inodes", "pids"),
    "condition": (*sorted(set(CONDITIONS.values())), "Other"),
    "state": ("Ready", "NotReady", "Unknown"),
    "reason": ("NodeShutdown", "Shutdown", "DeletingNode", "Rebooted", "Drain"),
}
"""Values of a parameter by its name; those of others are TEXTS."""


def _column(value: Any) -> Expression:
    match value:
        case None:
            return Expression("CAST(NULL, 'Nullable(Int64)')")
        case str():
            return Expression(literal(value))
        case bool():
            return Expression(str(value).lower())
        case datetime():
            return Expression(f"toDateTime64('{value:%F %T}', 6, 'UTC')")
        case float():
            return Expression(f"toFloat64({value})")
        case _:
            return Expression(f"toInt64({value})")


def _of_engine(database: Database, composed: list[Operand]) -> list[str]:
    (row,) = database.query(
        "SELECT [" + ", ".join(literal(x) if isinstance(x, str) else str(x) for x in composed) + "]"
    ).rows
    return list(row[0])


@pytest.mark.parametrize("name", SAID)
def test_a_view_says_what_python_says(name: str, database: Database) -> None:
    rng = random.Random(name)  # noqa: S311 - cases, not secrets
    sentence: Callable[..., Operand] = SAID[name]
    names = tuple(signature(sentence).parameters)
    given = [{each: rng.choice(_OF.get(each, TEXTS)) for each in names} for _ in range(CASES if names else 1)]
    found = _of_engine(database, [sentence(**{each: _column(of[each]) for each in names}) for of in given])
    assert found == [sentence(**of) for of in given]


@pytest.mark.parametrize(("words", "values"), [(format_bytes, BYTES), (format_duration, SECONDS)])
def test_amounts_are_written_alike(
    words: Callable[[Operand], Operand], values: tuple[int, ...], database: Database
) -> None:
    assert _of_engine(database, [words(_column(each)) for each in values]) == [words(each) for each in values]
