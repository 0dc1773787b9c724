"""Renders what people read of a database: the story of `look`, the page and the report."""

import io
from collections.abc import Sequence
from datetime import datetime, timedelta
from html.parser import HTMLParser

from rich.console import Console

from components.rows import T0, row, store, store_samples, summary
from leadsman.cli.present.story import print_story
from leadsman.web.reading.scope import RequestedRange
from leadsman.web.rendering.report import write_report
from leadsman.web.site.pages import Request, overview_of
from sql.database.open import Database
from streams.fold.findings import NodeEvent, NodeRow, PodBinding

GIB = 1 << 30


class Text(HTMLParser):
    """Has the text that a reader sees, and the classes of the elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.classes: list[str] = []
        self._parts: list[str] = []
        self._hidden = False
        self.feed(page)
        self.text = " ".join("".join(self._parts).split())

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self.classes.append(dict(attrs).get("class") or "")
        self._hidden = tag in {"script", "style"}

    def handle_endtag(self, tag: str) -> None:
        self._hidden = self._hidden and tag not in {"script", "style"}

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._parts.append(data)


def story(db: Database) -> str:
    out = io.StringIO()
    print_story(db, ["c"], Console(file=out, width=400), None)
    return out.getvalue()


def page(db: Database, now: datetime, **asked: str) -> Text:
    made = overview_of(db, Request.of(asked), lambda: now)
    assert made is not None
    return Text(made)


def report(db: Database) -> Text:
    return Text(write_report(db, RequestedRange(), T0 + timedelta(days=1)))


def ready(name: str, *, value: bool | None = True) -> NodeRow:
    return row(NodeRow, node=name, uid=name, ready=value)


def running(node: str) -> PodBinding:
    return row(PodBinding, change="bound", phase="Running", node=node, namespace="shop", pod="web", uid="u")


def sampled(db: Database, *names: str, minutes: int = 0) -> None:
    """Store a sample of each node, and an Event, which every cluster has."""
    at = T0 + timedelta(minutes=minutes)
    pulled = {"type": "Normal", "reason": "Pulled", "object_kind": "Pod", "object_name": "web", "namespace": "shop"}
    store(db, row(NodeEvent, name="e", ts=at, observed_at=at, occurrences=1, **pulled))
    store_samples(
        db, *(summary(at, name, memory_available_bytes=GIB, memory_working_set_bytes=GIB) for name in names)
    )
