"""Formats a backtest as tables for people, and raw for programs."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, TypeAlias

from common.amounts import counted
from common.durations import in_words
from common.text import plain
from leadsman.cli.present.tables import as_objects, of_text, raw_rows
from sql.database.open import Result
from sql.questions.backtest import Backtest
from sql.questions.cells import Column, as_columns
from streams.alerting.rules_file import ALERT_NAMES
from streams.questions.backtest import AnnouncingAlert, Episode, announced, unfulfilled, verdict

Block: TypeAlias = str | Sequence[Column]
_CELL: Final = 300


def as_tables(found: Backtest) -> Iterator[Block]:
    for name, fired in found.fired.items():
        yield f"Alerts with the rules {plain(name)}: {len(fired)}"
        table = _table(
            ("fired", "lasted", "alert", "severity", "resolved", "what"),
            [(at, lasted, each.alertname, each.severity, end, each.summary) for each in fired
             for at, end, lasted in [_span(each)]],
        )  # fmt: skip
        yield [each._replace(whole=each.heading != "what") for each in table]
    yield "Evictions and rejections, and what announced them"
    yield _table(
        ("began", "node", "cause", "resource", "pods", *(f"announced by {name}" for name in found.fired)),
        [
            (
                _time(each.began),
                each.node,
                each.cause,
                each.resource,
                str(each.pods),
                *(_leads(announced(each, fired)) for fired in found.fired.values()),
            )
            for each in found.incidents
        ],
    )
    yield from _unfulfilled(found)
    if len(found.fired) > 1:
        yield "Rule sets compared"
        yield _table(("", *found.fired), _compared(found))
    yield "Forecasts of thresholds: accuracy"
    yield as_columns(found.forecasts)
    yield "Predicted eviction order: how often the evicted pod ranked first"
    yield as_columns(found.ranks)
    if found.coverage.rows:
        yield "Alerts that cannot fire, or know less, because an input is missing"
        yield as_columns(found.coverage)
    yield from in_short(found)


def in_short(found: Backtest) -> Iterator[str]:
    """Yield one line for each rule set: alerts, and the forecasts and ranks on which they are based."""
    forecasts, ranks = as_objects(found.forecasts), as_objects(found.ranks)
    met, unmet = (sum(each[name] for each in forecasts) for name in ("met", "not_met"))
    first, evictions = (sum(each[name] for each in ranks) for name in ("first_or_tied", "evictions"))
    for name, fired in found.fired.items():
        each = verdict(fired, found.incidents)
        lead = "" if each.median_lead_seconds is None else f" (median lead {in_words(each.median_lead_seconds)})"
        alerts = (
            f"{each.announced} of {len(found.incidents)} announced{lead}; {each.missed} missed; {each.false} false"
        )
        forecast = f"{met} of {counted(met + unmet, 'forecast')} met"
        ranked = f"{first} of {counted(evictions, 'evicted pod')} ranked first"
        yield f"In short, {plain(name)}: {alerts}. {forecast}; {ranked}."


def fired_rows(found: Backtest) -> Result:
    """Return a row for each alert of every rule set, with raw values, for CSV."""
    rows = ((rules, *each) for rules, alerts in found.fired.items() for each in alerts)
    return raw_rows(("rules", *Episode._fields), rows)


def document(found: Backtest) -> dict[str, Any]:
    report = found.report
    return {
        "observations": report.read,
        "first": report.first,
        "last": report.last,
        "dead_letters": dict(report.dead_letters),
        "rules": {
            name: {
                "alerts": [each._asdict() for each in fired],
                "nothing_followed": [each._asdict() for each in unfulfilled(fired, found.incidents)],
                "verdict": verdict(fired, found.incidents)._asdict(),
            }
            for name, fired in found.fired.items()
        },
        "incidents": [
            {
                **each._asdict(),
                "announced": {
                    name: [one._asdict() for one in announced(each, fired)] for name, fired in found.fired.items()
                },
            }
            for each in found.incidents
        ],
        "forecasts": as_objects(found.forecasts),
        "ranks": as_objects(found.ranks),
        "coverage": as_objects(found.coverage),
    }


def _unfulfilled(found: Backtest) -> Iterator[Block]:
    for name, fired in found.fired.items():
        idle = unfulfilled(fired, found.incidents)
        yield f"False alarms with the rules {plain(name)}: {len(idle)}"
        if idle:
            yield _table(
                ("fired", "resolved", "alert", "what"),
                [(*_span(each)[:2], each.alertname, each.summary) for each in idle],
            )


def _compared(found: Backtest) -> list[tuple[str, ...]]:
    every = found.fired.values()
    leads = [[announced(each, fired) for each in found.incidents] for fired in every]
    rows = [
        (name, *(str(sum(each.alertname == name for each in fired)) for fired in every))
        for name in ALERT_NAMES
        if any(each.alertname == name for fired in every for each in fired)
    ]
    return [
        *rows,
        ("alerts in all", *(str(len(fired)) for fired in every)),
        ("incidents announced", *(f"{sum(map(bool, each))} of {len(each)}" for each in leads)),
        ("shortest lead", *(_shortest(each) for each in leads)),
        ("false alarms", *(str(len(unfulfilled(fired, found.incidents))) for fired in every)),
    ]


def _shortest(leads: list[list[AnnouncingAlert]]) -> str:
    known = [each[0].lead_seconds for each in leads if each]
    return in_words(min(known)) if known else "-"


def _leads(by: list[AnnouncingAlert]) -> str:
    return ", ".join(f"{each.alertname} {in_words(each.lead_seconds)} before" for each in by) or "NOTHING"


def _table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[Column]:
    return of_text(columns, ([plain(value, _CELL) for value in row] for row in rows))


def _span(each: Episode) -> tuple[str, str, str]:
    fired = _time(each.starts_at)
    if each.ends_at is None:
        return fired, "still fires", "to the end"
    return fired, _time(each.ends_at), in_words((each.ends_at - each.starts_at).total_seconds())


def _time(ts: datetime) -> str:
    return ts.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")
