"""A single result of `leadsman doctor`."""

from typing import Literal, NamedTuple, TypeAlias

State: TypeAlias = Literal["ok", "wrong", "unknown"]


class Diagnosis(NamedTuple):
    """One thing that was looked at."""

    what: str
    state: State
    """`unknown` where it could not be looked at."""
    detail: str
    mend: str = ""
    """A command, or what to do; empty where nothing is wrong."""
