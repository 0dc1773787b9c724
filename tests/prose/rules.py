"""The rules of `docs/writing.md` as patterns, beside the checks of proselint that suit technical English."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import Final, NamedTuple

from proselint.checks import __register__ as stock
from proselint.registry.checks import Check
from proselint.tools import LintFile

LONGEST: Final = 30
"""Words that a sentence may have."""
_STOCK: Final = ("archaism", "cliches", "hedging", "malapropisms", "misc.waxed", "nonwords", "redundancy")
"""The checks of proselint that are on: the others judge typography, spelling and essays."""
_NOT_FOR_US: Final = frozenset({"redundancy.garner"})


class Kind(StrEnum):
    """Place of a text, as far as rules differ."""

    PROSE = "prose"
    CELL = "cell"
    HEADING = "heading"
    DOCSTRING = "docstring"
    COMMENT = "comment"
    TEST = "test"
    """A docstring of the tests, of which only the start is judged."""


class Rule(NamedTuple):
    """A pattern that does not belong in a text, and what to write instead."""

    name: str
    pattern: re.Pattern[str]
    instead: str
    kinds: frozenset[Kind]


_FULL: Final = frozenset(Kind) - {Kind.TEST}


def _rule(name: str, pattern: str, instead: str, *kinds: Kind) -> Rule:
    return Rule(name, re.compile(pattern), instead, frozenset(kinds or _FULL))


RULES: Final = (
    _rule("whoever", r"(?i)\b(?:whoever|whomever|whatever|whichever|wherever)\b", "name who or what it is"),
    _rule("what-of", r"(?i)\bwhat of\b(?! it\?)", "name the thing"),
    _rule("is-none", r"(?i)(?<!there )\b(?:is|are|was|were|be) (?-i:none)\b", "'is not a ...'"),
    _rule("is-no", r"(?i)\b(?<!there )(?:is|are|was|were|be|being) no\b(?! longer| more)", "'is not a ...'"),
    _rule("that-is-no", r"(?i)\bthat (?:is|are) no\b(?! longer| more)", "'is not a ...'"),
    _rule("anew", r"(?i)\banew\b", "'again', 'recreate'"),
    _rule("but-for", r"(?i)\bbut for\b", "'except'"),
    _rule("for-want-of", r"(?i)\bfor (?:want|lack) of\b", "'for lack of' reads as a riddle: name the shortage"),
    _rule("all-else", r"(?i)\ball else\b", "'everything else'"),
    _rule("tells", r"(?i)\b(?:tells?|told)\b(?! whether\b)(?!(?: \w+){0,2} apart\b)", "report, show, name"),
    _rule("lies", r"(?i)\b(?:lies|lie) (?:in|on|at|before|outside|beyond|above|below|where)\b", "'is'"),
    _rule("suffices", r"(?i)\bsuffic(?:e|es|ed)\b", "'is enough'"),
    _rule("belongs-into", r"(?i)\bbelongs? into\b", "'belongs in', 'put ... in'"),
    _rule("by-now", r"(?i)\bby now\b", "'now'"),
    _rule(
        "as-x-has-it",
        r"(?i)(?<!far )\bas (?!far )(?:\w+ ){1,3}ha(?:s|ve) (?:it|them)\b",
        "'which ... have', or name the example",
    ),
    _rule("some-hundred", r"(?i)\bsome (?:hundred|thousand|dozen)\b", "'a few hundred'"),
    _rule("is-to-be", r"(?i)\b(?:is|are) to (?:be|have|come)\b", "'must', 'should'"),
    _rule("away", r"(?i)\b(?:is|are|was|were|be|been|while) away\b(?! from)", "'is down', 'is unavailable'"),
    _rule("heard", r"(?i)\bheard\b", "'reported', 'seen'", Kind.PROSE, Kind.HEADING, Kind.DOCSTRING, Kind.COMMENT),
    _rule("in-vain", r"(?i)\bin vain\b", "say what fails"),
    _rule("of-ours", r"(?i)\bof ours\b", "'our', or name the owner"),
    _rule("cut-back", r"(?i)\b(?:was|is|were|are) cut back\b", "'truncated'"),
    _rule("for-causal", r", for (?:it|they|he|she|there) ", "'because'"),
    _rule("free-were", r"(?i)\b(?:free|left|asked) were \d", "'13 free'"),
    _rule(
        "declarative-what",
        r"^(?:What|Whose|Who|Which) [^?]*\.$",
        "start with the subject",
        Kind.PROSE,
        Kind.CELL,
        Kind.DOCSTRING,
    ),
    _rule(
        "sentence-start",
        r"^(?:Of|Those|Whether|Where|Nothing is so)\b [^?]*$",
        "start with the subject",
        Kind.PROSE,
        Kind.CELL,
        Kind.DOCSTRING,
    ),
    _rule(
        "docstring-start",
        r"^(?:After|As|By|For|From|How|Of|That|Those|What|Where|Whether|Which|Who|Whose|Why|With)\b",
        "start with the subject or a verb",
        Kind.DOCSTRING,
        Kind.TEST,
    ),
)


class Finding(NamedTuple):
    """A rule that a sentence breaks."""

    rule: str
    excerpt: str
    instead: str


@cache
def _checks() -> tuple[Check, ...]:
    return tuple(each for each in stock if any(map(each.matches_partial, _STOCK)) and each.path not in _NOT_FOR_US)


def sentences(text: str) -> list[str]:
    """Split a paragraph, but not behind an abbreviation or inside parentheses."""
    return re.split(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!\.\.\.)\s+", text.strip())


def words(sentence: str) -> int:
    """Count words; a citation in parentheses does not count, nor does a mark that stands alone."""
    bare = re.sub(r"\((?:§[,; ]*(?:and )?)+\)", "", sentence)
    return sum(bool(re.search(r"\w|§", each)) for each in bare.split())


def judge(text: str, kind: Kind) -> Iterator[Finding]:
    """Every rule that a text breaks; § stands for code in it."""
    for position, sentence in enumerate(sentences(text)):
        parts = sentence.split("; ") if kind is Kind.CELL else [sentence]
        if kind in _FULL - {Kind.COMMENT} and (count := max(map(words, parts))) > LONGEST:
            yield Finding("long", f"{count} words: {sentence[:70]}...", "one idea a sentence")
        for rule in RULES:
            if kind in rule.kinds and not (position and rule.name == "docstring-start"):
                yield from (
                    Finding(rule.name, _around(sentence, found), rule.instead)
                    for found in rule.pattern.finditer(sentence)
                )
    file = LintFile("text", text)
    for check in _checks() if kind in _FULL else ():
        for result in check.check_with_flags(file.content):
            start, end = result.span
            if not file.is_quoted_pos(start):
                yield Finding(result.check_path, file.content[max(0, start - 20) : end + 20].strip(), result.message)


def _around(sentence: str, found: re.Match[str]) -> str:
    return sentence[max(0, found.start() - 25) : min(found.end(), found.start() + 25) + 25]
