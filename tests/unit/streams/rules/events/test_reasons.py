"""The reasons of a kubelet's refusals live in `ingest.messages.reasons` (rules: admission-failures)."""

from ingest.messages.reasons import REFUSALS
from streams.rules.events.admission import _BY_REASON


def test_every_explained_reason_is_a_reason_of_a_refusal() -> None:
    assert _BY_REASON.keys() <= REFUSALS
