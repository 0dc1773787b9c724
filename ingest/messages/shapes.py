"""The shapes of known messages, and what passes of a text that fits one (rules: known-messages). Pure."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from ingest.messages.words import ADDRESS, IMAGE, KEY, WITHHELD, known_words, withheld, words_of

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
    "image": IMAGE,
    "word": r"[A-Za-z]{1,64}",
    "conditions": r"[A-Z][A-Za-z]{1,64}Pressure(?: [A-Z][A-Za-z]{1,64}Pressure){0,15}",
    "operation": r"(?:Mount|Attach|Unmount|Detach|Map|Unmap|Expand|NodeExpand)Volume(?:\.[A-Za-z]{1,32})?",
    "path": r"(?:/[-\w./]{0,4095})?",
    "command": r"[A-Za-z0-9][-A-Za-z0-9._/:+]{0,15}",
    "number": r"[0-9]{1,19}",
    "quantity": _QUANTITY,
    "duration": r"[0-9][0-9.hmsnuµ]{0,30}",
    "address": ADDRESS,
    "url": rf"https?://(?:{_NAME}|{ADDRESS})(?::[0-9]{{1,5}})?(?:/[-\w.~/]{{0,512}})?",
    "offenders": rf"(?: (?:Container|Pod) {_NAME} was using {_USES}){{0,256}}",
}
"""Holes whose contents pass."""


def _query(text: str, _: frozenset[str]) -> str:
    return text[:1] + withheld(text[1:])


def _probe(text: str, _: frozenset[str]) -> str:
    kept = fit("probe", text)
    return withheld(text) if kept is None else kept


_TEXTS: Final[Mapping[str, tuple[str, Callable[[str, frozenset[str]], str]]]] = {
    "text": ("(.*)", known_words),
    "counts": ("(.*)", partial(known_words, counts=True)),
    "probe": ("(.*)", _probe),
    "output": ("(.*)", lambda text, _: withheld(text)),
    "query": (rf'((?:\?(?:{WITHHELD}|[^\s"]*))?)', _query),
}
"""Holes of which a part passes."""
_HOLE: Final = re.compile(r"{(\w+)}")


class _Shape(NamedTuple):
    pattern: re.Pattern[str]
    texts: tuple[Callable[[str, frozenset[str]], str], ...]
    """Functions that return the passing part of each group, by the words that are named outside of the groups."""


def fit(reason: str, text: str) -> str | None:
    """Return the passing part of a message by the first shape that it fits; None if no shape of this reason fits."""
    for shape in _BY_REASON.get("OutOf" if reason.startswith("OutOf") else reason, ()):
        found = shape.pattern.fullmatch(text)
        if found is not None:
            return _passing(shape, found)
    return None


def _passing(shape: _Shape, found: re.Match[str]) -> str:
    at, outside = 0, []
    for i in range(1, len(shape.texts) + 1):
        outside.append(found.string[at : found.start(i)])
        at = found.end(i)
    named, end = words_of(" ".join(outside)), found.string[at:]
    passing = [filtered(found[i], named) for i, filtered in enumerate(shape.texts, 1)]
    return "".join(part for pair in zip(outside, passing, strict=True) for part in pair) + end


def _hole(kind: str) -> str:
    return _TEXTS[kind][0] if kind in _TEXTS else _TYPES[kind]


def _read(lines: Sequence[str]) -> Iterator[tuple[str, _Shape]]:
    """Pairs of a reason and a shape; below the lines of its reasons, a shape is indented."""
    reasons: list[str] = []
    begins = True
    for line in lines:
        if line.startswith("  "):
            pieces = _HOLE.split(line.strip())
            pattern = "".join(_hole(piece) if i % 2 else re.escape(piece) for i, piece in enumerate(pieces))
            shape = _Shape(
                re.compile(pattern, re.DOTALL), tuple(_TEXTS[kind][1] for kind in pieces[1::2] if kind in _TEXTS)
            )
            yield from ((reason, shape) for reason in reasons)
        elif line and not line.startswith("#"):
            reasons = line.split() if begins else reasons + line.split()
        begins = not line.strip() or line.startswith("  ")


_BY_REASON: Final[dict[str, list[_Shape]]] = {}
for _reason, _of in _read((Path(__file__).parent / "shapes.txt").read_text().splitlines()):
    _BY_REASON.setdefault(_reason, []).append(_of)
