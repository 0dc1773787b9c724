"""Writes the report: one HTML file about a cluster and a range of time."""

from datetime import datetime
from typing import Final

from common.amounts import counted
from leadsman.web.attention.attention import attention
from leadsman.web.attention.badges import by_urgency
from leadsman.web.attention.episodes import timeline
from leadsman.web.reading.detail import read_details
from leadsman.web.reading.fleet import Choice
from leadsman.web.reading.nodes import NodeLine
from leadsman.web.reading.overview import (
    Overview,
    read_dead_letters,
    read_overview,
    read_spans,
    read_warnings,
    with_contradictions,
)
from leadsman.web.reading.scope import RequestedRange, choose
from leadsman.web.reading.settings import STEPS, Steps
from leadsman.web.reading.timeline import read_timeline
from leadsman.web.rendering.links import ReportLinks
from leadsman.web.rendering.render import note_page, report_file
from sql.database.open import Database

DETAILED: Final = 2
"""Maximum number of incidents that are shown in detail, on two to four printed pages."""
EPISODES: Final = 400
EMPTY: Final = "Nothing observed yet"
HOW: Final = (
    ("Replay a capture, a kubectl dump or a must-gather folder:", "leadsman replay PATH --db {db}"),
    ("Or watch a live cluster:", "leadsman up --db {db}"),
)


def write_report(
    db: Database, requested: RequestedRange, written: datetime, detailed: int = DETAILED, steps: Steps = STEPS
) -> str:
    """Return the file's text; for an empty database, a page of instructions. Raises BadScope and DatabaseError."""
    db = db.noting_empty_tables()
    spans = read_spans(db)
    if not spans:
        return note_page(ReportLinks(), EMPTY, empty_texts(db), empty_commands(db), alone=True)
    view = with_contradictions(db, read_overview(db, choose(spans, requested), spans))
    scope = view.scope
    chosen = in_detail(view)[:detailed]
    details = read_details(db, scope, chosen)
    warnings = read_warnings(db, scope, [node.name for node in chosen]) if chosen else {}
    happened = read_timeline(db, scope, view.alerts or (), view.image_gc)
    story = timeline(happened, scope, EPISODES)
    links = ReportLinks([node.name for node in chosen], [alert.name for alert in view.alerts or ()])
    return report_file(links, view, happened, story, details, warnings, written, Choice(steps=steps))


def in_detail(view: Overview) -> list[NodeLine]:
    """Return the nodes to show in detail: first the most urgent of each shortage, because its next step needs that
    part of the file.
    """
    ranked = by_urgency(view.nodes)
    short = [set(item.nodes) for item in attention(view) if item.now and item.signals]
    first = [next((node for node in ranked if node.name in names), ranked[0]) for names in short]
    return list({node.name: node for node in (*first, *ranked)}.values())


def empty_texts(db: Database) -> list[str]:
    """Return the texts for an empty database, including what it does contain."""
    texts = [f"The database {db} has no observations of any cluster."]
    letters = sum(row["times"] for row in read_dead_letters(db)) if db.has("dead_letters") else 0
    if letters:
        texts.append(f"{counted(letters, 'record')} could not be decoded: leadsman query dead_letters --db {db}")
    return texts


def empty_commands(db: Database) -> list[tuple[str, str]]:
    return [(text, command.format(db=db)) for text, command in HOW]
