"""The tools with which an assistant reads a database: each method is a tool."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from common.text import plain
from leadsman.web.reading.detail import read_details
from leadsman.web.reading.evidence import absent, freshness, nothing_found, paced, read_evidence
from leadsman.web.reading.order import Order
from leadsman.web.reading.overview import read_node, read_spans
from leadsman.web.reading.scope import BadScope, RequestedRange, Scope, choose, sql_time
from sql.database.open import Database, Result
from sql.questions.fit import fit_document, read_known
from sql.questions.limits import MIB, Limits
from sql.questions.missing import why_empty
from sql.questions.queries import chosen, run, saved_queries, saved_query
from sql.questions.query_process import QueryProcess
from streams.questions.fit import answer
from streams.questions.fit_request import fit_request

LIMITS: Final = Limits(rows=500, seconds=10, memory_bytes=256 * MIB, answer_bytes=4 * MIB)
_STORY: Final = """
SELECT ts, node, kind, what FROM story
WHERE cluster = {cluster:String} AND ts >= {since:DateTime64(6)} AND ts <= {until:DateTime64(6)}
    AND ({node:String} = '' OR node = {node:String})
ORDER BY ts DESC, node, kind, what LIMIT {most:UInt32}
"""

Answer = dict[str, Any]
"""Only JSON's types."""


class Tools:
    """Each answer is within LIMITS, with `cut` if there is more. Raises WrongUsage or DatabaseError.

    `db` is open to read, and used by one thread at a time.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._process = QueryProcess(db)

    def clusters(self) -> Answer:
        """List the clusters of the database, each with the first and the last time it was observed."""
        return {"clusters": _plain([span._asdict() for span in read_spans(self._db)])}

    def story(self, cluster: str = "", since: str = "", until: str = "", last: str = "", node: str = "") -> Answer:
        """List what happened, a sentence a line, the latest first: evictions, pressure, image GC, OOM kills, pending
        pods.

        The range is `last` (1h, 6h, 24h, 7d or all), or `since` and `until`, for example 2026-11-21T04:19:00Z; by
        default the last day that was observed. Without a cluster, it is the one observed last. `evidence` is the age
        of the observations. Without rows, only the conclusion in `nothing` is allowed.
        """
        scope = self._scope(cluster, since, until, last)
        result = self._db.query(
            _STORY,
            {
                "cluster": scope.cluster,
                "since": sql_time(scope.since),
                "until": sql_time(scope.until),
                "node": node,
                "most": LIMITS.rows + 1,
            },
            LIMITS.settings(embedded=self._db.embedded),
        )
        evidence = read_evidence(self._db, paced(self._db, scope))
        none = absent(evidence, f"Nothing was found on node {plain(node)}") if node else nothing_found(evidence)
        nothing = {} if result.rows else {"nothing": none}
        known = {"evidence": freshness(evidence), **nothing}
        span = {"since": _plain(scope.since), "until": _plain(scope.until)}
        return {"cluster": scope.cluster, **span, **known, **_rows(result)}

    def saved_questions(self) -> Answer:
        """List the saved questions: name, what each answers, and its parameters with type, default and meaning."""
        return {"questions": [_described(each._asdict()) for each in saved_queries()]}

    def ask_saved_question(self, name: str, parameters: Mapping[str, str] | None = None) -> Answer:
        """Return the rows of a saved question, by a name of saved_questions; rows that have a time come newest first.

        If there are no rows, `nothing` has the reason.
        """
        query, given = chosen(saved_query(name), parameters or {})
        result = run(self._db, query, given, LIMITS)
        return ({} if result.rows else {"nothing": why_empty(self._db, query, given)}) | _rows(result)

    def eviction_order(self, node: str, cluster: str = "", until: str = "") -> Answer:
        """List the pods of a node that the kubelet would evict next, in its order, for each signal that has a
        threshold. The order is from the last sample before `until`, for example 2026-11-21T04:19:00Z, or from the
        last sample. `never` counts the pods that the kubelet never evicts. Signals of one file system have the same
        order.
        """
        scope = self._scope(cluster, "", until, "" if until else "all")
        line = read_node(self._db, scope, node)
        if line is None:
            raise BadScope(f"cluster {scope.cluster} has no node {node[:120]!r} in this range")
        (detail,) = read_details(self._db, scope, [line])
        return {
            "cluster": scope.cluster,
            "node": node,
            "sampled_at": _plain(line.sampled_at),
            "orders": [_order(each) for each in detail.orders],
        }

    def fit(
        self,
        cpu: str,
        memory: str = "0",
        devices: Sequence[str] = (),
        exclusive: bool = False,
        containers: int = 1,
        count: int = 1,
        node: str = "",
        cluster: str = "",
    ) -> Answer:
        """Show the nodes and NUMA nodes that can take a pod now, and why the others cannot.

        Quantities are Kubernetes', for each container: cpu 8 or 500m, memory 16Gi, devices as name=count.
        `exclusive` asks for whole CPUs that the CPU Manager pins.
        """
        request = fit_request(cpu, memory, devices, exclusive=exclusive, containers=containers, count=count)
        known = read_known(self._db, cluster, node)
        found = answer(request, known.candidates, known.strategies, known.scheduler_minor)
        return dict(_plain(fit_document(known, request, found)))

    def sql(self, query: str) -> Answer:
        """Return the rows of one SELECT, SHOW, DESCRIBE or EXPLAIN of ClickHouse; SHOW TABLES lists the tables."""
        return _rows(self._process.ask(query.encode(errors="replace").decode(), {}, LIMITS))  # lone surrogates

    def close(self) -> None:
        """End the process that answers `sql`."""
        self._process.close()

    def _scope(self, cluster: str, since: str, until: str, last: str) -> Scope:
        spans = read_spans(self._db)
        if not spans:
            raise BadScope("the database is empty: nothing was observed")
        return choose(spans, RequestedRange(cluster=cluster, since=since, until=until, last=last))


def _rows(result: Result) -> Answer:
    kept = [dict(zip(result.column_names, row, strict=True)) for row in result.rows[: LIMITS.rows]]
    if len(msgspec.json.encode(kept)) > LIMITS.answer_bytes:  # the embedded engine does not count these
        raise BadScope(f"the answer is larger than {LIMITS.answer_bytes // MIB} MiB: narrow the query")
    return {"rows": _plain(kept), "cut": len(result.rows) > LIMITS.rows}


def _order(order: Order) -> Answer:
    return {
        "signal": order.signal,
        "pods": order.pods,
        "never": order.never,
        "places": [
            {
                "rank": place.rank,
                "namespace": place.namespace,
                "pod": place.pod,
                "priority": place.priority,
                "usage": place.usage,
                "request": place.request,
                "reason": place.reason,
            }
            for place in order.places
        ],
    }


def _described(query: Answer) -> Answer:
    del query["sql"], query["was"], query["form"], query["forms"]
    return {**query, "parameters": [each._asdict() for each in query["parameters"]]}


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
