"""Lets a rule be stated once, as a function of amounts, and be asked in Python and in SQL.

Such a function takes integers and truths, or the columns of a query as `Expression`. It uses operators, `choose`,
`least` and `most`, and no `if`, `and` or `or`, which would look at the value.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

Amount: TypeAlias = Any
"""An integer, a truth or a word, or the `Expression` of one."""


class Expression:
    """A part of a query. Its products do not overflow, and its quotients of whole numbers are rounded down."""

    __slots__ = ("sql",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, sql: str) -> None:
        self.sql: Final = sql

    def __str__(self) -> str:
        return self.sql

    def __bool__(self) -> bool:
        """Raise TypeError: a rule that looks at a value would lose one of its branches in SQL."""
        raise TypeError(f"a rule decides by {self} with `if`, `and`, `or`, `not` or `in`: use `choose`")

    def __and__(self, other: Amount) -> "Expression":
        return Expression(f"({self} AND {sql_of(other)})")

    def __or__(self, other: Amount) -> "Expression":
        return Expression(f"({self} OR {sql_of(other)})")

    def __eq__(self, other: Amount) -> "Expression":  # type: ignore[override]
        return Expression(f"({self} = {sql_of(other)})")

    def __ne__(self, other: Amount) -> "Expression":  # type: ignore[override]
        return Expression(f"({self} != {sql_of(other)})")

    def __lt__(self, other: Amount) -> "Expression":
        return Expression(f"({self} < {sql_of(other)})")

    def __le__(self, other: Amount) -> "Expression":
        return Expression(f"({self} <= {sql_of(other)})")

    def __ge__(self, other: Amount) -> "Expression":
        return Expression(f"({self} >= {sql_of(other)})")

    def __gt__(self, other: Amount) -> "Expression":
        return Expression(f"({self} > {sql_of(other)})")

    def __sub__(self, other: Amount) -> "Expression":
        return Expression(f"({self} - {sql_of(other)})")

    def __rsub__(self, other: Amount) -> "Expression":
        return Expression(f"({sql_of(other)} - {self})")

    def __add__(self, other: Amount) -> "Expression":
        return Expression(f"({self} + {sql_of(other)})")

    def __mul__(self, other: Amount) -> "Expression":
        return Expression(f"(toInt128({self}) * {sql_of(other)})")

    def __floordiv__(self, other: Amount) -> "Expression":
        return Expression(f"toInt64(intDiv({self}, {sql_of(other)}))")

    def __abs__(self) -> "Expression":
        return Expression(f"abs({self})")


def choose(condition: Amount, then: Amount, otherwise: Amount) -> Amount:
    if isinstance(condition, Expression):
        return Expression(f"if({condition}, {sql_of(then)}, {sql_of(otherwise)})")
    return then if condition else otherwise


def either(
    condition: Amount, one: Callable[..., tuple[Amount, ...]], other: Callable[..., tuple[Amount, ...]]
) -> Callable[..., tuple[Amount, ...]]:
    """Choose one of two functions; for an `Expression` as condition, return one that chooses among their amounts."""
    if isinstance(condition, Expression):
        return lambda *given: tuple(map(partial(choose, condition), one(*given), other(*given)))
    return one if condition else other


def least(one: Amount, other: Amount) -> Amount:
    if isinstance(one, Expression) or isinstance(other, Expression):
        return Expression(f"least({sql_of(one)}, {sql_of(other)})")
    return min(one, other)


def most(one: Amount, other: Amount) -> Amount:
    if isinstance(one, Expression) or isinstance(other, Expression):
        return Expression(f"greatest({sql_of(one)}, {sql_of(other)})")
    return max(one, other)


def most_known(one: Amount, other: Amount) -> Amount:
    """Return the larger of those that are known; None or null if neither is."""
    if isinstance(one, Expression):
        return Expression(f"if(ifNull({other} > {one}, {one} IS NULL), {other}, {one})")
    return max((each for each in (one, other) if each is not None), default=None)


def is_null(amount: Amount) -> Amount:
    return Expression(f"isNull({amount})") if isinstance(amount, Expression) else amount is None


def is_among(amount: Amount, names: tuple[str, ...]) -> Amount:
    if isinstance(amount, Expression):
        return Expression(f"{amount} IN ({', '.join(map(literal, names))})")
    return amount in names


def begins_as(text: Amount, pattern: str) -> Amount:
    """Tell whether a text begins with what matches a pattern, which RE2 and Python read alike."""
    if isinstance(text, Expression):
        return Expression(f"match({text}, {literal('^(?:' + pattern + ')')})")
    return re.match(pattern, text) is not None


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def sql_of(amount: Amount) -> str:
    return literal(amount) if isinstance(amount, str) else str(amount)
