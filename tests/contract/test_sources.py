"""Every resource of the table keeps its promises, over what all captures of the repository hold of it."""

import copy
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from common.errors import BadRecord
from ingest.files.documents import Found, json_parts
from ingest.files.envelope import decode_line, encode_line
from ingest.files.recognize import recognize
from ingest.files.sources import read_sources
from ingest.model.observation import Observation, Observed
from ingest.model.records import PublishedRecord
from ingest.model.topics import decode_record, encode_record
from ingest.normalize.normalize import normalize
from ingest.normalize.redact import Received, redact
from ingest.resources.resource import ApiResource, NodeResource, Resource
from ingest.resources.table import TABLE
from paths import CAPTURES

MOST_OF_A_CAPTURE: Final = 20
CANARY: Final = "canary-51c7e0"
TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT.*Z")

Seen = dict[str, list[Observation]]
published: Final = msgspec.json.Decoder(PublishedRecord).decode
every_resource = pytest.mark.parametrize("resource", TABLE, ids=lambda each: each.name)


def _makes_sense(observation: Observation) -> bool:
    try:
        normalize(observation)
    except BadRecord:
        return False
    return True


def _of_capture(path: Path) -> Iterator[Observation]:
    """Yield the first few observations of each resource that are what they say."""
    taken: defaultdict[str, int] = defaultdict(int)
    for item in read_sources([path]):
        if not isinstance(item, Observed) or item.observation.type in {"ERROR", "INVENTORY", "BOOKMARK"}:
            continue
        resource = item.observation.resource
        if taken[resource] < MOST_OF_A_CAPTURE and _makes_sense(item.observation):
            taken[resource] += 1
            yield item.observation


@pytest.fixture(scope="module")
def seen() -> Seen:
    found: Seen = defaultdict(list)
    for path in CAPTURES:
        for observation in _of_capture(path):
            found[observation.resource].append(observation)
    return found


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """A document with another text in place of each but times."""
    if isinstance(value, str):
        return value if TIME.fullmatch(value) else change(value)
    if isinstance(value, list):
        return [changed(each, change) for each in value]
    if isinstance(value, dict):
        return {name: changed(each, change) for name, each in value.items()}
    return value


def with_object(observation: Observation, document: Any) -> Observation:
    return msgspec.structs.replace(observation, object=msgspec.Raw(json.dumps(document).encode()))


def dumped(resource: Resource[Any], raw: bytes) -> Iterator[Found]:
    """An object as a dump has it: in a List of its kind, or by itself."""
    if isinstance(resource, ApiResource):
        version = "/".join(resource.paths[0].split("/")[2:4]) if resource.paths[0].startswith("/apis/") else "v1"
        kind = next(iter(resource.kinds))
        raw = b'{"kind":"%bList","apiVersion":"%b","items":[%b]}' % (kind.encode(), version.encode(), raw)
    for part in json_parts(raw):
        assert isinstance(part, Found)
        yield part


@every_resource
def test_every_resource_was_seen(resource: Resource[Any], seen: Seen) -> None:
    assert len(seen[resource.name]) > 0, f"no capture of the repository has {resource.name}"


@every_resource
def test_an_object_gives_the_same_records_each_time_and_stays_as_it_was(resource: Resource[Any], seen: Seen) -> None:
    for observation in seen[resource.name]:
        decoded = resource.decode(observation.object)
        kept = copy.deepcopy(decoded)
        records = resource.records(observation, decoded)
        assert decoded == kept == resource.decode(observation.object)
        assert records == resource.records(observation, decoded) == normalize(observation)


@every_resource
def test_records_come_through_kafka_unchanged_and_reducers_see_what_they_see_without_it(
    resource: Resource[Any], seen: Seen
) -> None:
    records = [record for observation in seen[resource.name] for record in normalize(observation)]
    assert records
    for record in records:
        assert published(encode_record(record)) == record
        assert decode_record(encode_record(record)) == record.folded()


@every_resource
def test_each_log_gets_at_most_one_record_of_a_kind_of_an_observation(resource: Resource[Any], seen: Seen) -> None:
    for observation in seen[resource.name]:
        logs = [(record.cluster, record.node, type(record)) for record in normalize(observation)]
        assert len(set(logs)) == len(logs)


@every_resource
def test_an_object_in_a_dump_is_recognised_as_this_resource_and_no_other(resource: Resource[Any], seen: Seen) -> None:
    for observation in seen[resource.name]:
        (found,) = dumped(resource, bytes(observation.object))
        thing = recognize(found)
        assert thing is not None
        assert thing.resource == resource.name
        claiming = [each.name for each in TABLE if isinstance(each, NodeResource) and each.fields(found.fields)]
        assert claiming == ([resource.name] if isinstance(resource, NodeResource) else [])


@every_resource
def test_what_is_redacted_is_clean_and_has_the_same_records(resource: Resource[Any], seen: Seen) -> None:
    for observation in seen[resource.name]:
        once = redact(observation)
        assert redact(once) == once
        assert normalize(once) == normalize(observation)
        assert resource.secrets or once is observation


@every_resource
def test_a_line_of_a_capture_holds_all_of_an_observation(resource: Resource[Any], seen: Seen) -> None:
    for observation in map(redact, seen[resource.name]):
        again = decode_line(encode_line(observation), Observed.__name__)  # type: ignore[arg-type]  # any position
        assert isinstance(again, Observed)
        assert normalize(again.observation) == normalize(observation)


@pytest.mark.parametrize("resource", [each for each in TABLE if each.secrets], ids=lambda each: each.name)
def test_no_credential_in_any_text_is_in_a_record_nor_in_what_is_written_as_it_was_received(
    resource: Resource[Any], seen: Seen
) -> None:
    for observation in seen[resource.name]:
        document = changed(msgspec.json.decode(observation.object), lambda text: f"{text} https://u:{CANARY}@h")
        hostile = with_object(observation, {**document, "kind": f"https://u:{CANARY}@h"})
        assert CANARY.encode() in bytes(hostile.object)
        reported = Received(hostile, resource.decode(hostile.object))
        for record in (*reported.normalize_with_warning()[0], *normalize(hostile)):
            assert CANARY.encode() not in encode_record(record)
        assert CANARY.encode() not in bytes(reported.redacted().object)
