"""Redaction of public reports, counted: every credential goes in either mode, and nothing else by default."""

import json
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import Any, Final

from fakes.credentials import CANARY, SHAPES, TOKENS
from ingest.messages.modes import CREDENTIALS, STRICT
from paths import TESTS

MESSAGES: Final = frozenset({"message", "note"})


def _said(thing: Any) -> Iterator[tuple[str, str]]:
    """Yield the reason and the text of each message in a document."""
    if isinstance(thing, list):
        for each in thing:
            yield from _said(each)
    elif isinstance(thing, dict):
        reason = thing.get("reason")
        for name, each in thing.items():
            if isinstance(each, str):
                if name in MESSAGES:
                    yield reason if isinstance(reason, str) else "", each
            else:
                yield from _said(each)


@cache
def said() -> frozenset[tuple[str, str]]:
    """The messages of all reports that are JSON."""
    documents = [
        json.loads(text)
        for path in (TESTS / "field/cases").rglob("*.json*")
        for text in (path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()])
        if text.lstrip().startswith(("{", "["))
    ]
    return frozenset(each for document in documents for each in _said(document))


def test_no_word_of_a_report_is_lost_by_default() -> None:
    assert len(said()) > 150
    lost = [text for reason, text in said() if CREDENTIALS.message(reason, text) != text]
    assert lost == []


def test_no_credential_in_a_message_of_a_report_leaks_in_either_mode() -> None:
    """Each form stands behind, before and in the middle of messages as they are."""
    secrets = [*((each, CANARY) for each in SHAPES), *((each, each) for each in TOKENS)]
    leaks = []
    for (reason, text), (written, secret) in zip(sorted(said()) * 3, cycle(secrets), strict=False):
        middle = text.find(" ") + 1
        for message in (f"{text}: {written}", f"{written} {text}", f"{text[:middle]}{written} {text[middle:]}"):
            leaks += [message for mode in (CREDENTIALS, STRICT) if secret in mode.message(reason, message)]
    assert leaks == []


def test_what_is_lost_by_a_strict_mode_is_said_to_be_withheld() -> None:
    """Nothing is left out in silence."""
    for reason, text in said():
        passing = STRICT.message(reason, text)
        assert passing == text or "[withheld: " in passing or "[redacted]" in passing
