"""Lets one Python function state a rule for values and for SQL.

Called with values, such a function returns a value. Called with columns of a query, each an `Expression`, it returns
the SQL of the rule. It uses operators, `choose`, `least` and `most`, and no `if`, `and` or `or`, which would look at
the value.
"""

import re
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias
from zlib import crc32

Operand: TypeAlias = Any
"""An argument or result of a rule: an integer, a truth or a word, or the `Expression` of one in SQL."""


def _operator(form: str) -> Callable[["Expression", Operand], "Expression"]:
    return lambda one, other: Expression(form.format(one, sql_of(other)))


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

    __and__ = _operator("({} AND {})")
    __or__ = _operator("({} OR {})")
    __eq__ = _operator("({} = {})")  # type: ignore[assignment]
    __ne__ = _operator("({} != {})")  # type: ignore[assignment]
    __lt__ = _operator("({} < {})")
    __le__ = _operator("({} <= {})")
    __ge__ = _operator("({} >= {})")
    __gt__ = _operator("({} > {})")
    __sub__ = _operator("({} - {})")
    __rsub__ = _operator("({1} - {0})")
    __add__ = _operator("({} + {})")
    __mul__ = _operator("(toInt128({}) * {})")
    __floordiv__ = _operator("toInt64(intDiv({}, {}))")

    def __abs__(self) -> "Expression":
        return Expression(f"abs({self})")


def shared(value: Operand) -> tuple[Operand, Operand]:
    """Return a value for its first use in an expression, and for the others: the engine then plans it once."""
    if not isinstance(value, Expression) or value.sql.isidentifier():
        return value, value
    name = f"shared_{crc32(value.sql.encode()):08x}"
    return Expression(f"({value} AS {name})"), Expression(name)


def choose(condition: Operand, then: Operand, otherwise: Operand) -> Operand:
    if isinstance(condition, Expression):
        return Expression(f"if({condition}, {sql_of(then)}, {sql_of(otherwise)})")
    return then if condition else otherwise


def either(
    condition: Operand, one: Callable[..., tuple[Operand, ...]], other: Callable[..., tuple[Operand, ...]]
) -> Callable[..., tuple[Operand, ...]]:
    """Choose one of two functions; for an `Expression` as condition, return one that chooses among their amounts."""
    if isinstance(condition, Expression):
        return lambda *given: tuple(map(partial(choose, condition), one(*given), other(*given)))
    return one if condition else other


def least(one: Operand, other: Operand) -> Operand:
    if isinstance(one, Expression) or isinstance(other, Expression):
        return Expression(f"least({sql_of(one)}, {sql_of(other)})")
    return min(one, other)


def most(one: Operand, other: Operand) -> Operand:
    if isinstance(one, Expression) or isinstance(other, Expression):
        return Expression(f"greatest({sql_of(one)}, {sql_of(other)})")
    return max(one, other)


def is_null(amount: Operand) -> Operand:
    return Expression(f"isNull({amount})") if isinstance(amount, Expression) else amount is None


def is_among(amount: Operand, names: tuple[str, ...]) -> Operand:
    if isinstance(amount, Expression):
        return Expression(f"{amount} IN ({', '.join(map(literal, names))})")
    return amount in names


def starts_with_match(text: Operand, pattern: str) -> Operand:
    """Tell whether a text starts with a match of a pattern that RE2 and Python read alike."""
    if isinstance(text, Expression):
        return Expression(f"match({text}, {literal('^(?:' + pattern + ')')})")
    return re.match(pattern, text) is not None


def literal(text: str) -> str:
    """Return a text as SQL writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def sql_of(amount: Operand) -> str:
    return literal(amount) if isinstance(amount, str) else str(amount)
