"""Creates missing views, and replaces those whose text changed or that the server stores differently.

A view's text contains no rule of Kubernetes. A placeholder such as `{is_low}` stands for the SQL that the rule's
Python function returns for the columns of the query.
"""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from common.durations import NANOSECONDS
from ingest.messages.reasons import COMBINED, STARTING, STARTS
from ingest.model.objects.event import AUTOSCALERS
from ingest.model.samples import NodeSample
from sql.database.dsn import EMBEDDED_DATABASE
from sql.database.errors import MigrationMissing
from sql.database.open import Database
from streams.fold.findings import CHANGES, is_waiting, ready_state
from streams.fold.reasons import REASONS
from streams.fold.sentences import SENTENCES
from streams.rules.events.messages import PRESSURES
from streams.rules.eviction import order, signals
from streams.rules.eviction.signals import CONSEQUENCES, is_low, is_near
from streams.rules.eviction.thresholds import first_met
from streams.rules.image_gc import thresholds
from streams.rules.pod_ends.actors import evicted_by, marked_for_taint
from streams.rules.pod_ends.machine import concerns_machine
from streams.rules.scheduling.blind_spot import NOT_PLACED
from streams.rules.scheduling.constraints import DEFAULT_SCHEDULER
from streams.rules.scheduling.fit_machine import FULL_PCPUS_ONLY, TRUE
from streams.rules.scheduling.selectors import COMPARISONS, OPERATORS
from streams.rules.values.expressions import Amount, Expression, literal


def _columns(*names: str) -> list[Expression]:
    return list(map(Expression, names))


def _looked_up(of: Mapping[str, Any], column: str = "signal") -> str:
    return f"transform(toString({column}), {list(of)}, {list(of.values())}, '')"


def _observed() -> str:
    """Return SQL for the signals that a row `s` of node_samples supports.

    The inputs of a signal are found by removing one field at a time from a complete sample.
    """
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
    by_text = defaultdict[str, list[tuple[str, str]]](list)
    for layout, measures in order.MEASURES.items():
        for signal, measure in measures.items():
            fields = getattr(measure, part)
            text = fields if isinstance(fields, str) else " + ".join(fields)
            by_text[text or "0"].append((layout.value, signal))
    *others, (last, _) = by_text.items()
    cases = "".join(f"(layout, signal) IN ({', '.join(map(str, where))}), {text}, " for text, where in others)
    return f"multiIf({cases}{last})"


def _duration() -> str:
    """Return SQL for the seconds of a duration that Go printed."""
    parts = literal(rf"([0-9]{{1,6}}(?:\.[0-9]{{1,9}})?)({'|'.join(NANOSECONDS)})")
    nanoseconds = f"transform(part[2], {list(NANOSECONDS)}, {list(NANOSECONDS.values())}, 0)"
    summed = f"arraySum(part -> round(toFloat64OrZero(part[1]) * {nanoseconds}), extractAllGroups(text, {parts}))"
    return f"text -> {summed} / 1e9"


def _compared() -> str:
    names = ("has_stats", "used", "request", "discount", "priority")
    return ", ".join(map(str, order.sort_key(*_columns("is_pid", "counts_processes"))(*_columns(*names))))


def _meets() -> str:
    """Test whether labels meet all requirements, which are triples of key, operator and values."""
    tests = _columns("mapContains(labels, r.1)", "has(r.3, labels[r.1])")
    compared = _columns("toInt64OrNull(labels[r.1])", "toInt64OrNull(r.3[1])")
    cases = [f"r.2 = '{name}', {test(*tests)}" for name, test in OPERATORS.items()]
    cases += [
        f"r.2 = '{name}' AND length(r.3) = 1, ifNull({test(*compared)}, 0)" for name, test in COMPARISONS.items()
    ]
    return f"(labels, wanted) -> arrayAll(r -> multiIf({', '.join(cases)}, 0), wanted)"


def _said(sentence: Callable[..., Amount]) -> Amount:
    said = sentence(**{name: Expression(name) for name in signature(sentence).parameters})
    return literal(said) if isinstance(said, str) else said


