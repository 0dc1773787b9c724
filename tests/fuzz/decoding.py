"""Decode what an observation holds: its records, what analytics make of them, dead letters, dumps."""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final, get_args

import msgspec

from common.errors import BadRecord
from common.scrub import scrub
from fuzz.reading import HERE, file_of, is_told
from fuzz.target import Target, capture_lines, objects, texts_of
from ingest.files.documents import Bad
from ingest.files.dumps import DumpContext, DumpFile, read_dump
from ingest.files.envelope import ERROR_TYPES, decode_line
from ingest.files.lines import Meter, SourceError
from ingest.files.yaml_documents import yaml_parts
from ingest.model.observation import Change, Observation, Observed, Unreadable
from ingest.model.records import PublishedRecord, Record, SummaryRecord
from ingest.model.samples import pack
from ingest.model.topics import decode_record, encode_record
from ingest.normalize.normalize import normalize
from ingest.normalize.redact import redact, without_secrets
from ingest.resources.table import BY_NAME
from paths import SCENARIOS
from sql.landing.batches import from_columns, node_samples, pod_samples
from streams.analytics.registry import REDUCERS
from streams.fold.batch import Batch
from streams.fold.checkpoints import StateCodec
from streams.fold.fold import Fold, LogState, Rejected
from streams.fold.reducer import Withdrawal
from streams.kafka.messages.findings import columns_of, decode_findings, encode_findings

AT: Final = datetime(2026, 11, 21, 4, 30, tzinfo=UTC)
NAMES: Final = ("worker-1.stats-summary.json", "worker-1.configz.json", "pods.yaml", "worker-1.metrics.txt", "x.json")
FOLD: Final = Fold(REDUCERS)
STATES: Final = StateCodec(REDUCERS)
_CHANGES: Final[tuple[Change, ...]] = get_args(Change)
_RESOURCES: Final = sorted(BY_NAME)
_published: Final[Callable[[bytes], PublishedRecord]] = msgspec.json.Decoder(PublishedRecord).decode
_UNDECODABLE: Final = (msgspec.MsgspecError, RecursionError, UnicodeDecodeError)
"""Errors that `decode_record` and `decode_findings` document."""


def check_normalize(data: bytes) -> None:
    """An object of any bytes gives records that come through Kafka unchanged, or a BadRecord."""
    for record in _records(_observation(data)):
        value = encode_record(record)
        assert _published(value) == record
        decode_record(value)


def check_record(data: bytes) -> None:
    """A message is a record, which is written and read back unchanged, or raises what is documented."""
    try:
        record = _published(data)
    except _UNDECODABLE:
        return
    value = encode_record(record)
    assert encode_record(_published(value)) == value
    try:
        decode_record(value)
    except msgspec.ValidationError as error:
        assert str(error).endswith("`$.ts`"), error  # its type alone takes a time without a zone


def check_fold(data: bytes) -> None:
    """Lines of a capture are folded and make columns of every table: what makes no sense is rejected, none stops."""
    logs: dict[tuple[str, str], LogState] = {}
    for line in data.splitlines()[:50]:
        entry = decode_line(line, HERE)
        if isinstance(entry, Unreadable):
            continue
        for record in _records(entry.observation):
            log = logs.setdefault((record.cluster, record.node), LogState())
            lands(record, [each for each in FOLD.step(log, record.folded()) if not isinstance(each, Rejected)])
    for log in logs.values():
        STATES.decode(STATES.encode(log))


def check_findings(data: bytes) -> None:
    """A message of findings gives columns for tables, or raises what is documented."""
    try:
        found = columns_of(decode_findings(data))
    except _UNDECODABLE:
        return
    assert all(isinstance(values, list) for columns in found.values() for values in columns.values())


def check_redact(data: bytes) -> None:
    """Whatever was received can be cleaned, and is clean then: a second time takes nothing more away."""
    observation = redact(_observation(data))
    assert redact(observation) == observation
    once = without_secrets(data)
    assert without_secrets(once) == once
    text = scrub(data.decode(errors="replace"))
    assert scrub(text) == text


