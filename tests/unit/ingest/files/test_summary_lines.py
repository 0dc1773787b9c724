"""A summary that is decoded with its line is what its line is otherwise, whatever stands in it."""

import msgspec
import pytest

from ingest.files.envelope import decode_line
from ingest.model.observation import Observed, Position
from ingest.normalize.decode import decode
from ingest.resources.stats_summary import STATS_SUMMARY

POSITION = Position("capture", "1")
BEGIN = (
    b'{"ts":"2026-11-21T04:17:07.289239Z","cluster":"lab","source":"kubelet","resource":"stats/summary",'
    b'"type":"SNAPSHOT","node":"n","object":'
)
POD = b'{"podRef":{"name":"p","namespace":"default","uid":"u"},"cpu":{"usageNanoCores":5},"containers":[]}'
SUMMARY = b'{"node":{"nodeName":"n","cpu":{"time":"x","usageNanoCores":7}},"pods":[%b]}' % POD
LINE = BEGIN + SUMMARY + b"}"


def test_it_is_decoded_once_with_its_line() -> None:
    seen = decode_line(LINE, POSITION, summaries=True)
    assert isinstance(seen, Observed)
    assert seen.decoded == STATS_SUMMARY.decode(SUMMARY)
    assert bytes(seen.observation.object) == SUMMARY
    assert seen.raw == LINE


@pytest.mark.parametrize(
    "line",
    [
        LINE,
        LINE.replace(b'"node":"n","object"', b'"object"'),
        LINE.replace(b'"lab"', b'"l\\u0061b"'),
        LINE.replace(b"SNAPSHOT", b"ERROR"),
        LINE.replace(b"stats/summary", b"metrics"),
        LINE.replace(b'"ts":', b'"ts" :'),
        LINE.replace(b"07.289239Z", b"07.289239"),
        LINE.replace(b"07.289239Z", b"07.289239+05:00"),
        LINE.replace(b"2026-11-21", b"9999-11-21"),
        LINE.replace(b'"source":"kubelet"', b'"source":"nobody"'),
        LINE.replace(b'"x"', b'"\xff"'),
        LINE.replace(b'"x"', '"ä"'.encode()),
        LINE.replace(b":7", b":-7"),
        LINE.replace(b":7", b':"7"'),
        LINE.replace(b'"x"', b"x"),
        LINE.replace(b'"x"', b"[" * 5000),
        LINE[:-1],
        LINE[:-1] + b',"node":"other"}',
        LINE[:-1] + b',"object":{"node":{}}}',
        LINE + b"}",
        LINE + b" ",
        LINE[:-1] + b" }",
        LINE.replace(b'"object":', b'"object": '),
        LINE[:-1] + b"]",
        BEGIN + b"null}",
        BEGIN + b"}",
        BEGIN + b'{"object":{"node":{}}}}',
        LINE[: len(LINE) // 2],
    ],
)
def test_it_is_the_same_as_in_two_steps(line: bytes) -> None:
    one, two = decode_line(line, POSITION, summaries=True), decode_line(line, POSITION)
    assert decode(one) == decode(two)
    assert one[:3] == two[:3] if not isinstance(two, Observed) else _plain(one) == _plain(two)


def _plain(seen: object) -> object:
    assert isinstance(seen, Observed)
    return msgspec.structs.replace(seen.observation, object=msgspec.Raw(bytes(seen.observation.object))), seen.raw
