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
from sql.database.errors import SchemaError
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
from streams.rules.values.expressions import Expression, Operand, literal


def _columns(*names: str) -> list[Expression]:
    return list(map(Expression, names))


def _lookup_sql(mapping: Mapping[str, Any], column: str = "signal") -> str:
    return f"transform(toString({column}), {list(mapping)}, {list(mapping.values())}, '')"


def _observed_signals_sql() -> str:
    """Return SQL for the signals that a row `s` of node_samples supports.

    The inputs of a signal are found in a complete sample, by removing one field at a time and by setting it to 0.
    """
    names = NodeSample.__struct_fields__
    whole = NodeSample(**dict.fromkeys(names, 1))

    def signals_if(name: str, value: int | None) -> set[str]:
        return set(signals.observe(msgspec.structs.replace(whole, **{name: value})))

    needs = {
        signal: [f"s.{name} IS NOT NULL" for name in names if signal not in signals_if(name, None)]
        + [f"s.{name} != 0" for name in names if signal not in signals_if(name, 0)]
        for signal in signals.SIGNALS
    }
    conditions = ", ".join(" AND ".join(each) for each in needs.values())
    return f"arrayFilter((signal, observed) -> observed, {list(needs)}, [{conditions}])"


def _layout_sql() -> Operand:
    capacities = (
        f"coalesce(s.{each}_{amount}, 0)"
        for each in ("nodefs", "imagefs", "containerfs")
        for amount in ("capacity_bytes", "inodes")
    )
    return signals.layout(*_columns(*capacities))


def _measure_sql(part: str) -> str:
    by_text = defaultdict[str, list[tuple[str, str]]](list)
    for layout, measures in order.MEASURES.items():
        for signal, measure in measures.items():
            fields = getattr(measure, part)
            text = fields if isinstance(fields, str) else " + ".join(fields)
            by_text[text or "0"].append((layout.value, signal))
    *others, (last, _) = by_text.items()
    cases = "".join(f"(layout, signal) IN ({', '.join(map(str, where))}), {text}, " for text, where in others)
    return f"multiIf({cases}{last})"


def _duration_sql() -> str:
    """Return SQL for the seconds of a duration that Go printed."""
    parts = literal(rf"([0-9]{{1,6}}(?:\.[0-9]{{1,9}})?)({'|'.join(NANOSECONDS)})")
    nanoseconds = f"transform(part[2], {list(NANOSECONDS)}, {list(NANOSECONDS.values())}, 0)"
    summed = f"arraySum(part -> round(toFloat64OrZero(part[1]) * {nanoseconds}), extractAllGroups(text, {parts}))"
    return f"text -> {summed} / 1e9"


def _sort_key_sql() -> str:
    names = ("has_stats", "used", "request", "discount", "priority")
    return ", ".join(map(str, order.sort_key(*_columns("is_pid", "counts_processes"))(*_columns(*names))))


def _requirements_sql() -> str:
    """Test whether labels meet all requirements, which are triples of key, operator and values."""
    tests = _columns("mapContains(labels, r.1)", "has(r.3, labels[r.1])")
    compared = _columns("toInt64OrNull(labels[r.1])", "toInt64OrNull(r.3[1])")
    cases = [f"r.2 = '{name}', {test(*tests)}" for name, test in OPERATORS.items()]
    cases += [
        f"r.2 = '{name}' AND length(r.3) = 1, ifNull({test(*compared)}, 0)" for name, test in COMPARISONS.items()
    ]
    return f"(labels, wanted) -> arrayAll(r -> multiIf({', '.join(cases)}, 0), wanted)"


def _sentence_sql(sentence: Callable[..., Operand]) -> Operand:
    words = sentence(**{name: Expression(name) for name in signature(sentence).parameters})
    return literal(words) if isinstance(words, str) else words


