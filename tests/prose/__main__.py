"""Judge every text that people read. A part must have exactly as many findings as `open.json` allows.

`python -m prose PART...` lists the findings of parts; `python -m prose --write` lowers the numbers to what is left.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Final

from prose.rules import judge
from prose.texts import texts

OPEN: Final = Path(__file__).with_name("open.json")
"""Findings that each part still has; a part that is not listed has none. Numbers only fall."""


def main(arguments: list[str]) -> int:
    counts: Counter[str] = Counter()
    lines: dict[str, list[str]] = {}
    for text in texts():
        for finding in judge(text.text, text.kind):
            counts[text.part] += 1
            lines.setdefault(text.part, []).append(
                f"{text.place}: [{finding.rule}] {finding.excerpt!r}: {finding.instead}"
            )
    allowed: dict[str, int] = json.loads(OPEN.read_text("utf-8"))
    if arguments == ["--write"]:
        left = {part: min(counts[part], most) for part, most in allowed.items() if counts[part]}
        OPEN.write_text(json.dumps(left, indent=2, sort_keys=True) + "\n", "utf-8")
        return 0
    wrong = {part for part in {*counts, *allowed} if counts[part] != allowed.get(part, 0)}
    for part in sorted(arguments or wrong):
        print(*lines.get(part, ()), sep="\n")
        print(
            f"{part}: {counts[part]} found, {allowed.get(part, 0)} allowed"
            + _lower(counts[part], allowed.get(part, 0))
        )
    return 1 if wrong else 0


def _lower(found: int, allowed: int) -> str:
    return "; run: python -m prose --write" if found < allowed else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
