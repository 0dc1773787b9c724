"""Whenever workers die, and whatever Kafka has of what they sent to each topic, the last rows are the same."""

import asyncio
import logging
import math
import random
from collections import Counter
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import structlog
from hypothesis import given, settings
from hypothesis import strategies as st

from components.captures import observed
from contract.given import records_of
from contract.test_order import identity, storm
from fakes.brokered import TOPICS, Died, Kafka, Stored, Worker
from ingest.files.sources import read_sources
from ingest.kafka.publish import SENT, PublisherNumber
from ingest.model.records import LogBeganRecord, Record
from ingest.model.topics import encode_record, headers_of, key_of, kind_of
from ingest.normalize.dead_letters import Letter
from paths import SCENARIOS
from profiles import EXAMPLES
from streams.analytics.registry import REDUCERS
from streams.fold.reducer import AnyReducer, Reducer
from streams.kafka import parts
from streams.kafka.messages.alerts import decode_alert
from streams.kafka.messages.findings import ROW_TYPES, columns_of, decode_findings
from streams.kafka.parts import PartsCodec

pytestmark = [pytest.mark.costly, pytest.mark.usefixtures("logs_as_before")]

DEATHS: Final = 6
DIES_WITHIN: Final = 200
"""Messages that Kafka stores of a worker, at most, before it dies."""
NOT_A_RECORD_IN: Final = 40
BYTES: Final = range(4_000, 70_000)
STORM: Final = Path("storm")
INPUTS: Final = (
    STORM,
    *(each for each in sorted(SCENARIOS.glob("*/capture.jsonl")) if each.stat().st_size in BYTES),
)
COUNTING: Final = "DeadLetters"
"""An alert whose words count what there was by then (delivery.md#determinism)."""


class Count(msgspec.Struct, frozen=True):
    records: dict[str, int] = {}


def _counted(state: Count, record: Record) -> tuple[Count, tuple[()]]:
    kind = kind_of(record)
    return Count({**state.records, kind: state.records.get(kind, 0) + 1}), ()


TAKEN: Final = tuple(
    {each for reducer in REDUCERS if reducer.log == "cluster" for each in reducer.takes} - {LogBeganRecord}
)
"""Without what a log emits that was forgotten: a worker that died since then folds its last messages again."""
COUNTED: Final[tuple[AnyReducer, ...]] = (*REDUCERS, Reducer("counted", 1, "cluster", TAKEN, Count, _counted))
"""The reducers, and one that a record changes that is folded twice, or not at all."""


@pytest.fixture(autouse=True)
def _in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """States are several records each; nobody reads the log."""
    monkeypatch.setattr(parts, "PIECE_BYTES", 64)
    monkeypatch.setattr(parts, "SPLIT_FROM", 4)
    monkeypatch.setattr(parts, "BUCKET_ENTRIES", 4)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))


@cache
def _records(name: Path) -> list[Record]:
    chance = random.Random(1)  # noqa: S311  # the same for each worker
    return list(records_of(observed(storm(chance)) if name == STORM else read_sources([name])))


def _kafka(name: Path, again: float = 0.0) -> Kafka:
    """A Kafka that has all of a watcher's messages, this share of them twice, and some of somebody else's that are
    no records.
    """
    kafka, numbers, chance = Kafka(), count(1), random.Random(1)  # noqa: S311
    for number, record in enumerate(_records(name)):
        key, sent = key_of(record.cluster, record.node), PublisherNumber("watcher", next(numbers)).header()
        stored = Stored(key, encode_record(record), [*headers_of(record, str(number)), (SENT, sent)])
        kafka.put(TOPICS.of(record).name, [stored, stored] if chance.random() < again else [stored])
        if number % NOT_A_RECORD_IN == 7:
            kafka.put(TOPICS.of(record).name, [Stored(key, b"{", ())])
    return kafka


def _rows(kafka: Kafka) -> dict[Any, Any]:
    """The last version of each row, as tables and the compacted topic of alerts have it, and each dead letter."""
    found: dict[Any, Any] = {}
    for _, value, _ in kafka.topics[TOPICS.findings.name]:
        for table, columns in columns_of(decode_findings(value or b"")).items():
            names, version = identity(ROW_TYPES[table])
            for values in zip(*columns.values(), strict=True):
                row = dict(zip(columns, values, strict=True))
                if row.get("alertname") == COUNTING:
                    row["annotations"] = None
                identity_of = (table, *(str(row[name]) for name in names))
                before = found.get(identity_of)
                if before is None or not version or _version(row, version) >= _version(before, version):
                    found[identity_of] = row
    for key, value, _ in kafka.topics[TOPICS.alerts.name]:
        alert = None if value is None else decode_alert(value)
        if alert is None or alert.labels["alertname"] != COUNTING:
            found["alert", key] = alert
    letters = [Letter.read(headers, value or b"") for _, value, headers in kafka.topics[TOPICS.dead_letters.name]]
    by_position = {each.position: (each.cluster, each.error_type, each.payload) for each in letters}
    found["dead letters"] = Counter(by_position.values())  # positions are others where messages came twice
    counts = kafka.changelog(TOPICS.cluster.name)
    for key in counts.logs(0):
        found["records", key] = PartsCodec(COUNTED).decode(counts.get(key)).log.states.get("counted")
    return found


def _version(row: dict[str, Any], column: str) -> Any:
    """A table makes its `version` of these where its rows have none."""
    return row[column] if column in row else (bool(row.get("actor")), row["time_known"], row["updated_at"])


@cache
def _undisturbed(name: Path) -> dict[Any, Any]:
    kafka = _kafka(name)
    asyncio.run(Worker(COUNTED, kafka, random.Random(1), math.inf).run())  # noqa: S311
    return _rows(kafka)


@settings(max_examples=EXAMPLES // 5)
@given(st.sampled_from(INPUTS), st.integers(0, 2**32))
def test_the_last_rows_do_not_depend_on_when_workers_die(name: Path, seed: int) -> None:
    chance, kafka = random.Random(seed), _kafka(name, again=0.1)  # noqa: S311
    for _ in range(DEATHS):
        try:
            asyncio.run(Worker(COUNTED, kafka, chance, chance.randrange(1, DIES_WITHIN)).run())
        except Died:
            continue
        break
    else:
        asyncio.run(Worker(COUNTED, kafka, chance, math.inf).run())
    assert _rows(kafka) == _undisturbed(name)
