"""Composes the words of a finding from values, or from the columns of a query as `Expression`.

So a sentence is written once, in Python, and views have it too.
"""

from collections.abc import Mapping
from functools import reduce
from itertools import pairwise

from common import amounts
from common.durations import UNITS, in_words
from streams.rules.values.expressions import Amount, Expression, choose, literal


def said(*parts: Amount) -> Amount:
    """The parts one after the other; numbers as they are."""
    if any(isinstance(each, Expression) for each in parts):
        texts = (f"toString({each})" if isinstance(each, Expression) else literal(each) for each in parts)
        return Expression(f"concat({', '.join(texts)})")
    return "".join(map(str, parts))


def first_of(*cases: tuple[Amount, Amount], otherwise: Amount) -> Amount:
    """The value of the first condition that is met."""
    return reduce(lambda rest, case: choose(case[0], case[1], rest), reversed(cases), otherwise)


def counted(number: Amount, one: str, many: str = "") -> Amount:
    """A number with its word, as 1 pod, 2 pods."""
    if isinstance(number, Expression):
        return said(grouped(number), " ", choose(number == 1, one, many or f"{one}s"))
    return amounts.counted(number, one, many)


def grouped(number: Amount) -> Amount:
    """A whole number with its thousands apart, as 32,768."""
    if isinstance(number, Expression):
        threes = f"reverse(replaceRegexpAll(reverse(toString({number})), '([0-9]{{3}})', '\\\\1,'))"
        return Expression(f"replaceRegexpOne({threes}, '^,', '')")
    return f"{number:,}"


def sized(value: Amount) -> Amount:
    """Bytes, as 14.4 GiB."""
    if not isinstance(value, Expression):
        return amounts.size(value)
    cases = [
        (value >= scale, said(_digits(Expression(f"({value} / {scale})")), f" {name}"))
        for name, scale in amounts.BYTES
    ]
    return first_of(*cases, otherwise=said(grouped(value), " B"))


def _digits(scaled: Expression) -> Amount:
    whole = grouped(Expression(f"toInt64(round({scaled}))"))
    one, two = (Expression(f"printf('%.{digits}f', {scaled})") for digits in (1, 2))
    return first_of((scaled >= amounts.HIGH, whole), (scaled >= amounts.MIDDLE, one), otherwise=two)


def lasting(seconds: Amount) -> Amount:
    """A length of time in whole seconds, in its largest unit and the one below, as 2 h 5 min."""
    if not isinstance(seconds, Expression):
        return in_words(seconds)
    cases = []
    for (unit, length), (below, part) in pairwise(UNITS):
        rest = Expression(f"({seconds} % {length})")
        more = choose(rest >= part, said(" ", rest // part, f" {below}"), "")
        cases.append((seconds >= length, said(seconds // length, f" {unit}", more)))
    return first_of(*cases, otherwise=said(seconds, " s"))


def among(words: Mapping[str, str], key: Amount) -> Amount:
    """The words of a key; empty where it has none."""
    if isinstance(key, Expression):
        keys, values = (", ".join(map(literal, each)) for each in (words, words.values()))
        return Expression(f"transform(toString({key}), [{keys}], [{values}], '')")
    return words.get(key, "")
