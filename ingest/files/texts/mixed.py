"""Finds JSON or YAML objects between other text: in the fences of a ticket, or below commands in a terminal."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from ingest.files.texts.enclosed import inside_objects
from ingest.files.texts.fragments import is_about_a_part, is_typed, split_prompts
from ingest.model.objects.base import UNKNOWN_NAME

LIMIT_BYTES: Final = 4 << 20
"""Maximum size of a file that is searched for several forms; a larger one was written by a program."""
_MAY_BE: Final = re.compile(rb"^[ \t]*(?:```|~~~)|\bkubectl |\boc |_manager_state\b", re.MULTILINE)
_FENCE: Final = re.compile(r"[ \t]*(?:```|~~~)[^`]*")
_BEGINS: Final = re.compile(rb"^(?:\{\s*$|(?:apiVersion|kind): \S)", re.MULTILINE)
_YAML_BEGINS: Final = re.compile(r"(?:apiVersion: \S{1,100}|kind: [A-Z]\w{1,100})\s*")
_OF_YAML: Final = re.compile(r"\s|[A-Za-z][\w-]*:(?:\s|$)|- |#|---|$")
"""Matches the start of a line of a YAML object, or an empty line."""
_OTHER_COMMAND: Final = re.compile(r"(?:\[?[\w.-]{1,32}@[\w.-]{1,64}[: ][^\s`\"]{0,80}[#$%]|\$)[ \t]+[a-z]")
"""Matches the start of a line of a terminal with any command."""
_BRACKETS: Final = ("}", "]")
_MOST_BEFORE: Final = 20
"""Maximum number of lines of comments and warnings before an object."""
_ASKED: Final = re.compile(r"/api/v1/nodes/([a-z0-9][a-z0-9.-]{0,252})/proxy/")
_OBJECT: Final = re.compile(
    r"(?:\{\s*\"|\[\s*\{|(?:---|#[^\n]*|Warning:[^\n]*|\s)*(?:- )?(?:apiVersion|kind|items|metadata):)"
)

_CHECKPOINT: Final = re.compile(r'\{\s*"policyName": ?"(?:none|static|None|Static|BestEffort)"')
"""Matches the start of a kubelet's checkpoint."""
_COMMENT: Final = re.compile(r'^([ \t]*["{}\]][^\n#]{0,500})#[^\n"]*$', re.MULTILINE)
"""Matches a person's comment after a line of JSON."""
_ON_NODE: Final = re.compile(
    r"\bnode/([a-z0-9][a-z0-9.-]{0,252})|\bssh (?:\S{1,64}@)?([a-z0-9][a-z0-9.-]{0,252})(?=[ \n]|\Z)"
    r"|\b(?:docker|podman|nerdctl) exec (?:-(?:it?|ti?|-interactive|-tty) ){0,4}([a-z0-9][a-z0-9.-]{0,252})(?=[ \n])"
    r"|[\w.-]{1,32}@([a-z0-9][a-z0-9.-]{0,252})(?=[:\s~\]#$])"
    r"|\b(?:(?:kubectl|oc|k|docker|podman|nerdctl|crictl) (?:[^\n|;&]{1,200} )?(?:exec|debug|run)|talosctl"
    r"|ssh|multipass exec|lxc exec|nsenter|chroot|gcloud|aws|az)\b()"
)
"""Finds a node in a command or in a prompt; it is empty for a command that runs elsewhere."""
_NEAR: Final = 400
"""Distance before a checkpoint, in characters, in which its command is searched."""
_LONGEST: Final = 1 << 18
"""Maximum number of characters of a checkpoint."""


class MixedText(NamedTuple):
    objects: list[bytes]
    """Texts of objects, as JSON or YAML."""
    nodes: list[str]
    """The node in the command or the prompt above each object; empty without one."""
    rest: bytes
    """All other text, with the same number of lines."""


def is_mixed(data: bytes) -> bool:
    """Tell whether text contains objects and other text, in fences or below commands."""
    if len(data) > LIMIT_BYTES or not _MAY_BE.search(data):
        return False
    if any(map(is_about_a_part, data.decode(errors="replace").splitlines())):
        return True
    apart = split_mixed(data)
    return bool(apart.objects) and bool(_without_marks(apart.rest))


