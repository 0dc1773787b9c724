"""ImageGCInvalidCapacity: image GC cannot read the image file system, run after run (rules: invalid-capacity)."""

from collections.abc import Iterator
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Happened, Need, Now, each_row
from streams.alerting.image_gc import failing, on_verdict, times
from streams.alerting.rule_settings import RuleSettings
from streams.alerting.words import name
from streams.fold.findings import ImageGc, NodeEvent, frees_too_little
from streams.rules.image_gc.messages import because

_OF_EVENTS: Final = (
    "The kubelet read capacity 0 of its image file system and skipped image GC. A single failure at its start "
    "resolves itself; a second one five minutes later does not. See the verdict: leadsman query image_gc."
)


class Settings(RuleSettings):
    every_invalid_disk_capacity: bool


def changes(settings: Settings, row: ImageGc | NodeEvent, now: Now) -> Iterator[Change]:
    if isinstance(row, ImageGc):
        is_ours = row.verdict == "persistent" and not frees_too_little(row.verdict, row.reason)
        yield from on_verdict(row, settings, now, is_ours=is_ours, summary=_summary)
    elif (
        settings.every_invalid_disk_capacity
        and row.reason == "InvalidDiskCapacity"
        and row.occurrences
        and not now.is_old(row.ts, settings)
    ):
        yield _once(row, now)


def _once(row: NodeEvent, now: Now) -> Happened:
    """Raise the alert for one failure, with the text of the verdict if there already is one."""
    labels = {"reason": "invalid_capacity"}
    summary, description = f"Node {name(row.node)}: image GC failed once, {name(row.message)}", _OF_EVENTS
    before = now.of(labels)
    if before is not None and before.description != description:
        summary, description = before.summary, before.description
    return Happened(labels, summary, description, until=row.ts)


def _summary(row: ImageGc) -> str:
    return f"{failing(row)} because {because(row.reason)} ({times(row)})"


ALERT: Final = AlertDefinition(
    name="ImageGCInvalidCapacity",
    settings=Settings,
    needs=(Need("events", "only events show it: it cannot fire"),),
    node_rows=(ImageGc, NodeEvent),
    step=each_row(changes),
    exhausts=frozenset({"ephemeral-storage", "inodes"}),
)