def check_dump(data: bytes) -> None:
    """A saved answer of kubectl or a kubelet: objects, parts with a known reason, or a SourceError in words."""
    path = file_of(data[1:], NAMES[sum(data[:1]) % len(NAMES)])
    try:
        for entry in read_dump([DumpFile(path, in_folder=False)], Meter(), DumpContext("c", "", None, Counter(), [])):
            if isinstance(entry, Unreadable):
                is_told(entry)
            else:
                _records(entry.observation)
    except SourceError as error:
        assert "\n" not in str(error)


def check_yaml(data: bytes) -> None:
    """Any YAML gives JSON objects, or parts with a known reason."""
    for part in yaml_parts(data):
        if isinstance(part, Bad):
            assert part.error_type in ERROR_TYPES
            assert part.reason
        else:
            assert isinstance(msgspec.json.decode(part.raw), dict)


def _observation(data: bytes) -> Observation:
    """Return an observation of the resource and the type that the first two bytes choose."""
    return Observation(
        ts=AT,
        cluster="c",
        source="watch",
        resource=_RESOURCES[sum(data[:1]) % len(_RESOURCES)],
        type=_CHANGES[sum(data[1:2]) % len(_CHANGES)],
        node="n",
        object=msgspec.Raw(data[2:]),
    )


def _records(observation: Observation) -> list[Record]:
    try:
        return normalize(observation)
    except BadRecord as error:
        assert error.error_type
        return []


def lands(record: Record, reported: list[Any]) -> None:
    """Rows and samples, as they come through Kafka, are columns of their tables."""
    batch = Batch()
    if isinstance(record, SummaryRecord):
        batch.add_sample(record.folded(), pack(record.pods))
        node_samples(batch.keys, batch.samples)
        pod_samples(batch.keys, batch.texts, batch.numbers)
    rows = [each for each in reported if not isinstance(each, Record)]
    value = encode_findings(record.cluster, record.node, record.ts, rows)
    for table, columns in columns_of(decode_findings(value)).items():
        from_columns(table, columns)
    for each in reported:
        if isinstance(each, Record):
            decode_record(encode_record(each))


def _chosen() -> Iterable[bytes]:
    """Objects behind the bytes that choose their resource."""
    for line, found in zip(capture_lines(), objects(), strict=True):
        entry = decode_line(line, HERE)
        if isinstance(entry, Observed):
            reported = entry.observation
            yield bytes([_RESOURCES.index(reported.resource), _CHANGES.index(reported.type)]) + found


def _values() -> Iterable[bytes]:
    for line in capture_lines():
        entry = decode_line(line, HERE)
        if isinstance(entry, Observed):
            yield from map(encode_record, _records(entry.observation))


def _dumps() -> Iterable[bytes]:
    for line, found in zip(capture_lines(), objects(), strict=True):
        name = 0 if b"stats/summary" in line else 1 if b"configz" in line else 4
        yield bytes([name]) + found
    for text in texts_of("ingest/files/test_dumps"):
        yield b"\2" + text
    yield b"\4" + gzip.compress(b'{"kind":"PodList","items":[{"metadata":{"name":"p"}},{"metad')


def _findings() -> Iterable[bytes]:
    logs: dict[tuple[str, str], LogState] = {}
    for line in capture_lines():
        entry = decode_line(line, HERE)
        for record in _records(entry.observation) if isinstance(entry, Observed) else []:
            reported = FOLD.step(logs.setdefault((record.cluster, record.node), LogState()), record.folded())
            rows = [each for each in reported if not isinstance(each, Record | Rejected | Withdrawal)]
            if rows:
                yield encode_findings(record.cluster, record.node, record.ts, rows)


def _scenarios() -> Iterable[bytes]:
    files = SCENARIOS.glob("*/capture.jsonl")
    return [b"\n".join(path.read_bytes().splitlines()[:12]) for path in sorted(files)]


TARGETS: Final = (
    Target("normalize", check_normalize, _chosen),
    Target("record", check_record, _values),
    Target("fold", check_fold, _scenarios),
    Target("findings", check_findings, _findings),
    Target("redact", check_redact, lambda: [*_chosen(), *texts_of("ingest/normalize/test_redact")]),
    Target("dump", check_dump, _dumps),
    Target("yaml", check_yaml, lambda: texts_of("ingest/files/test_dumps")),
)
