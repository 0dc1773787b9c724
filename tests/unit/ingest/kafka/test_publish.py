"""A publisher that cannot go on: it says why, takes nothing more, and ends the block that it is used in."""

import asyncio
from pathlib import Path
from typing import Any

import certifi
import pytest
import uvloop

from common.errors import FilesUnusable
from common.telemetry import _REGISTERED
from common.tls import RotatingContext
from ingest.kafka.publish import MAX_NUMBERED, SENT, Publisher, PublisherEnded, _Numbers
from waiting import PATIENCE_SECONDS


def test_a_ca_file_that_is_empty_for_a_moment_ends_the_publisher_loudly(tmp_path: Path) -> None:
    ca = tmp_path / "ca.crt"
    ca.write_text(Path(certifi.where()).read_text())
    options = {"security_protocol": "SSL", "ssl_context": RotatingContext.of(ca, None, None)}
    ca.write_text("")
    reasons: list[str] = []

    async def publish() -> None:
        # what a connection can be opened to; it is no Kafka, and need not be one
        async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0) as server:
            address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with asyncio.timeout(PATIENCE_SECONDS), Publisher(address, options) as publisher:
                try:
                    await asyncio.Event().wait()
                finally:
                    reasons.extend(_REGISTERED.why_not())
                    with pytest.raises(PublisherEnded, match="publishing to Kafka has ended"):
                        await publisher.send("topic", b"key", b"value")

    with pytest.raises(FilesUnusable, match=r"ca_file: .*/ca\.crt cannot be used"):
        uvloop.run(publish())
    assert any("publishing to Kafka has ended" in each and "ca.crt" in each for each in reasons)


def test_numbers_of_a_key_rise_and_none_comes_again_after_it_was_forgotten() -> None:
    numbers = _Numbers()
    assert [numbers.next("t", b"a") for _ in range(3)] == [1, 2, 3]
    assert numbers.next("other", b"a") == 1
    for number in range(MAX_NUMBERED):
        numbers.next("t", b"%d" % number)
    assert numbers.next("t", b"a") == 4
    assert numbers.next("t", b"a") == 5
    assert len(numbers._last) == MAX_NUMBERED


@pytest.mark.asyncio
async def test_a_message_whose_partition_is_given_has_no_number_and_nothing_of_its_key_is_kept() -> None:
    """The keys of states are ever new."""
    publisher: Any = Publisher("127.0.0.1:1")
    for number in range(3):
        await publisher.send("changelog", b"%d" % number, b"v", partition=0)
    await publisher.send("nodes", b"c/n", b"v")
    sent = [[name for name, _ in message.headers] for message in publisher._unacknowledged.values()]
    assert sent == [[], [], [], [SENT]]
    assert list(publisher._numbers._last) == [("nodes", b"c/n")]