def has_objects(data: bytes) -> bool:
    """Tell whether text has a Kubernetes object between its lines; tried after all other forms."""
    return len(data) <= LIMIT_BYTES and _BEGINS.search(data) is not None and bool(split_mixed(data).objects)


def split_mixed(data: bytes) -> MixedText:
    """Split text into the objects in it and the rest."""
    text = split_prompts(data.decode(errors="replace").replace("\r\n", "\n"))
    objects, nodes, text = _checkpoints(text)
    rest = list[str]()
    for marks, lines in _chunks(text.split("\n")):
        text = "\n".join(lines)
        rest += marks
        if _OBJECT.match(text.lstrip()) and not any(map(is_about_a_part, marks)):
            objects.append(text.encode())
            asked = next(filter(None, map(_ASKED.search, marks)), None)
            nodes.append(asked[1] if asked else "")
            rest += [""] * len(lines)
        else:
            rest += lines
    return MixedText(objects, nodes, "\n".join(rest).encode())


def _checkpoints(text: str) -> tuple[list[bytes], list[str], str]:
    """Return kubelets' checkpoints in a text, the node of each, and the text without them."""
    objects, nodes, pieces, end = list[bytes](), list[str](), list[str](), 0
    if _CHECKPOINT.search(text):
        text = _COMMENT.sub(r"\1", text)
    for found in _CHECKPOINT.finditer(text):
        start = found.start()
        if start < end or not (whole := _decoded(text[start : start + _LONGEST])):
            continue  # inside the previous one, or truncated
        value, length = whole
        named = _ON_NODE.findall(text[max(start - _NEAR, end) : start])
        objects.append(json.dumps(value).encode())
        nodes.append(("".join(named[-1]) if named else "") or UNKNOWN_NAME)
        pieces += text[end:start], "\n" * text.count("\n", start, start + length)
        end = start + length
    return objects, nodes, "".join((*pieces, text[end:]))


def _decoded(text: str) -> tuple[Any, int] | None:
    """Return the value at the start of a text, and its length; its last bracket may be missing."""
    block = text.partition("\n\n")[0]
    for whole, most in ((text, len(text)), (f"{block}}}", len(block))):
        try:
            value, length = json.JSONDecoder().raw_decode(whole)
        except (RecursionError, ValueError):
            continue
        return value, min(length, most)
    return None


def _chunks(lines: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield texts between fences and commands, each with the line of the fence or command before it.

    An object that starts below other text, at the start of a line, is separate, too.
    """
    marks, chunk, end, is_object = list[str](), list[str](), None, False
    for line, is_inside in zip(lines, inside_objects(lines), strict=True):
        is_value = is_inside or line.lstrip().startswith('"')
        if not is_value and (_FENCE.fullmatch(line) or is_typed(line) or _OTHER_COMMAND.match(line)):
            yield marks, chunk
            marks, chunk, end, is_object = [line], [], None, False
            continue
        if end is not None and end(line):
            yield marks, [*chunk, line] if line.startswith(_BRACKETS) else chunk
            marks, chunk, end, is_object = [], [] if line.startswith(_BRACKETS) else [line], None, False
            continue
        begun = _begun(line) if end is None and not is_object else None
        if begun is not None and any(each.strip() for each in chunk):
            is_object = _OBJECT.match("\n".join(chunk[:_MOST_BEFORE]).lstrip()) is not None
            if not is_object:
                yield marks, chunk
                marks, chunk, end = [], [], begun
        chunk.append(line)
    yield marks, chunk


def _begun(line: str) -> Callable[[str], object] | None:
    """Return a test for the line that ends the object starting here; None if none starts.

    JSON ends with its bracket, YAML before the first other line.
    """
    if _YAML_BEGINS.fullmatch(line):
        return lambda later: not _OF_YAML.match(later)
    return (lambda later: later.startswith(_BRACKETS)) if line.rstrip() == "{" else None


def _without_marks(rest: bytes) -> str:
    lines = rest.decode(errors="replace").split("\n")
    return "".join(line for line in lines if not _FENCE.fullmatch(line) and not is_typed(line)).strip()