_IMAGE_FILE_SYSTEM: Final = "available_bytes", "capacity_bytes"
_EVENT: Final = _columns(
    "component", "reason", f"trimBoth(replaceRegexpOne(message, {literal('^' + re.escape(COMBINED))}, ''))"
)
_NODES_MADE: Final = (
    "(SELECT cluster, node, argMax(created_at, ts) AS made_at"
    " FROM (SELECT cluster, node, created_at, ts FROM nodes SETTINGS final = 0) GROUP BY cluster, node)"
)
"""Creation time of each Node object; older rows are about an earlier node with its name."""
LATEST_CHANGE: Final = f"(ts, indexOf({[*CHANGES]}, change))"
"""Sorts the changes of a pod."""
RULES: Final[Mapping[str, Amount]] = {
    "latest_change": LATEST_CHANGE,
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
    "signal_resource": _looked_up(signals.RESOURCES),
    "resource_condition": _looked_up(
        {signals.RESOURCES[each]: signals.CONDITIONS[each] for each in signals.SIGNALS}, "resource"
    ),
    "unguarded_consequence": _looked_up({each: CONSEQUENCES[signals.RESOURCES[each]] for each in signals.SIGNALS}),
    "is_low": is_low(*_columns("available", "capacity")),
    "was_low": is_low(*_columns("available_min", "capacity")),
    "is_near": is_near(*_columns("s.available", "s.capacity", "x.2", "x.1")),
    "pressures": _looked_up(PRESSURES, "reason"),
    "kubelet_start": f"(object_kind = 'Node' AND reason = '{STARTING}' AND trimBoth(message) IN {STARTS})",
    "pressure_reasons": str(tuple(PRESSURES)),
    "not_placed": str(NOT_PLACED),
    "autoscalers": str(list(AUTOSCALERS)),
    "nodes_made": _NODES_MADE,
    "of_no_pod": "'' AS pod, CAST([], 'Array(String)') AS namespaces",
    "evicted_by": evicted_by(*_EVENT),
    "marked_for_taint": marked_for_taint(*_EVENT),
    "concerns_machine": concerns_machine(*_columns("object_kind", "reason", "component")),
    "duration": _duration(),
    "default_scheduler": literal(DEFAULT_SCHEDULER),
    "first_threshold": first_met(*_columns("hard_threshold", "soft_threshold")),
    "is_waiting": is_waiting(*_columns("change", "phase")),
    "ready_state": ready_state(*_columns("deleted", "ready", "ready_message")),
    "uncounted_memory": signals.uncounted_memory(
        *_columns("usage_bytes", "total_bytes", "free_bytes", "anonymous_bytes", "file_bytes")
    ),
    "held_back_memory": signals.held_back_memory(
        *_columns(
            "free_bytes", "active_file_bytes", "inactive_file_bytes", "reclaimable_slab_bytes", "free_available_bytes"
        )
    ),
    "whole_cores": f"cpu_manager_policy_options[{literal(FULL_PCPUS_ONLY)}] IN {TRUE}",
    "registers": f"toIntervalSecond({thresholds.REGISTERS // timedelta(seconds=1)})",
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


def _asked(columns: re.Match[str]) -> str:
    return " AND ".join(
        "ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}"
        if each == "ts"
        else f"({{{each}:String}} = '' OR {each} = {{{each}:String}})"
        for each in columns[1].split(", ")
    )


@cache
def with_rules(text: str) -> str:
    """Return a text with each placeholder replaced: rules by SQL, `{asked node, ts}` by filters on parameters."""
    for name, rule in RULES.items():
        text = text.replace(f"{{{name}}}", str(rule))
    return _ASKED.sub(_asked, text)


_ASKED: Final = re.compile(r"\{asked ([a-z, ]+)\}")
VIEWS: Final = Path(__file__).parent / "views"
COLUMNS: Final = VIEWS / "columns.json"
"""Types and comments of the views' columns, from `make generate`: the engine would take long to infer them."""
_REPLACE: Final = "CREATE OR REPLACE VIEW"
_THERE: Final = """
SELECT name, [definition] AS stored FROM system.tables
WHERE database = currentDatabase() AND name IN {names:Array(String)}
"""
_MADE: Final = "SELECT name, checksum, stored FROM schema_views"
_MADE_BY: Final = "SELECT name, checksum, leadsman_version FROM schema_views"
_RECORD: Final = """
INSERT INTO schema_views
SELECT name, checksum, stored, now64(6, 'UTC'), {leadsman:String}
FROM (SELECT {names:Array(String)} AS name, {checksums:Array(String)} AS checksum, {stored:Array(UInt64)} AS stored)
ARRAY JOIN name, checksum, stored
"""


class View(NamedTuple):
    name: str
    text: str
    """CREATE OR REPLACE VIEW; the engine infers the columns of it."""
    columns: Sequence[str]
    """Columns with type and comment; empty for a view that is newer than the last `make generate`."""

    @property
    def statement(self) -> str:
        head = f"{_REPLACE} {self.name}"
        columns = ",\n    ".join(self.columns)
        return self.text.replace(f"{head} AS", f"{head}\n(\n    {columns}\n)\nAS", 1) if columns else self.text

    @property
    def first(self) -> str:
        """Return the statement that creates the view."""
        return self.statement.replace(_REPLACE, "CREATE VIEW IF NOT EXISTS", 1)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.statement.encode()).hexdigest()