_IMAGE_FILE_SYSTEM: Final = "available_bytes", "capacity_bytes"
_EVENT: Final = _columns(
    "component", "reason", f"trimBoth(replaceRegexpOne(message, {literal('^' + re.escape(COMBINED))}, ''))"
)
_NODE_CREATION: Final = (
    "(SELECT cluster, node, argMax(created_at, ts) AS made_at"
    " FROM (SELECT cluster, node, created_at, ts FROM nodes SETTINGS final = 0) GROUP BY cluster, node)"
)
"""Creation time of each Node object; older rows are about an earlier node of the same name."""
CHANGE_SORT_KEY: Final = f"(ts, indexOf({[*CHANGES]}, change))"
"""SQL sort key of a pod's changes: by time, and at the same time in the order of CHANGES."""
RULES: Final[Mapping[str, Operand]] = {
    "latest_change": CHANGE_SORT_KEY,
    "meets": _requirements_sql(),
    "layout": _layout_sql(),
    "observed_signals": _observed_signals_sql(),
    "eviction_usage": _measure_sql("usage"),
    "eviction_request": _measure_sql("request"),
    "eviction_discount": _measure_sql("discount"),
    "eviction_compared": _sort_key_sql(),
    "eviction_exceeds": order.exceeds(*_columns("is_pid", "has_stats", "used", "request")),
    "processes_count_since": order.PROCESSES_COUNT_SINCE,
    "settable_signals": sorted(signals.SETTABLE),
    "signal_resource": _lookup_sql(signals.RESOURCES),
    "resource_condition": _lookup_sql(
        {signals.RESOURCES[each]: signals.CONDITIONS[each] for each in signals.SIGNALS}, "resource"
    ),
    "unguarded_consequence": _lookup_sql({each: CONSEQUENCES[signals.RESOURCES[each]] for each in signals.SIGNALS}),
    "is_low": is_low(*_columns("available", "capacity")),
    "was_low": is_low(*_columns("available_min", "capacity")),
    "is_near": is_near(*_columns("s.available", "s.capacity", "x.2", "x.1")),
    "pressures": _lookup_sql(PRESSURES, "reason"),
    "kubelet_start": f"(object_kind = 'Node' AND reason = '{STARTING}' AND trimBoth(message) IN {STARTS})",
    "pressure_reasons": str(tuple(PRESSURES)),
    "not_placed": str(NOT_PLACED),
    "autoscalers": str(list(AUTOSCALERS)),
    "nodes_made": _NODE_CREATION,
    "of_no_pod": "'' AS pod, CAST([], 'Array(String)') AS namespaces",
    "evicted_by": evicted_by(*_EVENT),
    "marked_for_taint": marked_for_taint(*_EVENT),
    "concerns_machine": concerns_machine(*_columns("object_kind", "reason", "component")),
    "duration": _duration_sql(),
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
    **{name: _sentence_sql(words) for name, words in (*SENTENCES.items(), *REASONS.items())},
}
"""The SQL of each placeholder in views and saved questions: rules and sentences."""


def _filters_sql(columns: re.Match[str]) -> str:
    return " AND ".join(
        "ts >= {since:DateTime64(6)} AND ts < {until:DateTime64(6)}"
        if each == "ts"
        else f"({{{each}:String}} = '' OR {each} = {{{each}:String}})"
        for each in columns[1].split(", ")
    )


@cache
def with_rules(text: str) -> str:
    """Return a text with each placeholder replaced: rules by SQL, `{filters node, ts}` by filters on parameters."""
    for name, rule in RULES.items():
        text = text.replace(f"{{{name}}}", str(rule))
    return _FILTERS.sub(_filters_sql, text)


_FILTERS: Final = re.compile(r"\{filters ([a-z, ]+)\}")
VIEWS: Final = Path(__file__).parent / "views"
COLUMNS: Final = VIEWS / "columns.json"
"""Types and comments of the views' columns, from `make generate`: the engine would take long to infer them."""
_REPLACE: Final = "CREATE OR REPLACE VIEW"
_STORED: Final = """
SELECT name, [definition] AS stored FROM system.tables
WHERE database = currentDatabase() AND name IN {names:Array(String)}
"""
_RECORDED: Final = "SELECT name, checksum, stored FROM schema_views"
_RECORDED_VERSIONS: Final = "SELECT name, checksum, leadsman_version FROM schema_views"
_RECORD: Final = """
INSERT INTO schema_views
SELECT name, checksum, stored, now64(6, 'UTC'), {version:String}
FROM (SELECT {names:Array(String)} AS name, {checksums:Array(String)} AS checksum, {stored:Array(UInt64)} AS stored)
ARRAY JOIN name, checksum, stored
"""


