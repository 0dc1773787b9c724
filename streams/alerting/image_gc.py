"""The shared parts of the alerts about image GC: verdicts raise them, and a recovery resolves them."""

from collections.abc import Callable, Iterator

from common.amounts import how_often
from streams.alerting.definition import Change, Happened, Now, Recovered
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name
from streams.fold.findings import ImageGc, image_gc_head


def on_verdict(
    row: ImageGc, settings: RuleSettings, now: Now, *, is_ours: bool, summary: Callable[[ImageGc], str]
) -> Iterator[Change]:
    """Raise the alert if `is_ours`, and resolve it if image GC recovered. A benign start-up raises nothing."""
    labels = {"reason": row.reason}
    if row.verdict == "recovered":
        yield Recovered(labels)
    elif is_ours and not now.is_old(row.last_at, settings):
        yield Happened(labels, summary(row), row.explanation, until=row.last_at)


def failing(row: ImageGc) -> str:
    head = image_gc_head(row.verdict, row.reason)
    return f"Node {name(row.node)}: {head[0].lower()}{head[1:]}"


def times(row: ImageGc) -> str:
    often = how_often(row.occurrences)
    return f"at least {often}" if row.occurrences_lower_bound else often
