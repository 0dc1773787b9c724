"""Redaction of public reports, counted: every credential goes in either mode, and nothing else by default."""

import json
import re
from collections.abc import Iterator
from functools import cache
from itertools import cycle
from typing import Any, Final

from fakes.credentials import CANARY, SHAPES, TOKENS
from field.test_cases import CASES, case
from ingest.files.sources import read_sources
from ingest.messages.modes import CREDENTIALS, STRICT
from ingest.model.observation import Observed
from paths import ROOT

FORMS: Final = (*((each, CANARY) for each in SHAPES), *((each, each) for each in TOKENS))
"""Each form of a credential, as it is written, and the part that is secret."""
COUNTED: Final = re.compile(
    r"more than (\d+) messages of the public reports.+?more than (\d+) forms of credentials"
    r".+? (\d+) % of the messages"
)
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
    """The messages of all reports, also of pasted text."""
    entries = [entry for folder in CASES for entry in read_sources(case(folder)[0])]
    seen = [entry.observation for entry in entries if isinstance(entry, Observed)]
    return frozenset(each for one in seen for each in _said(json.loads(bytes(one.object))))


def test_no_word_of_a_report_is_lost_by_default() -> None:
    lost = [text for reason, text in said() if CREDENTIALS.message(reason, text) != text]
    assert lost == []


def test_no_credential_in_a_message_of_a_report_leaks_in_either_mode() -> None:
    """Each form stands behind, before and in the middle of messages as they are."""
    leaks = []
    for (reason, text), (written, secret) in zip(sorted(said()) * 3, cycle(FORMS), strict=False):
        middle = text.find(" ") + 1
        for message in (f"{text}: {written}", f"{written} {text}", f"{text[:middle]}{written} {text[middle:]}"):
            leaks += [message for mode in (CREDENTIALS, STRICT) if secret in mode.message(reason, message)]
    assert leaks == []


def test_texts_lost_to_strict_mode_are_reported_as_withheld() -> None:
    """Nothing is left out in silence."""
    for reason, text in said():
        passing = STRICT.message(reason, text)
        assert passing == text or "[withheld: " in passing or "[redacted]" in passing


def test_the_page_has_the_counts() -> None:
    found = COUNTED.search(" ".join((ROOT / "docs/accuracy.md").read_text().split()))
    assert found is not None
    messages, forms, percent = map(int, found.groups())
    withheld = sum(STRICT.message(reason, text) != text for reason, text in said())
    assert 0.8 * len(said()) < messages < len(said())
    assert 0.8 * len(FORMS) < forms < len(FORMS)
    assert abs(percent - 100 * withheld / len(said())) < 3
