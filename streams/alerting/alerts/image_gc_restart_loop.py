"""ImageGCRestartLoop: the kubelet restarts again and again, and image GC fails at each start."""

from collections.abc import Iterator
from typing import Final

from streams.alerting.definition import AlertDefinition, Change, Need, Now, each_row
from streams.alerting.image_gc import failing, on_verdict, times
from streams.alerting.rule_settings import RuleSettings
from streams.fold.findings import ImageGc


def changes(settings: RuleSettings, row: ImageGc, now: Now) -> Iterator[Change]:
    return on_verdict(row, settings, now, is_ours=row.verdict == "restart_loop", summary=_summary)


def _summary(row: ImageGc) -> str:
    return f"{failing(row)} ({times(row)})"


ALERT: Final = AlertDefinition(
    name="ImageGCRestartLoop",
    settings=RuleSettings,
    needs=(Need("events", "only events show it: it cannot fire"),),
    node_rows=(ImageGc,),
    step=each_row(changes),
)
