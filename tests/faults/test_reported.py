"""Reports of a receiver are compared by alert and state: messages may be repeated, and their number says nothing."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import pytest

from components.rows import row
from faults.reported import Reported, reported, unlike
from streams.fold.findings import Alert
from streams.kafka.messages.alerts import encode_alert

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)
FIRED, RESOLVED = Reported("a", AT, "firing"), Reported("a", AT, "resolved")
ENDED = "a of 2026-11-26T12:00:00Z: resolved"


def sent(*states: Reported) -> Sequence[dict[str, object]]:
    """Return the states as a webhook is sent them."""
    rows = [row(Alert, fingerprint=each.fingerprint, starts_at=each.starts_at, status=each.status) for each in states]
    return [msgspec.json.decode(encode_alert(each)) for each in rows]


@pytest.mark.parametrize(
    ("stored", "messages", "expected"),
    [
        pytest.param([FIRED, RESOLVED], [FIRED, FIRED, RESOLVED], [], id="told again after a kill"),
        pytest.param([FIRED, RESOLVED], [FIRED, FIRED], [f"never told: {ENDED}"], id="lost"),
        pytest.param([FIRED], [FIRED, RESOLVED], [f"told and not stored: {ENDED}"], id="more"),
    ],
)
def test_as_many_messages_as_rows_prove_nothing_and_more_are_no_fault(
    stored: list[Reported], messages: list[Reported], expected: list[str]
) -> None:
    assert unlike({*stored}, reported(sent(*messages))) == expected
