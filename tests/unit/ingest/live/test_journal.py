"""The journal of a process without Kafka: nothing that was written is lost, nothing that is stored is kept."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

from common.errors import HeldElsewhere
from ingest.files.envelope import decode_line
from ingest.live import journal
from ingest.live.journal import Journal
from ingest.live.run import Delivery
from ingest.model.observation import Observation, Observed
from ingest.normalize.decode import decode
from ingest.normalize.redact import Received, redact
from ingest.resources.stats_summary import STATS_SUMMARY


def _observation(number: int) -> Observation:
    return Observation(
        ts=datetime(2026, 1, 1, second=number, tzinfo=UTC),
        cluster="c",
        source="watch",
        resource="pods",
        type="ADDED",
        object=msgspec.Raw(b'{"metadata":{"name":"p%d"}}' % number),
    )


Opened: TypeAlias = Callable[..., Journal]


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens one journal after the other, each as of the next process."""
    with ExitStack() as stack:

        def opened(*given: Any, **named: Any) -> Journal:
            stack.close()
            return stack.enter_context(closing(Journal(*given, **named)))

        yield opened


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_segment_replays_to_exactly_the_written_observations(tmp_path: Path, opened: Opened) -> None:
    written = opened(tmp_path, "").write(_observation(1))
    assert isinstance(written, Observed)
    assert written.raw + b"\n" == (tmp_path / "00000001.jsonl").read_bytes()
    assert (written.position.place, written.observation.object) == ("1", _observation(1).object)


def test_a_summary_that_its_poller_decoded_is_not_decoded_again(tmp_path: Path, opened: Opened) -> None:
    summary = b'{"node":{"nodeName":"n","cpu":{"usageNanoCores":7}},"pods":[]}'
    polled = _observation(1)
    polled = msgspec.structs.replace(
        polled, source="kubelet", resource="stats/summary", type="SNAPSHOT", node="n", object=msgspec.Raw(summary)
    )
    decoded = STATS_SUMMARY.decode(polled.object)
    received = Received(polled, decoded)
    delivery = Delivery(received, None)
    written = opened(tmp_path, "").write(delivery.observation, received.decoded_of(delivery.observation))
    assert isinstance(written, Observed)
    assert written.decoded is decoded
    (line,) = (tmp_path / "00000001.jsonl").read_bytes().splitlines()
    assert decode(written) == decode(decode_line(line, written.position))


def test_an_object_decoded_before_redaction_is_not_reused() -> None:
    pod = _observation(1)
    assert Received(pod, object()).decoded_of(redact(pod)) is None


def test_a_process_that_wrote_nothing_leaves_no_segment(tmp_path: Path, opened: Opened) -> None:
    opened(tmp_path, "").close()
    assert opened(tmp_path, "").left == []


def test_a_killed_process_leaves_its_lines_except_a_torn_last_one(tmp_path: Path, opened: Opened) -> None:
    killed = opened(tmp_path, "")
    killed.write(_observation(1))
    with (tmp_path / "00000001.jsonl").open("ab") as file:
        file.write(b'{"ts":"2026')
    left = opened(tmp_path, "").left
    assert [path.read_bytes().count(b"\n") for path in left] == [1]
    assert left[0].read_bytes().endswith(b"\n")


def test_a_segment_of_only_a_torn_line_is_deleted(tmp_path: Path, opened: Opened) -> None:
    (tmp_path / "00000001.jsonl").write_bytes(b'{"ts":"2026')
    assert opened(tmp_path, "").left == []
    assert _names(tmp_path) == []


def test_a_segment_is_deleted_one_checkpoint_after_it_was_full(
    tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    kept = opened(tmp_path, "")
    kept.write(_observation(1))
    first = kept.checkpoint()  # the order of the last seconds may still be open: the segment is needed
    kept.write(_observation(2))
    kept.drop(first)
    assert _names(tmp_path) == ["00000001.jsonl", "00000002.jsonl"]
    second = kept.checkpoint()
    kept.drop(second)
    assert opened(tmp_path, second).left == [tmp_path / "00000001.jsonl", tmp_path / "00000002.jsonl"]
    third = kept.checkpoint()
    kept.drop(third)
    assert _names(tmp_path) == ["00000002.jsonl"]


def test_with_keep_no_segment_is_deleted(tmp_path: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "SEGMENT_BYTES", 1)
    kept = opened(tmp_path, "", keep=True)
    for number in range(4):
        kept.write(_observation(number))
        kept.drop(kept.checkpoint())
    assert len(_names(tmp_path)) == 4


def test_segment_names_never_repeat(tmp_path: Path, opened: Opened) -> None:
    """A database that covers a segment would take a new one of its name for covered."""
    opened(tmp_path, "00000041.jsonl").write(_observation(1))
    assert _names(tmp_path) == ["00000042.jsonl"]


def test_a_journal_without_its_beginning_is_not_all_that_a_database_without_a_checkpoint_needs(
    tmp_path: Path, opened: Opened
) -> None:
    """The database was dropped, and made anew: the streams must list again."""
    for _ in range(2):
        opened(tmp_path, "").write(_observation(1))
    assert opened(tmp_path, "").is_whole
    (tmp_path / "00000001.jsonl").unlink()
    assert not opened(tmp_path, "").is_whole
    assert opened(tmp_path, "00000002.jsonl").is_whole


def test_a_second_up_on_the_same_journal_is_refused(tmp_path: Path) -> None:
    """Both would delete what the other one needs; once the first has ended, in whatever way, the next one has it."""
    first = Journal(tmp_path, "")
    try:
        first.write(_observation(1))
        with pytest.raises(HeldElsewhere, match=f"{tmp_path}: another process writes this journal. End the other"):
            Journal(tmp_path, "")
        assert (tmp_path / "00000001.jsonl").exists()
    finally:
        first.close()
    with closing(Journal(tmp_path, "")) as second:
        assert [path.name for path in second.left] == ["00000001.jsonl"]
