"""Judge every text that people read. A room must have exactly as many findings as `open.json` allows.

`python -m prose ROOM...` lists the findings of rooms; `python -m prose --write` lowers the numbers to what is left.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from prose.rules import judge
from prose.texts import texts

OPEN: Final = Path(__file__).with_name("open.json")
"""Findings that each room still has; a room that is not listed has none. Numbers only fall."""


def main(arguments: list[str]) -> int:
    counts: Counter[str] = Counter()
    lines: dict[str, list[str]] = {}
    for text in texts():
        for finding in judge(text.text, text.kind):
            counts[text.room] += 1
            lines.setdefault(text.room, []).append(
                f"{text.place}: [{finding.rule}] {finding.excerpt!r}: {finding.instead}"
            )
    allowed: dict[str, int] = json.loads(OPEN.read_text("utf-8"))
    if arguments == ["--write"]:
        left = {room: min(counts[room], most) for room, most in allowed.items() if counts[room]}
        OPEN.write_text(json.dumps(left, indent=2, sort_keys=True) + "\n", "utf-8")
        return 0
    wrong = {room for room in {*counts, *allowed} if counts[room] != allowed.get(room, 0)}
    for room in sorted(arguments or wrong):
        print(*lines.get(room, ()), sep="\n")
        print(
            f"{room}: {counts[room]} found, {allowed.get(room, 0)} allowed"
            + _lower(counts[room], allowed.get(room, 0))
        )
    return 1 if wrong else 0


def _lower(found: int, allowed: int) -> str:
    return "; run: python -m prose --write" if found < allowed else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
