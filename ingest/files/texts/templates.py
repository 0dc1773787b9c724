"""Reads output of `kubectl get -o jsonpath`, by the expression in the command above it (rules: pasted-text).

A value ends where the text after its path begins, so each character is read only once. Ambiguous rows are skipped.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, NamedTuple

import msgspec

from ingest.files.texts.fragments import is_prompt
from ingest.files.unread import CUT_OFF
from ingest.model.observation import if_decodable

_PART: Final = re.compile(
    r"\{(?:range +(?P<range>[^{}\s]{1,300})|(?P<end>end)|\"(?P<text>(?:[^\"\\]|\\.){0,300})\""
    r"|'(?P<quoted>[^']{0,300})'|(?P<path>[@$]?\.[^{}]{1,300}))\s*\}|(?P<plain>[^{}]{1,300})"
)
_SELECTED: Final = re.compile(
    r"\[(?:\*?|(?P<number>\d{1,3})|\?\(@\.(?P<key>\w{1,64}) ?== ?[\\\"']*(?P<value>[\w./-]{1,64})[\\\"']*\))\]"
)
_QUOTED_NAME: Final = re.compile(r"\[['\"]([^'\"]{1,253})['\"]\]")
_DOT: Final = re.compile(r"(?<!\\)\.")
_WORD: Final = re.compile(r"[^\s,]+")
_MOST: Final = 128
"""Maximum number of parts of an expression, and items of a list."""
_LONGEST: Final = 4_000
_VALUE: Final = re.compile(r'\s*(?=[{\["])')
_OF_JSON: Final = re.compile(r"\s*\[?\s*\{")
"""Matches the start of JSON of objects; Go's form has `map[` instead."""
_LARGEST: Final = 1 << 18
"""Maximum number of characters of a value within a row, and of one that is the whole output."""
_OF_WORDS: Final = ("message", "taints")
"""Suffixes of paths whose values contain spaces."""
_JSON: Final = msgspec.json.Decoder()
_STATES: Final = frozenset({"True", "False", "Unknown"})


class Part(NamedTuple):
    """A path, a text between paths, or a part that is repeated for each item of the list at a path."""

    path: str
    text: str = ""
    parts: Sequence["Part"] = ()


def parts_of(expression: str) -> list[Part]:
    """Return the parts of an expression; none for an incomplete one."""
    lists, paths = [list[Part]()], list[str]()
    for found in list(_PART.finditer(expression))[:_MOST]:
        text = next((each for each in found.group("text", "quoted", "plain") if each is not None), None)
        if found["range"]:
            lists.append([])
            paths.append(found["range"].lstrip("@$."))
        elif found["end"] and paths:
            inner = lists.pop()
            lists[-1].append(Part(paths.pop(), "", inner))
        elif text is not None:
            lists[-1].append(Part("", text.replace("\\n", "\n").replace("\\t", "\t")))
        elif found["path"]:
            lists[-1].append(Part(found["path"].lstrip("@$.")))
    return [] if paths else lists[0]


def part_of(expression: str, lines: Sequence[str]) -> dict[str, Any] | None:
    """Return the fields of the object of which one path was printed, as JSON or as text; None for several paths.

    If a part of the JSON is missing, CUT_OFF is among the fields.
    """
    parts = [each for each in parts_of(expression) if each.path or each.text.strip()]
    text = "\n".join(_printed(lines)).strip()
    if len(parts) != 1 or parts[0].parts or not parts[0].path or not text:
        return None
    fields: dict[str, Any] = {}
    path, end, start = parts[0].path, 0, text[:_LARGEST]
    with suppress(RecursionError, ValueError):
        while (not end or path.endswith(("[]", "[*]"))) and (begun := _VALUE.match(start, end)) is not None:
            value, end = json.JSONDecoder().raw_decode(start, begun.end())
            put(fields, path, value)
        if end:
            return fields
    if _OF_JSON.match(text, end):
        fields[CUT_OFF] = True
    elif not end and is_state(path, value := text.partition("\n")[0]):
        put(fields, path, value)
    return fields