def replace_views(db: Database, leadsman: str) -> int:
    """Create missing views and replace those that differ; return how many were replaced. Raises DatabaseError.

    On a cluster it recreates all, because another replica may lack one, and counts only those that differ here.
    """
    views = load_views()
    there = _stored(db, views)
    made = {name: checksum for name, checksum, stored in db.query(_MADE).rows if there.get(name) == stored}
    changed = [view for view in views if db.cluster or made.get(view.name) != view.checksum]
    with db.unsynced():
        for view in changed:
            missing = view.name not in there and not db.cluster
            db.define(view.first if missing else view.statement)
    if changed:
        stored = _stored(db, changed)
        changed = [view for view in changed if view.name in stored]
        names, checksums = [view.name for view in changed], [view.checksum for view in changed]
        given = {"names": names, "checksums": checksums, "stored": [stored[name] for name in names]}
        db.command(_RECORD, {**given, "leadsman": leadsman})
    return sum(view.name in there and made.get(view.name) != view.checksum for view in changed)


def makers(db: Database) -> set[str]:
    """Return the versions of Leadsman that made the views, if these differ from this version's.

    An empty version stands for views that are missing.
    """
    made = {name: (checksum, by) for name, checksum, by in db.query(_MADE_BY).rows}
    found = [(view, *made.get(view.name, ("", ""))) for view in load_views()]
    return {by for view, checksum, by in found if checksum != view.checksum}


def _stored(db: Database, views: Sequence[View]) -> dict[str, int]:
    """Return a hash of the stored definition of each existing view.

    For the embedded engine the file is hashed, because querying the definition takes twenty times as long.
    """
    names = [view.name for view in views]
    definition = "metadata_path" if db.is_here else "cityHash64(create_table_query)"
    there = dict(db.query(_THERE.replace("[definition]", definition), {"names": names}).rows)
    if not db.is_here:
        return there
    default = f"metadata/{EMBEDDED_DATABASE}"  # the engine does not name their path
    files = {name: db.folder / (path or f"{default}/{name}.sql") for name, path in there.items()}
    return {name: int.from_bytes(hashlib.sha256(file.read_bytes()).digest()[:8]) for name, file in files.items()}


def load_views() -> list[View]:
    """Return every view, each after those that it reads. Raises MigrationMissing if they read each other in a
    circle.
    """
    texts = {file.stem: with_rules(file.read_text("utf-8")) for file in sorted(VIEWS.glob("*.sql"))}
    columns = json.loads(COLUMNS.read_text("utf-8"))
    ordered: dict[str, View] = {}
    while texts:
        ready = [name for name, text in texts.items() if not _reads(text) & (texts.keys() - {name})]
        if not ready:
            raise MigrationMissing(f"views read each other in a circle: {', '.join(texts)}. Reinstall Leadsman")
        ordered |= {name: View(name, texts.pop(name), columns.get(name, ())) for name in ready}
    return list(ordered.values())


def _reads(statement: str) -> set[str]:
    words = statement.split()
    return {after.rstrip("),") for before, after in pairwise(words) if before in {"FROM", "JOIN"}}
