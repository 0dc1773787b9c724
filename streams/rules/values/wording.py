"""Composes the words of a finding from values, or from the columns of a query as `Expression`.

So a sentence is written once, in Python, and views have it too. The engine plans a view for each query, so constant
parts are joined before.
"""

from collections.abc import Callable, Mapping
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Final

from common import amounts
from common.durations import UNITS, in_words
from streams.rules.values.expressions import Expression, Operand, choose, literal, shared, sql_of


class _Text(Expression):
    """Parts of a text, each a literal or SQL."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Operand]) -> None:
        super().__init__(
            f"concat({', '.join(literal(each) if isinstance(each, str) else str(each) for each in parts)})"
        )
        self.parts: Final = parts


def phrase(*parts: Operand) -> Operand:
    """Return the parts one after the other: each is a text."""
    if not any(isinstance(each, Expression) for each in parts):
        return "".join(parts)
    flat: list[Operand] = []
    for part in parts:
        for each in part.parts if isinstance(part, _Text) else [part]:
            if isinstance(each, str) and flat and isinstance(flat[-1], str):
                flat[-1] += each
            elif not isinstance(each, str) or each:
                flat.append(each)
    return _Text(flat)


def first_of(*cases: tuple[Operand, Operand], otherwise: Operand) -> Operand:
    """Return the value of the first condition that is met."""
    if not any(isinstance(each, Expression) for each, _ in cases):
        return next((value for condition, value in cases if condition), otherwise)
    given = (each for case in cases for each in case)
    return Expression(f"multiIf({', '.join(map(sql_of, given))}, {sql_of(otherwise)})")


def lookup(words: Mapping[str, str], key: Operand) -> Operand:
    """Return the words of a key; empty where it has none."""
    if isinstance(key, Expression):
        keys, values = (", ".join(map(literal, each)) for each in (words, words.values()))
        return Expression(f"transform(toString({key}), [{keys}], [{values}], '')")
    return words.get(key, "")


def counted(number: Operand, one: str, many: str = "") -> Operand:
    """Return a number with its word, such as 1 pod or 2 pods."""
    if isinstance(number, Expression):
        return choose(number == 1, f"1 {one}", phrase(format_number(number), f" {many or one + 's'}"))
    return amounts.counted(number, one, many)


def format_number(number: Operand) -> Operand:
    """Return a whole number with thousands separators, such as 32,768."""
    if isinstance(number, Expression):
        threes = f"replaceRegexpAll(reverse(toString({number})), '([0-9]{{3}})\\\\B', '\\\\1,')"
        return Expression(f"reverse({threes})")
    return f"{number:,}"


def format_bytes(value: Operand) -> Operand:
    """Return bytes in words, such as 14.4 GiB."""
    if not isinstance(value, Expression):
        return amounts.size(value)
    first, value = shared(value)
    power_of, power = shared(reduce(add, (value >= scale for _, scale in amounts.BYTES)))
    divided, scaled = shared(Expression(f"({value} / exp2(10 * {power_of}))"))
    one, two = (Expression(f"printf('%.{digits}f', {scaled})") for digits in (1, 2))
    whole = format_number(Expression(f"toInt64(round({scaled}))"))
    digits = first_of(
        ((first < amounts.BYTES[-1][1]) | (divided >= amounts.HIGH), whole),
        (scaled >= amounts.MIDDLE, one),
        otherwise=two,
    )
    names = ", ".join(literal(f" {name}") for name in ("B", *(name for name, _ in reversed(amounts.BYTES))))
    return phrase(digits, Expression(f"transform({power}, {[*range(len(amounts.BYTES) + 1)]}, [{names}], '')"))


def amount_left(of_bytes: Operand, left: Operand, capacity: Operand) -> Operand:
    """Return the remaining amount, for example `14.4 GiB of 100 GiB left`."""
    amounts = (choose(of_bytes, format_bytes(each), format_number(each)) for each in (left, capacity))
    return phrase(next(amounts), " of ", next(amounts), " left")


def format_duration(seconds: Operand) -> Operand:
    """Return a duration of whole seconds in its largest two units, such as 2 h 5 min."""
    if not isinstance(seconds, Expression):
        return in_words(seconds)
    first, seconds = shared(seconds)
    cases: list[tuple[Operand, Operand]] = []
    for (unit, length), (below, part) in pairwise(UNITS):
        rest = Expression(f"({seconds} % {length})")
        more = choose(rest >= part, phrase(_whole(rest // part), f" {below}"), "")
        cases.append(((seconds if cases else first) >= length, phrase(_whole(seconds // length), f" {unit} ", more)))
    trimmed = first_of(*cases, otherwise=phrase(_whole(seconds), " s"))
    return Expression(f"trimRight({trimmed})")


def percent(amount: Operand, whole: int = 1) -> Operand:
    """Return a percentage, or with `whole` 100 a ratio, such as 12 %; 0 % for null."""
    if isinstance(amount, Expression):
        return phrase(_whole(Expression(f"round({whole} * ifNull({amount}, 0))")), " %")
    return f"{round(whole * amount)} %"


def where_known(amount: Operand, words: Callable[[Operand], Operand]) -> Operand:
    """Return the words about an amount; empty if it is null."""
    if isinstance(amount, Expression):
        return Expression(f"ifNull({words(amount)}, '')")
    return "" if amount is None else words(amount)


def joined(separator: str, *texts: Operand) -> Operand:
    """Join the texts that are not empty."""
    if any(isinstance(each, Expression) for each in texts):
        parts = ", ".join(map(sql_of, texts))
        return Expression(f"arrayStringConcat(arrayFilter(x -> x != '', [{parts}]), {literal(separator)})")
    return separator.join(filter(None, texts))


def date_time(at: Operand) -> Operand:
    """Return day and time, such as 2026-07-01 12:00:00."""
    return Expression(f"formatDateTime({at}, '%F %T', 'UTC')") if isinstance(at, Expression) else f"{at:%F %T}"


def truncate(text: Operand, characters: int) -> Operand:
    if isinstance(text, Expression):
        cut = phrase(Expression(f"substringUTF8({text}, 1, {characters - 1})"), "…")
        return choose(Expression(f"lengthUTF8({text})") > characters, cut, text)
    return text if len(text) <= characters else f"{text[: characters - 1]}…"


def _whole(number: Expression) -> Expression:
    return Expression(f"toString({number})")
