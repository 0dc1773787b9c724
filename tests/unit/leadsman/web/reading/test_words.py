"""Amounts and times in words."""

import gzip
import json

import pytest

from common.amounts import counted
from leadsman.web.reading.words import amount, duration, percent, plainly, resource, sentence, size
from paths import ROOT


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (1023, "1,023 B"),
        (1024, "1.00 KiB"),
        (15 * 1024**3, "15.0 GiB"),
        (-(1 << 20), "-1.00 MiB"),
        (None, "unknown"),
    ],
)
def test_bytes_are_reported_in_binary_units(value: int | None, text: str) -> None:
    assert size(value) == text


def test_an_amount_is_reported_in_the_unit_of_its_signal() -> None:
    assert amount(1 << 30, "memory.available") == "1.00 GiB"
    assert amount(12_600_000, "nodefs.inodesFree") == "12.6 M inodes"
    assert amount(4096, "pid.available") == "4,096 processes"


def test_cpu_is_reported_in_cpus_and_memory_in_bytes() -> None:
    assert [resource(milli, "cpu") for milli in (77, 1000, 1500)] == ["0.077 CPUs", "1 CPU", "1.5 CPUs"]
    assert resource(1 << 30, "memory") == "1.00 GiB"
    assert resource(110, "pods") == "110"


def test_a_duration_that_is_missing_is_unknown() -> None:
    assert (duration(None), duration(125)) == ("unknown", "2 min 5 s")


def test_one_is_singular() -> None:
    assert (counted(1, "pod"), counted(2, "pod"), counted(1500, "was", "were")) == ("1 pod", "2 pods", "1,500 were")


def test_a_sentence_begins_large_and_ends_with_a_stop() -> None:
    assert sentence("nodes are even") == "Nodes are even."
    assert sentence("Done.") == "Done."
    assert sentence("") == ""


def test_a_ratio_is_reported_as_percent() -> None:
    assert percent(0.333) == "33 %"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            "ClientConnectorError(ConnectionKey(host='h'), ConnectionRefusedError(111, 'refused'))",
            "connection refused",
        ),
        ("ConnectionTimeoutError('Connection timeout to host')", "no answer in time"),
        ("OddError('x')", "it could not be read (OddError('x'))"),
        ("403 Forbidden: TimeoutError(1) is not ours", "403 Forbidden: TimeoutError(1) is not ours"),
    ],
)
def test_an_exception_in_a_capture_is_reported_in_words(error: str, text: str) -> None:
    assert plainly(error) == text


def test_the_captures_of_our_own_examples_have_such_exceptions() -> None:
    files = [gzip.decompress(file.read_bytes()) for file in (ROOT / "examples").glob("*.jsonl.gz")]
    lines = [json.loads(line) for file in files for line in file.splitlines() if b"Error(" in line]
    errors = [each["object"]["error"] for each in lines if each["type"] == "ERROR"]
    assert {plainly(error) for error in errors} == {"connection refused"}
