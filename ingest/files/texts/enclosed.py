"""Finds the lines that are part of a YAML object: nobody typed the commands of a pod's script."""

import re
from collections.abc import Sequence
from typing import Final

_BEGINS: Final = re.compile(r"(?P<indent> *)(?:- )?(?:apiVersion|kind|items|metadata|spec|status):(?: \S{0,253})?\s*")
_OF_OBJECT: Final = re.compile(r"[A-Za-z\"'][^\s:]{0,253}:(?:\s|$)|- |---")
"""Matches a key or an item of YAML, behind its indentation."""


def inside_objects(lines: Sequence[str]) -> list[bool]:
    """Return for each line whether it is part of a YAML object, whose lines have its indentation or more.

    A comment is part of it if the object goes on below: `#` is also the prompt of root.
    """
    found, indent, comments = list[bool](), -1, 0
    for line in lines:
        text = line.lstrip(" ")
        deep = len(line) - len(text)
        goes_on = indent >= 0 and (deep > indent or (deep == indent and _OF_OBJECT.match(text) is not None))
        if not text.strip() or (text.startswith("#") and 0 <= indent == deep):
            comments += 1
            found.append(False)
            continue
        if goes_on and comments:
            found[-comments:] = [True] * comments
        comments = 0
        if not goes_on:
            begun = _BEGINS.fullmatch(line)
            indent = len(begun["indent"]) if begun else -1
        found.append(goes_on or indent >= 0)
    return found
