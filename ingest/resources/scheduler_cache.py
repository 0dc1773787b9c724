"""A scheduler's cache: from its metrics, or from the dump that it logs at SIGUSR2 (rules: scheduler-cache)."""

import re
from typing import Final

import msgspec

from common.errors import BadRecord
from ingest.model.observation import Observation
from ingest.model.records import Record, SchedulerCacheRecord
from ingest.resources.resource import Resource

SIZE: Final = re.compile(r'^scheduler_(?:scheduler_)?cache_size\{type="nodes"\} ([0-9.e+]{1,30})\r?$', re.MULTILINE)
_DUMP: Final = "Dump of cached NodeInfo"
_QUEUE: Final = "Dump of scheduling queue"
_NODE: Final = re.compile(
    r"Node name: ([^\s\"\\]{1,253})(?:\r?\n|\\n)(?:\S+ std(?:out|err) [FP] )?[ \t]*(?:Deleted: (true|false))?"
)
_MISMATCH: Final = re.compile(
    r'[Cc]ache mismatch"?:? (?:missed nodes: |missedNodes=)\[([^\]]*)\]'
    r"(?:; redundant nodes: | redundantNodes=)\[[^\]]*\]"
)
_MISMATCH_LINE: Final = re.compile(rb"[Cc]ache mismatch[^\n]*missed ?[nN]odes[^\n]*")
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
    """The lines of a scheduler's log that are: of its last comparison, and of its last dump the nodes."""
    compared = _MISMATCH_LINE.findall(log)[-1:]
    _, dump, rest = log.rpartition(_DUMP.encode())
    nodes = _NODE_LINES.findall(rest.partition(_QUEUE.encode())[0]) if dump else []
    return b"\n".join([*compared, dump, *nodes])


def _records(observation: Observation, answer: _Text) -> list[Record]:
    text = answer.text
    size = SIZE.search(text)
    _, dump, rest = text.rpartition(_DUMP)
    found = _NODE.findall(rest.partition(_QUEUE)[0]) if dump else []
    if size is None and not dump:
        raise BadRecord("wrong_value", "scheduler_cache: neither scheduler_cache_size nor a dump of the cache")
    try:
        nodes = len(found) if size is None else int(float(size[1]))
    except (ValueError, OverflowError):
        raise BadRecord("wrong_value", "scheduler_cache: scheduler_cache_size is not a number of nodes") from None
    compared = _MISMATCH.findall(text)
    return [
        SchedulerCacheRecord(
            ts=observation.ts,
            cluster=observation.cluster,
            nodes=nodes,
            names=tuple(sorted(name for name, deleted in found if deleted != "true")) if dump else None,
            missed=tuple(_NAME.findall(compared[-1])) if compared else (),
            scheduler=answer.scheduler,
        )
    ]


SCHEDULER_CACHE: Final = Resource(name="scheduler_cache", decode=_decode, records=_records, word="scheduler")