class View(NamedTuple):
    name: str
    text: str
    """The CREATE OR REPLACE statement without a column list."""
    columns: Sequence[str]
    """Columns with type and comment; empty for a view that is newer than the last `make generate`."""

    @property
    def statement(self) -> str:
        head = f"{_REPLACE} {self.name}"
        columns = ",\n    ".join(self.columns)
        return self.text.replace(f"{head} AS", f"{head}\n(\n    {columns}\n)\nAS", 1) if columns else self.text

    @property
    def create_statement(self) -> str:
        """Return the statement that creates the view if it is missing."""
        return self.statement.replace(_REPLACE, "CREATE VIEW IF NOT EXISTS", 1)

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.statement.encode()).hexdigest()


def replace_views(db: Database, version: str) -> int:
    """Create missing views and replace those that differ; return how many were replaced. Raises DatabaseError.

    On a cluster it recreates all, because another replica may lack one, and counts only those that differ here.
    """
    views = load_views()
    stored = _stored(db, views)
    recorded = {name: checksum for name, checksum, noted in db.query(_RECORDED).rows if stored.get(name) == noted}
    changed = [view for view in views if db.cluster or recorded.get(view.name) != view.checksum]
    with db.unsynced():
        for view in changed:
            is_missing = view.name not in stored and not db.cluster
            db.define(view.create_statement if is_missing else view.statement)
    if changed:
        now = _stored(db, changed)
        changed = [view for view in changed if view.name in now]
        names, checksums = [view.name for view in changed], [view.checksum for view in changed]
        given = {"names": names, "checksums": checksums, "stored": [now[name] for name in names]}
        db.command(_RECORD, {**given, "version": version})
    return sum(view.name in stored and recorded.get(view.name) != view.checksum for view in changed)


def versions_of_other_makers(db: Database) -> set[str]:
    """Return the versions of Leadsman that made the views, if these differ from this version's.

    An empty version stands for views that are missing.
    """
    recorded = {name: (checksum, version) for name, checksum, version in db.query(_RECORDED_VERSIONS).rows}
    found = [(view, *recorded.get(view.name, ("", ""))) for view in load_views()]
    return {version for view, checksum, version in found if checksum != view.checksum}


def _stored(db: Database, views: Sequence[View]) -> dict[str, int]:
    """Return a hash of the stored definition of each existing view.

    For the embedded engine the file is hashed, because querying the definition takes twenty times as long.
    """
    names = [view.name for view in views]
    definition = "metadata_path" if db.is_here else "cityHash64(create_table_query)"
    stored = dict(db.query(_STORED.replace("[definition]", definition), {"names": names}).rows)
    if not db.is_here:
        return stored
    default = f"metadata/{EMBEDDED_DATABASE}"  # `metadata_path` is empty for views
    files = {name: db.folder / (path or f"{default}/{name}.sql") for name, path in stored.items()}
    return {name: int.from_bytes(hashlib.sha256(file.read_bytes()).digest()[:8]) for name, file in files.items()}


def load_views() -> list[View]:
    """Return every view, each after those that it reads. Raises SchemaError if they read each other in a
    circle.
    """
    texts = {file.stem: with_rules(file.read_text("utf-8")) for file in sorted(VIEWS.glob("*.sql"))}
    columns = json.loads(COLUMNS.read_text("utf-8"))
    ordered: dict[str, View] = {}
    while texts:
        ready = [name for name, text in texts.items() if not _reads(text) & (texts.keys() - {name})]
        if not ready:
            raise SchemaError(f"views read each other in a circle: {', '.join(texts)}. Reinstall Leadsman")
        ordered |= {name: View(name, texts.pop(name), columns.get(name, ())) for name in ready}
    return list(ordered.values())


def _reads(statement: str) -> set[str]:
    words = statement.split()
    return {name.rstrip("),") for keyword, name in pairwise(words) if keyword in {"FROM", "JOIN"}}
