"""Keeps the known words of a text that kubelets, runtimes, network plugins, registries and drivers compose. Pure."""

import re
from pathlib import Path
from typing import Final

WITHHELD: Final = r"\[withheld: [0-9]{1,9} characters\]"
KEY: Final = r"[A-Za-z0-9][-A-Za-z0-9._/]{0,316}"
IMAGE: Final = r"[A-Za-z0-9][-A-Za-z0-9._:/]{0,511}(?:@sha256:[0-9a-f]{64})?"
ADDRESS: Final = r"(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-fA-F:.]{2,45}\])(?::[0-9]{1,5})?"

_WORDS: Final = frozenset((Path(__file__).parent / "words.txt").read_text().split())
_SPAN: Final = re.compile(
    rf"(?P<kept>{WITHHELD}|\[redacted\]"
    r"|{[-A-Za-z0-9._/]{1,317}: [-A-Za-z0-9._]{0,63}}"  # a taint
    rf"|\bInsufficient {KEY}(?=[,. ]|$)"
    r"|\b(?:container|volume|plugin|type|node|pods?|image|reference|configmap|persistentvolumeclaim|resourceclaim|claim"
    r"|key|gate)"
    rf'[ =]"(?P<named>{IMAGE})"'
    r'|\bsecret "[a-z0-9][-a-z0-9.]{0,252}" not found'
    rf"|(?<![\w.]){ADDRESS}(?!\w))|(?P<chunk>(?:(?!\[withheld: |\[redacted\])\S)+)"
)
"""A part that is kept as a whole, or any other text between two spaces."""
_ADDRESSES: Final = re.compile(ADDRESS)
_EDGES: Final = "\"'`()[]{}<>,.:;!?"
_RUN: Final = re.compile(r"[^\W_]+")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_DIGITS: Final = 3
"""Digits of a number that stays: a status or exit code."""
_COUNT_DIGITS: Final = 19
_SYMBOLS: Final = 3
"""Number of adjacent characters that are neither letters nor digits and stand alone."""


def withheld(text: str) -> str:
    """Return the placeholder for a text; a placeholder stays unchanged."""
    return text if not text or re.fullmatch(WITHHELD, text) else f"[withheld: {len(text)} characters]"


def words_of(text: str) -> frozenset[str]:
    """Runs of letters and digits."""
    return frozenset(_RUN.findall(text))


def known_words(text: str, named: frozenset[str], *, counts: bool = False) -> str:
    """The text with what has an unknown word between two spaces withheld, twice as once. Linear in its length.

    Words of what the message has `named`, an image or a pod, are known; numbers have few digits, unless they are
    `counts`.
    """
    spoken = [span["named"] for span in _SPAN.finditer(text) if span["named"]]
    known = named.union(*map(words_of, spoken))
    digits = _COUNT_DIGITS if counts else _DIGITS

    def kept(span: re.Match[str]) -> str:
        chunk = span["chunk"]
        if chunk is None or _is_known(chunk, known, digits):
            return span[0]
        core = chunk.strip(_EDGES) or chunk
        begin, _, end = chunk.partition(core)
        return f"{begin}{withheld(core)}{end}"

    return _SPAN.sub(kept, text)


def _is_known(chunk: str, known: frozenset[str], digits: int) -> bool:
    runs = _RUN.findall(_ADDRESSES.sub(" ", chunk))
    if not chunk.isascii() or (not runs and len(chunk) > _SYMBOLS and not _ADDRESSES.search(chunk)):
        return False
    return all(run in known or all(_is_word(part, digits) for part in _PART.findall(run)) for run in runs)


def _is_word(part: str, digits: int) -> bool:
    return len(part) <= digits if part[0].isdigit() else part.lower() in _WORDS
