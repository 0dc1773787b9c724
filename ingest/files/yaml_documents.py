"""Reads the objects of a YAML file as JSON, for example nodes, pods and events of a must-gather."""

import re
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec
import yaml

from common.text import plain, type_in_words
from ingest.files.around import TYPED, without_fences
from ingest.files.documents import FIELDS, Bad, Part, document_parts, item_part, list_head
from ingest.files.newest import newest_time

_ITEMS: Final = re.compile(rb"^items:[ \t]*\n((?:(?:- |[ \t]).*\n?|\n)*)", re.MULTILINE)
_LISTED: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\n)*[ \t]*- (?:apiVersion|kind|metadata):")
"""Matches the start of a List's items that were copied without the List."""
_DEEP: Final = re.compile(rb"^[ \t?:-]{1000}", re.MULTILINE)
_DEPTH: Final = 500
MOST_VALUES: Final = 100_000
"""Maximum number of values of a document that a person wrote, with aliases expanded."""
_TEXTS: Final = (":timestamp", ":merge")
_WARNINGS: Final = re.compile(rb"^Warning: [^\n]*$|\A(?:" + TYPED + rb")[^\n]*$", re.MULTILINE)
"""Lines of kubectl anywhere, and of a terminal before the first object; in YAML they look like text."""
_CUTS: Final = re.compile(
    rb"^[ \t]*(?:- )?(?:\.{3,}|\[\.\.\.\]|<(?:snip|cut|redacted|omitted)>)[ \t]*$", re.MULTILINE | re.IGNORECASE
)
"""Marks with which a person replaces omitted parts."""
_FIELD: Final = re.compile(rb"^(?:apiVersion|kind|items|metadata|insertId):", re.MULTILINE)
_ONLY_COMMENTS: Final = re.compile(rb"(?:\s*(?:#[^\n]*)?\n)*\s*(?:#[^\n]*)?")


class AliasError(yaml.YAMLError):
    """An alias, by which a short document can expand to a very large one."""


class _Loader(yaml.CSafeLoader):
    """Leaves times, merge keys and base-60 numbers as text, like Kubernetes' YAML. Raises AliasError at an alias."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - an attribute of the parent
        first: [
            (tag, re.compile(f"(?!.*:)(?:{pattern.pattern})", pattern.flags))
            for tag, pattern in resolvers
            if not tag.endswith(_TEXTS)
        ]
        for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Refuse a node that is constructed twice: only aliases cause that, and each may double the size of the
        result.
        """
        if node in self.constructed_objects or node in self.recursive_objects:
            raise AliasError
        return super().construct_object(node, deep)


class _OfAPerson(_Loader):
    """Reads aliases too, because a tool that wrote equal requests and limits may have used one."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        return yaml.CSafeLoader.construct_object(self, node, deep)


def first_document(text: bytes) -> Any:
    """Return the first document of a YAML file; None if there is none.

    Raises AliasError if aliases make it larger than MOST_VALUES, other YAMLErrors, ValueError, and RecursionError for
    documents that are nested too deeply.
    """
    _check_depth(text)
    document = next(iter(yaml.load_all(text, _OfAPerson)), None)
    if _values(document, {}) > MOST_VALUES:
        raise AliasError
    return document


def _values(value: Any, known: dict[int, int]) -> int:
    """Return the number of values after expansion; `known` has the counts so far. A cycle counts as too many."""
    if not isinstance(value, dict | list):
        return 1
    if id(value) not in known:
        known[id(value)] = MOST_VALUES
        children = value if isinstance(value, list) else [*value, *value.values()]
        known[id(value)] = 1 + sum(_values(each, known) for each in children)
    return known[id(value)]


def yaml_parts(data: bytes) -> Iterator[Part]:
    """Yield the objects in YAML text, those of a List one by one, and the parts that are not objects."""
    data = _WARNINGS.sub(b"", without_fences(data.replace(b"\r\n", b"\n")))
    documents = [part for each in re.split(rb"^---(?=\s)", data, flags=re.MULTILINE) for part in _split_joined(each)]
    line = 1
    for document in documents:
        if _ONLY_COMMENTS.fullmatch(document) is None:
            yield from _document_parts(f"line {line}", document)
        line += document.count(b"\n")


def _split_joined(document: bytes) -> list[bytes]:
    """Split files that were joined without `---`: an object has each field only once."""
    starts, seen = [0], set[bytes]()
    for found in _FIELD.finditer(document):
        if found[0] in seen:
            starts.append(found.start())
            seen.clear()
        seen.add(found[0])
    return [document[start:end] for start, end in pairwise([*starts, len(document)])]


def _document_parts(place: str, document: bytes) -> Iterator[Part]:
    if _LISTED.match(document):
        document = b"items:\n" + textwrap.dedent(document.decode(errors="replace")).lstrip().encode()
    items = _ITEMS.search(document)
    if items is None:
        raw = _to_json(place, document)
        if isinstance(raw, Bad):
            yield raw
        else:
            yield from document_parts(place, raw)
        return
    # a must-gather has thousands of pods in one List; item by item, they need little memory
    rest = _to_json(place, document[: items.start()] + document[items.end() :])
    head = list_head("", {} if isinstance(rest, Bad) else FIELDS.decode(rest), newest_time(document))
    for index, item in enumerate(re.split(rb"\n(?=- )", items[1].rstrip())):
        raw = _to_json(f"items[{index}]", b"  " + item[2:])
        yield raw if isinstance(raw, Bad) else item_part(head, index, raw)


def _to_json(place: str, text: bytes) -> bytes | Bad:
    raw = _as_json(place, text)
    if isinstance(raw, Bad) and raw.error_type == "not_yaml" and (left := _CUTS.sub(b"", text)) != text:
        return _as_json(place, left)
    return raw


def _as_json(place: str, text: bytes) -> bytes | Bad:
    try:
        _check_depth(text)
        value = yaml.load(text, _Loader)  # noqa: S506 - a subclass of the safe loader
        if not isinstance(value, dict):
            return Bad(place, text, "wrong_type", f"expected an object, got {type_in_words(type(value))}")
        return msgspec.json.encode(value)
    except RecursionError:
        return Bad(place, text, "too_deep", "the YAML is nested too deep")
    except AliasError:
        return Bad(place, text, "bomb", "the YAML has aliases, which Kubernetes never writes")
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1} of it" if mark else ""
        problem = _problem(text, error, mark)
        return Bad(place, text, "not_yaml", f"{plain(problem)}{where}")
    except (ValueError, TypeError, OverflowError) as error:
        return Bad(place, text, "not_yaml", plain(error))


def _problem(text: bytes, error: yaml.YAMLError, mark: yaml.Mark | None) -> str:
    line = b"".join(text.splitlines()[mark.line : mark.line + 1])[: mark.column + 1] if mark else b""
    if line.strip(b" ") == b"\t":
        return "a tab indents, where YAML allows only spaces,"
    return getattr(error, "problem", None) or "not YAML"


def _check_depth(text: bytes) -> None:
    """Raise RecursionError for text at which the loader would crash.

    Only text that may be nested so deeply is checked, for speed.
    """
    if not _DEEP.search(text) and text.count(b"[") + text.count(b"{") < _DEPTH:
        return
    depth = 0
    for event in yaml.parse(text, _Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEPTH:
            raise RecursionError
