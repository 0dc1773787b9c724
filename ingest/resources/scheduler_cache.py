"""A scheduler's cache and queues: from its metrics, or from the dump that it logs at SIGUSR2 (rules: scheduler-cache,
scheduling-queue).
"""

import re
from itertools import islice
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.numbers import within_int64
from ingest.model.observation import Observation
from ingest.model.records import Record, SchedulerCacheRecord
from ingest.model.scheduler import SchedulerQueue
from ingest.resources.resource import Resource, seen

SIZE: Final = re.compile(r'^scheduler_(?:scheduler_)?cache_size\{type="nodes"\} ([0-9.e+]{1,30})\r?$', re.MULTILINE)
_PENDING: Final = re.compile(
    r'^scheduler_pending_pods\{queue="(active|backoff|unschedulable|gated)"\} ([0-9.e+]{1,30})\r?$', re.MULTILINE
)
_STANDS_BY: Final = re.compile(r'^leader_election_master_status\{name="[^"\n]{1,253}"\} 0\r?$', re.MULTILINE)
_DUMP: Final = "Dump of cached NodeInfo"
_QUEUE: Final = "Dump of scheduling queue"
_CLOSED: Final = re.compile(rb"\n(?:\S+ std(?:out|err) [FP] )? >")
"""The end of a multi-line value."""
_QUEUES: Final = ("active", "backoff", "unschedulable")
"""In the order of the summary, and of the pods below it."""
_SUMMARY: Final = re.compile(r"activeQ:([0-9]{1,9}); backoffQ:([0-9]{1,9}); unschedulablePods:([0-9]{1,9})")
_QUEUED: Final = re.compile(
    r'name: [^\s,"\\]{1,253}, namespace: [^\s,"\\]{1,63}, uid: ([0-9A-Za-z.-]{1,64}), phase: '
)
_BEFORE_SUMMARY: Final = 300
"""Maximum number of characters between the two words and the summary, with a runtime's prefix."""
_MOST_QUEUED: Final = 10_000
"""Maximum number of pods of a dump whose queue is kept; the numbers count all."""
_LONGEST: Final = 1000
"""Maximum number of bytes for one of them in a dump."""
_NODE: Final = re.compile(
    r"Node name: ([^\s\"\\]{1,253})(?:\r?\n|\\n)(?:\S+ std(?:out|err) [FP] )?[ \t]*(?:Deleted: (true|false))?"
)
_MISMATCH: Final = re.compile(
    r'[Cc]ache mismatch"?:? (?:missed nodes: |missedNodes=)\[([^\[\]]*)\]'
    r"(?:; redundant nodes: | redundantNodes=)\[[^\[\]]*\]"
)
_MISMATCH_LINE: Final = re.compile(rb"[Cc]ache mismatch[^\n]*")
_MISSED: Final = re.compile(rb"missed ?[nN]odes")
_NODE_LINES: Final = re.compile(
    rb"Node name: [^\s\"\\]+(?:\r?\n|\\n)(?:\S+ std(?:out|err) [FP] )?[ \t]*(?:Deleted: (?:true|false))?"
)
_NAME: Final = re.compile(r"[^\s,\"]+")


class _Text(msgspec.Struct, frozen=True):
    text: str
    scheduler: str = ""


_decode: Final = msgspec.json.Decoder(_Text).decode


def is_about_a_cache(text: bytes) -> bool:
    """Tell whether a text contains any part of it."""
    return b"scheduler_cache_size{" in text or _DUMP.encode() in text


def about_the_cache(log: bytes) -> bytes:
    """Return such lines of a scheduler's log: of its last comparison, and of the nodes and queues in its last
    dump.
    """
    compared = [each for each in _MISMATCH_LINE.findall(log) if _MISSED.search(each)][-1:]
    _, dump, rest = log.rpartition(_DUMP.encode())
    cache, queues, queue = rest.partition(_QUEUE.encode())
    nodes = _NODE_LINES.findall(cache) if dump else []
    ends = [_QUEUE.encode()] if queues or _CLOSED.search(cache) else []
    return b"\n".join([*compared, dump, *nodes, *ends, *_about_queues(queue[: _MOST_QUEUED * _LONGEST])])


def _about_queues(dump: bytes) -> list[bytes]:
    """Return the lines about queues after `_QUEUE`; none without a summary."""
    dumped = dump.decode(errors="replace")
    summary = _SUMMARY.search(dumped, 0, _BEFORE_SUMMARY)
    pods = islice(_QUEUED.finditer(dumped), _MOST_QUEUED if summary else 0)
    return [each.encode() for each in (summary[0], *(pod[0] for pod in pods))] if summary else []


def of_queues(metrics: str) -> list[re.Match[str]]:
    """Return the lines of a scheduler's metrics with the numbers of pods in its queues; none if it is not the
    leader.
    """
    return [] if _STANDS_BY.search(metrics) else [*islice(_PENDING.finditer(metrics), len(_QUEUES) + 1)]


def _queues(metrics: str, dumped: str) -> tuple[SchedulerQueue, ...]:
    """Parse queues from a dump, else from metrics. A dump lists the pods of one queue after those of the other."""
    summary = _SUMMARY.search(dumped, 0, _BEFORE_SUMMARY)
    if summary is None:
        return tuple(SchedulerQueue(each[1], _number(each[2])) for each in of_queues(metrics))
    pods = [int(each) for each in summary.groups()]
    uids = [each[1] for each in islice(_QUEUED.finditer(dumped), min(sum(pods), _MOST_QUEUED))]
    if len(uids) < min(sum(pods), _MOST_QUEUED):
        uids = []  # a truncated dump does not show whose queue is meant
    left = iter(uids)
    return tuple(SchedulerQueue(queue, n, tuple(islice(left, n))) for queue, n in zip(_QUEUES, pods, strict=True))


def _number(text: str) -> int:
    try:
        return within_int64(int(float(text)))
    except (ValueError, OverflowError):
        raise BadRecord("wrong_value", "scheduler_cache: a number that is not one of nodes or pods") from None


def _records(observation: Observation, answer: _Text) -> list[Record]:
    text = answer.text
    size = SIZE.search(text)
    metrics, dump, rest = text.rpartition(_DUMP)
    cache, queues, queue = rest.partition(_QUEUE)
    whole = bool(queues or _CLOSED.search(cache.encode()))
    found = _NODE.findall(cache) if dump else []
    if size is None and not dump:
        raise BadRecord("wrong_value", "scheduler_cache: neither scheduler_cache_size nor a dump of the cache")
    compared = _MISMATCH.findall(text)
    return [
        SchedulerCacheRecord(
            **seen(observation),
            nodes=len(found) if size is None else _number(size[1]),
            names=tuple(sorted(name for name, deleted in found if deleted != "true")) if whole else None,
            missed=tuple(_NAME.findall(compared[-1])) if compared else (),
            scheduler=answer.scheduler,
            queues=_queues(metrics or text, queue if dump else ""),
            cut=bool(dump) and not whole,
        )
    ]


SCHEDULER_CACHE: Final = Resource(name="scheduler_cache", decode=_decode, records=_records, word="scheduler")
