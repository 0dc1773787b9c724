"""Objects as JSON or YAML between other text: in the fences of a ticket, below the commands of a terminal."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ingest.files.texts.parts import is_typed

LIMIT_BYTES: Final = 4 << 20
"""The largest file that is looked through for several forms; a larger one was written by a program."""
_MAY_BE: Final = re.compile(rb"^[ \t]*(?:```|~~~)|\bkubectl |\boc ", re.MULTILINE)
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)[^`]*")
_OBJECT: Final = re.compile(
    r"\s*(?:\{\s*\"|\[\s*\{|(?:---|#[^\n]*|Warning:[^\n]*|\s)*(?:- )?(?:apiVersion|kind|items|metadata):)"
)


class Apart(NamedTuple):
    objects: list[bytes]
    """Texts of objects, as JSON or YAML."""
    rest: bytes
    """All other text, with as many lines."""


def is_mixed(data: bytes) -> bool:
    """Tell whether text holds objects and something else, in fences or below commands."""
    if len(data) > LIMIT_BYTES or not _MAY_BE.search(data):
        return False
    apart = taken_apart(data)
    return bool(apart.objects) and bool(_without_marks(apart.rest))


def taken_apart(data: bytes) -> Apart:
    """Part text into the objects in it and the rest."""
    objects, rest = list[bytes](), list[str]()
    for marks, lines in _chunks(data.decode(errors="replace").replace("\r\n", "\n").split("\n")):
        text = "\n".join(lines)
        rest += marks
        if _OBJECT.match(text):
            objects.append(text.encode())
            rest += [""] * len(lines)
        else:
            rest += lines
    return Apart(objects, "\n".join(rest).encode())


def _chunks(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield what is between fences and commands, with the line of the fence or command before it."""
    marks, chunk = list[str](), list[str]()
    for line in lines:
        if _FENCE.fullmatch(line) or is_typed(line):
            yield marks, chunk
            marks, chunk = [line], []
        else:
            chunk.append(line)
    yield marks, chunk


def _without_marks(rest: bytes) -> str:
    lines = rest.decode(errors="replace").split("\n")
    return "".join(line for line in lines if not _FENCE.fullmatch(line) and not is_typed(line)).strip()