def _printed(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines before the next prompt."""
    return takewhile(lambda line: not is_prompt(line), lines)


def is_state(path: str, value: str) -> bool:
    """Tell whether a value is possible at a path, for paths of a boolean, of taints or of a condition's status."""
    if not value or value.startswith(("<n", "{", "[")):
        return True
    if path.endswith("taints"):
        return False  # it is a list
    if path.endswith("unschedulable"):
        return value in {"true", "false"}
    return not path.endswith("status") or _STATES.issuperset(_WORD.findall(value))


def rows_of(expression: str, lines: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the fields of each printed object: the items of a List, or the only object.

    A row with only a name counts next to a fuller one, because other text can look like a name.
    """
    parts = parts_of(expression)
    if len(parts) == 1 and parts[0].path.startswith("items["):
        parts = list(parts[0].parts)
    if len([each for each in parts if each.path]) <= 1 or any(each.path.startswith("items[") for each in parts):
        return  # any text would be a value, or a list of all values
    text, at = "\n".join(map(str.rstrip, _printed(lines))), 0
    rows = list[dict[str, Any]]()
    while at < len(text):
        found = _scanned(parts, text, at)
        if found is not None and found[1] > at:
            pairs, at, is_certain = found
            kept = [each for each in pairs if each[1]]
            if is_certain or (len(kept) == 1 and kept[0] == pairs[0]):
                rows.append({})
                for path, value in aligned(kept):
                    put(rows[-1], path, value)
        else:
            at = text.find("\n", at) + 1 or len(text)
        if found is None or at >= len(text):
            yield from rows if any(each.keys() - {"metadata"} for each in rows) else ()
            rows.clear()


def _scanned(parts: Sequence[Part], text: str, at: int) -> tuple[list[tuple[str, str]], int, bool] | None:
    """Return paths with their values, and where they end; None if the text has another form.

    Also tell whether it is certain which values are empty: between several blanks, any may be.
    """
    pairs, is_certain = list[tuple[str, str]](), True
    before = Part("")
    for part, behind in zip(parts, (*parts[1:], Part("", "\n")), strict=True):
        if part.parts:
            base = part.path.removesuffix("[*]")
            for number in range(_MOST):
                if (inner := _scanned(part.parts, text, at)) is None or inner[1] == at:
                    break
                pairs += [(f"{base}[{number}].{path}", value) for path, value in inner[0]]
                at, is_certain = inner[1], is_certain and inner[2]
            before = part
            continue
        line = text.find("\n", at, at + _LONGEST)
        end = line + 1 if line >= 0 else at + _LONGEST
        has_tabs = "\t" in text[max(text.rfind("\n", 0, at) + 1, at - _LONGEST) : end]
        near = _form(part.text, "", has_tabs).match(text, at, end) if part.text else None
        if part.path and behind.text:
            near = _form(behind.text, part.path, has_tabs).search(text, at, end)
        if near is None or not (part.text or _may_be(part.path, text[at : near.start()].strip())):
            return None
        if part.path:
            printed = text[at : near.start()].strip()
            pairs.append((part.path, printed.replace("<no value>", "")))
            is_blank = any(_is_blank(each.text) and not (has_tabs and "\t" in each.text) for each in (before, behind))
            is_certain &= bool(printed) or not is_blank
        before = part
        at = near.end() if part.text else near.start()
    return pairs, at, is_certain


def _is_blank(text: str) -> bool:
    return text != text.strip() and "\n" not in text


def _may_be(path: str, value: str) -> bool:
    if value == "<no value>":  # of a Go template
        return True
    if "\t" in value or not is_state(path, value):
        return False
    if path.endswith(("ame", "type")):
        return re.fullmatch(r"[\w./-]*", value) is not None
    return not re.search(r"\s", value) or path.endswith(_OF_WORDS) or "*" in path or value[0] in "[{"


@lru_cache(256)
def _form(literal: str, path: str, has_tabs: bool) -> re.Pattern[str]:
    """Return a pattern for text between two paths.

    A page may have replaced tabs by other blanks, and blanks after the last value of a line may be missing.
    """
    blank = r"(?<![ \t])(?:\t| {2,})" if path.endswith(_OF_WORDS) and "\t" in literal else r"(?<![ \t])[ \t]+"
    if has_tabs and (tabs := literal.count("\t")):
        blank = rf" *\t{{{tabs}}} *"
    if literal.isspace() and "\n" not in literal:
        return re.compile(rf"{blank}|(?=\n)|\Z")
    pieces = re.split(r"(\s+)", literal)
    return re.compile("".join(_piece(each, blank) for each in pieces if each))


def _piece(text: str, blank: str) -> str:
    if "\n" in text:
        return r"(?:\n|\Z)"
    return blank if text.isspace() else re.escape(text)


def aligned(pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield paths with their values, without values of a list's items if there are more for one path than for
    another: it is unclear which item lacks one.
    """
    counts: dict[str, set[int]] = {}
    for path, value in pairs:
        if "[*]." in path and not path.endswith("message"):
            counts.setdefault(path.partition("[*].")[0], set()).add(len(_WORD.findall(value)))
    uneven = {base for base, found in counts.items() if len(found) > 1}
    yield from (each for each in pairs if "[*]." not in each[0] or each[0].partition("[*].")[0] not in uneven)


def put(fields: dict[str, Any], path: str, value: Any) -> None:
    """Put a value at a path: into the items of a list that a filter or an index selects, else one word into each."""
    path = _QUOTED_NAME.sub(lambda found: "." + found[1].replace(".", "\\."), path)
    if isinstance(value, str) and value.startswith(("{", "[{")):
        value = if_decodable(_JSON.decode, value.encode()) or value
    selected = _SELECTED.search(path)
    names = [each.replace("\\", "") for each in _DOT.split(path[: selected.start()] if selected else path) if each]
    within: Any = fields
    for name in names[:-1]:
        within = within.setdefault(name, {}) if isinstance(within, dict) else None
    if not names or not isinstance(within, dict):
        return
    if selected is None:
        within.setdefault(names[-1], value)
        return
    items, rest = within.setdefault(names[-1], []), path[selected.end() :].lstrip(".")
    if isinstance(items, list) and isinstance(value, dict) and not rest:
        items.append(value)
    elif isinstance(items, list) and rest:
        for item, each in _chosen(items, selected, rest, value):
            put(item, rest, each)


def _chosen(
    items: list[dict[str, Any]], selected: re.Match[str], rest: str, value: Any
) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield the selected items of a list, with the value of each; missing items are created."""
    if selected["key"] == "status":  # several types have one status
        words = _WORD.findall(value) if rest == "type" and isinstance(value, str) else ()
        made = [{"status": selected["value"]} for _ in words[:_MOST]]
        items += made
        yield from zip(made, words, strict=False)
        return
    if key := selected["key"]:
        if not any(each.get(key) == selected["value"] for each in items):
            items.append({key: selected["value"]})
        yield from ((each, value) for each in items if each.get(key) == selected["value"])
        return
    is_one = selected["number"] or rest.endswith(_OF_WORDS) or not isinstance(value, str)
    values = {int(selected["number"] or 0): value} if is_one else dict(enumerate(_WORD.findall(value)))
    for number, each in values.items():
        if number < _MOST:
            items += [{} for _ in range(number + 1 - len(items))]
            yield items[number], each
