"""Filters texts in one of two modes: without credentials, or only known texts by reason and shape
(rules: known-messages). Pure.

An Event, condition or status can have any text: from a controller, from a container, or from anyone who can create
Events. In strict mode, a text that no Kubernetes component is known to write with its reason is
withheld; only its length is kept.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from operator import is_
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec.structs import replace

from common.scrub import scrub
from ingest.messages.reasons import COMBINED, prefix_of, spell_out
from ingest.model.objects.base import Condition

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
"""Maximum number of digits of a number that is kept: a status or exit code."""
_COUNT_DIGITS: Final = 19
_SYMBOLS: Final = 3
"""Maximum length of a word without letters and digits."""


def withheld(text: str) -> str:
    """Return the placeholder for a text; a placeholder stays unchanged."""
    return text if not text or re.fullmatch(WITHHELD, text) else f"[withheld: {len(text)} characters]"


def words_of(text: str) -> frozenset[str]:
    return frozenset(_RUN.findall(text))


def known_words(text: str, named: frozenset[str], *, counts: bool = False) -> str:
    """Withhold every unknown word between two spaces. Idempotent, and linear in the text's length.

    Words of names in `named`, an image or a pod, are known. Numbers have few digits, unless they are `counts`.
    """
    spoken = [span["named"] for span in _SPAN.finditer(text) if span["named"]]
    known = named.union(*map(words_of, spoken))
    digits = _COUNT_DIGITS if counts else _DIGITS

    def kept(span: re.Match[str]) -> str:
        chunk = span["chunk"]
        if chunk is None or _is_known(chunk, known, digits):
            return span[0]
        core = chunk.strip(_EDGES) or chunk
        head, _, end = chunk.partition(core)
        return f"{head}{withheld(core)}{end}"

    return _SPAN.sub(kept, text)


def _is_known(chunk: str, known: frozenset[str], digits: int) -> bool:
    runs = _RUN.findall(_ADDRESSES.sub(" ", chunk))
    if not chunk.isascii() or (not runs and len(chunk) > _SYMBOLS and not _ADDRESSES.search(chunk)):
        return False
    return all(run in known or all(_is_word(part, digits) for part in _PART.findall(run)) for run in runs)


def _is_word(part: str, digits: int) -> bool:
    return len(part) <= digits if part[0].isdigit() else part.lower() in _WORDS


_NAME: Final = r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?"
_QUANTITY: Final = r"-?[0-9]{1,32}(?:\.[0-9]{1,9})?[A-Za-z]{0,2}[0-9]{0,3}"
_USES: Final = (
    rf"{_QUANTITY}, (?:request is {_QUANTITY}, has larger consumption of [-a-z]{{1,32}}"
    rf"|which exceeds its request of {_QUANTITY})\."
)
_TYPES: Final[Mapping[str, str]] = {
    "name": _NAME,
    "names": rf"{_NAME}(?:,? {_NAME}){{0,63}}",
    "pod": rf"{_NAME}(?:_{_NAME})?(?:\([-0-9a-f]{{1,64}}\))?",
    "uid": r"[-0-9a-f]{1,64}",
    "key": KEY,
    "keys": rf"{KEY}(?:,? {KEY}){{0,63}}",
    "image": IMAGE,
    "word": r"[A-Za-z]{1,64}",
    "conditions": r"[A-Z][A-Za-z]{1,64}Pressure(?: [A-Z][A-Za-z]{1,64}Pressure){0,15}",
    "operation": r"(?:Mount|Attach|Unmount|Detach|Map|Unmap|Expand|NodeExpand)Volume(?:\.[A-Za-z]{1,32})?",
    "path": r"(?:/[-\w./]{0,4095})?",
    "command": r"[A-Za-z0-9][-A-Za-z0-9._/:+]{0,15}",
    "number": r"[0-9]{1,19}",
    "quantity": _QUANTITY,
    "duration": r"[0-9][0-9.hmsnuµ]{0,30}",
    "time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:.]{8,18}(?:Z|[-+][0-9:]{5}| [-+][0-9]{4} [A-Z]{1,5})",
    "address": ADDRESS,
    "url": rf"https?://(?:{_NAME}|{ADDRESS})(?::[0-9]{{1,5}})?(?:/[-\w.~/]{{0,512}})?",
    "offenders": rf"(?: (?:Container|Pod) {_NAME} was using {_USES}){{0,256}}",
}
"""Placeholders whose contents are kept."""


def _probe(text: str, _: frozenset[str]) -> str:
    kept = fit("probe", text)
    return withheld(text) if kept is None else kept


_TEXTS: Final[Mapping[str, tuple[str, Callable[[str, frozenset[str]], str]]]] = {
    "text": ("(.*)", known_words),
    "counts": ("(.*)", partial(known_words, counts=True)),
    "probe": ("(.*)", _probe),
    "output": ("(.*)", lambda text, _: withheld(text)),
    "query": (rf'((?:\?(?:{WITHHELD}|[^\s"]*))?)', lambda text, _: text[:1] + withheld(text[1:])),
}
"""Placeholders of which a part is kept."""
_HOLE: Final = re.compile(r"{(\w+)}")


class _Shape(NamedTuple):
    pattern: re.Pattern[str]
    texts: tuple[Callable[[str, frozenset[str]], str], ...]
    """Functions that return the kept part of each group, by the literal words outside the groups."""


def fit(reason: str, text: str) -> str | None:
    """Return the kept part of a message by the first shape that it fits; None if no shape of this reason fits."""
    for shape in _by_reason().get("OutOf" if reason.startswith("OutOf") else reason, ()):
        found = shape.pattern.fullmatch(text)
        if found is not None:
            return _passed(shape, found)
    return None


def _passed(shape: _Shape, found: re.Match[str]) -> str:
    at, outside = 0, []
    for i in range(1, len(shape.texts) + 1):
        outside.append(found.string[at : found.start(i)])
        at = found.end(i)
    named, end = words_of(" ".join(outside)), found.string[at:]
    passing = [filtered(found[i], named) for i, filtered in enumerate(shape.texts, 1)]
    return "".join(part for pair in zip(outside, passing, strict=True) for part in pair) + end


def _read(lines: Sequence[str]) -> Iterator[tuple[str, _Shape]]:
    """Parse pairs of a reason and a shape; shapes are indented below the lines of their reasons."""
    reasons: list[str] = []
    begins = True
    for line in lines:
        if line.startswith("  "):
            pieces = _HOLE.split(line.strip())
            pattern = "".join(
                (_TEXTS[piece][0] if piece in _TEXTS else _TYPES[piece]) if i % 2 else re.escape(piece)
                for i, piece in enumerate(pieces)
            )
            shape = _Shape(
                re.compile(pattern, re.DOTALL), tuple(_TEXTS[kind][1] for kind in pieces[1::2] if kind in _TEXTS)
            )
            yield from ((reason, shape) for reason in reasons)
        elif line and not line.startswith("#"):
            reasons = line.split() if begins else reasons + line.split()
        begins = not line.strip() or line.startswith("  ")


@cache
def _by_reason() -> Mapping[str, Sequence[_Shape]]:
    found: dict[str, list[_Shape]] = {}
    for reason, shape in _read((Path(__file__).parent / "shapes.txt").read_text().splitlines()):
        found.setdefault(reason, []).append(shape)
    return found


_REASON: Final = re.compile(rf"[A-Za-z0-9][-\w.:/]{{0,316}}|{WITHHELD}", re.ASCII)
_CACHED_CHARACTERS: Final = 2048
_MOST_CHARACTERS: Final = 64 * 1024
"""Maximum number of characters of a message. The API allows 32 Ki; a longer message is withheld."""


def allowed(reason: str, message: str) -> str:
    """Return the part of a message that is kept. Idempotent."""
    if not message:
        return message
    return (_remembered_passing if len(message) <= _CACHED_CHARACTERS else _allowed)(reason, message)


@lru_cache(4096)
def allowed_reason(reason: str) -> str:
    return reason if not reason or _REASON.fullmatch(reason) else withheld(reason)


def _allowed(reason: str, message: str) -> str:
    before = COMBINED if message.startswith(COMBINED) else ""
    if (passing := _passing(reason, message, before)) is not None:
        return passing
    longer = prefix_of(message)
    if longer != before and (passing := _passing(reason, message, longer)) is not None:
        return passing
    before = longer if longer.endswith(": ") else before
    text = message[len(before) :]
    core = text.rstrip()
    return before + withheld(core) + text[len(core) :]


def _passing(reason: str, message: str, before: str) -> str | None:
    """Return the kept part of a message after a prefix; None if it fits no shape."""
    text = message[len(before) :]
    core = text.rstrip()
    passing = fit(reason, core) if len(message) <= _MOST_CHARACTERS else None
    return None if passing is None else before + scrub(passing) + text[len(core) :]


_remembered_passing: Final = lru_cache(4096)(_allowed)


Redact: TypeAlias = Literal["credentials", "strict"]


class Mode(NamedTuple):
    """Returns the kept part of a reason, and of a message with its reason. Idempotent."""

    reason: Callable[[str], str]
    message: Callable[[str, str], str]

    def conditions(self, conditions: list[Condition] | None) -> list[Condition] | None:
        """Redact conditions; return the same list if all their texts are kept."""
        if not conditions:
            return conditions
        passing = [self._condition(each) for each in conditions]
        return conditions if all(map(is_, passing, conditions)) else passing

    def _condition(self, condition: Condition) -> Condition:
        reason, message = self.reason(condition.reason), self.message(condition.reason, condition.message)
        if (reason, message) == (condition.reason, condition.message):
            return condition
        return replace(condition, reason=reason, message=message)


def _clean(text: str) -> str:
    return _cached_scrub(text) if len(text) <= _CACHED_CHARACTERS else scrub(text)


_cached_scrub: Final = lru_cache(4096)(scrub)
CREDENTIALS: Final = Mode(lambda reason: _clean(spell_out(reason)), lambda _, message: _clean(message))
STRICT: Final = Mode(lambda reason: allowed_reason(spell_out(reason)), allowed)
